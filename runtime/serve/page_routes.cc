#include "runtime/serve/page_routes.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace glm::serve {
namespace {

constexpr char kHtml[] = "text/html; charset=utf-8";
constexpr char kScript[] = "text/javascript; charset=utf-8";
constexpr char kStyle[] = "text/css; charset=utf-8";
constexpr char kSvg[] = "image/svg+xml";

// Scripts, styles, pictures and requests: of this server alone, and nothing
// that is written inside of the page.
constexpr char kPolicy[] =
    "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'";

struct PageFile {
  const char* path;
  const char* content_type;
  const char* text;
};

constexpr PageFile kFiles[] = {
    {
        "/",
        kHtml,
#include "runtime/serve/page/index.html.inc"
    },
    {
        "/chat.js",
        kScript,
#include "runtime/serve/page/chat.js.inc"
    },
    {
        "/answer.js",
        kScript,
#include "runtime/serve/page/answer.js.inc"
    },
    {
        "/messages.js",
        kScript,
#include "runtime/serve/page/messages.js.inc"
    },
    {
        "/markdown.js",
        kScript,
#include "runtime/serve/page/markdown.js.inc"
    },
    {
        "/server.js",
        kScript,
#include "runtime/serve/page/server.js.inc"
    },
    {
        "/style.css",
        kStyle,
#include "runtime/serve/page/style.css.inc"
    },
    {
        "/icon.svg",
        kSvg,
#include "runtime/serve/page/icon.svg.inc"
    },
};

std::string EntityTag(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return absl::StrCat("\"", absl::Hex(hash, absl::kZeroPad16), "\"");
}

bool HasCurrent(const HttpRequest& request, const std::string& tag) {
  const std::string_view known = request.Header("if-none-match");
  return known == "*" || known.find(tag) != std::string_view::npos;
}

}  // namespace

void AddPageRoutes(HttpServerOptions& options) {
  for (const PageFile& file : kFiles) {
    HttpResponse page{.content_type = file.content_type,
                      .body = file.text,
                      .headers = {{"Cache-Control", "no-cache"},
                                  {"ETag", EntityTag(file.text)},
                                  {"Content-Security-Policy", kPolicy},
                                  {"Referrer-Policy", "no-referrer"}}};
    options.routes.push_back(
        {"GET", file.path, /*on_worker=*/false,
         [page = std::move(page)](std::shared_ptr<HttpExchange> exchange) {
           HttpResponse response = page;
           if (HasCurrent(exchange->request(), page.headers[1].second)) {
             response.status = 304;
             response.body.clear();
           }
           exchange->Respond(std::move(response));
         }});
  }
}

bool IsPagePath(std::string_view path) {
  for (const PageFile& file : kFiles) {
    if (path == file.path) return true;
  }
  return false;
}

}  // namespace glm::serve
