// The server with scripted answers, for page.test.mjs: which one comes is said
// by the first word of the last question. Listens at a free port, prints it,
// and ends when its standard input does.
//
//   page_server [--key KEY] [--loading]
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/serve/openai_api.h"
#include "runtime/serve/test_engine.h"
#include "runtime/text/tokenizer_test_files.h"

namespace glm::serve {
namespace {

constexpr char kReasoning[] =
    "The user asks how to greet in several scripts, and wants code. A table of "
    "greetings by language, and a loop that prints them, is enough. Grüße, "
    "你好 "
    "and 🙂 are several bytes a letter, so the file must be UTF-8.";

constexpr char kContent[] =
    "## Greetings\n\n"
    "Here is a **small** program: `greet()` prints *Grüße*, 你好 and 🙂, one a "
    "line.\n\n"
    "```python\n"
    "GREETINGS = {\"de\": \"Grüße\", \"zh\": \"你好\", \"en\": \"Hello\"}\n\n"
    "def greet(language: str = \"en\") -> None:\n"
    "    # A line that is longer than the page is wide: it scrolls alone.\n"
    "    print(GREETINGS.get(language, GREETINGS[\"en\"]), \"🙂\", sep=\" \", "
    "end=\"\\n\", flush=True)\n"
    "```\n\n"
    "1. Save it as `greet.py`.\n"
    "2. Run `python3 greet.py`.";

constexpr char kMarkup[] =
    "<img src=x onerror=\"window.broken = 1\"><script>window.broken = "
    "1</script> [a link](javascript:alert(1)) <b>not bold</b>\n\n"
    "```html\n<script>window.broken = 1</script>\n```";

constexpr char kCalls[] =
    "I look it up.<tool_call>weather<arg_key>city</arg_key><arg_value>Tromsø"
    "</arg_value><arg_key>days</arg_key><arg_value>[1, 2]</arg_value>"
    "</tool_call><tool_call>now</tool_call>";

std::vector<int32_t> Ids(std::string_view text) {
  return *text::Nano().Encode(text, {.parse_added_tokens = true});
}

std::string TextOf(const std::vector<int32_t>& ids) {
  std::string text;
  for (const int32_t id : ids) text += text::Nano().TokenBytes(id);
  return text;
}

TestScript ScriptOf(const EngineRequest& request) {
  const std::string prompt = TextOf(request.prompt);
  constexpr std::string_view kUser = "<|user|>";
  const size_t user = prompt.rfind(kUser);
  const std::string asked =
      user == std::string::npos ? "" : prompt.substr(user + kUser.size());
  const bool has_result = asked.find("<tool_response>") != std::string::npos;
  TestScript script;
  script.cached_tokens = static_cast<uint32_t>(request.prompt.size() * 3 / 4);
  const auto says = [&](std::string_view content) {
    script.ids = Ids(std::string(kReasoning) + "</think>" +
                     std::string(content) + "<|user|>");
  };
  if (asked.starts_with("Markup")) {
    says(kMarkup);
  } else if (asked.starts_with("Weather")) {
    says(has_result ? "It is **cold**." : kCalls);
  } else if (asked.starts_with("Fail")) {
    says(kContent);
    script.fails_after = 12;
  } else if (asked.starts_with("Endless")) {
    script.ids = Ids("on and on, ");
    script.endless = true;
  } else {
    says(kContent);
  }
  return script;
}

int Main(int argc, char** argv) {
  OpenAiApiOptions options;
  bool loading = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--key" && i + 1 < argc) {
      options.api_keys.push_back(argv[++i]);
    } else if (argument == "--loading") {
      loading = true;
    } else {
      std::fprintf(stderr, "page_server: unknown option %s\n", argv[i]);
      return 2;
    }
  }
  auto engine = std::make_shared<TestEngine>(
      TestEngineOptions{.max_context = 8192,
                        .pause = std::chrono::microseconds(2'000)},
      ScriptOf);
  OpenAiApi api(std::move(options));
  HttpServerOptions http;
  http.port = 0;
  api.Configure(http);
  auto server = HttpServer::Start(std::move(http));
  if (!server.ok()) {
    std::fprintf(stderr, "page_server: %s\n",
                 server.status().ToString().c_str());
    return 1;
  }
  auto model = std::make_shared<ServedModel>();
  model->engine = engine;
  model->tokenizer = {std::shared_ptr<void>(), &text::Nano()};
  model->name = "GLM-5.3-Flash";
  model->fingerprint = "fp_test";
  model->stop_ids = {2008, 2015, 2017};
  if (!loading) api.Serve(std::move(model));
  std::printf("%d\n", (*server)->port());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  (*server)->Stop(std::chrono::milliseconds(0));
  engine->Drain(absl::ZeroDuration());
  return 0;
}

}  // namespace
}  // namespace glm::serve

int main(int argc, char** argv) { return glm::serve::Main(argc, argv); }
