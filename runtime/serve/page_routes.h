// The chat page of the server: files of runtime/serve/page/, which are part of
// the program. They hold nothing that a key protects, load nothing from
// elsewhere (Content-Security-Policy), and are asked for anew each time, which
// the ETag answers with 304.
#ifndef GLM_RUNTIME_SERVE_PAGE_ROUTES_H_
#define GLM_RUNTIME_SERVE_PAGE_ROUTES_H_

#include <string_view>

#include "runtime/serve/http_server.h"

namespace glm::serve {

// GET and HEAD of "/" and the files that it names. `options` may outlive what
// is called here; handlers run on the transport's thread.
void AddPageRoutes(HttpServerOptions& options);

// Whether `path`, without its query, is one of them.
bool IsPagePath(std::string_view path);

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_PAGE_ROUTES_H_
