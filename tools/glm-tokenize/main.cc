// Prints the token ids of texts, for comparison with other tokenizers.
//
//   glm-tokenize [--added] [--decode] [--time] TOKENIZER.JSON < TEXTS
//
// Standard input holds records: the size in bytes as a decimal number, a
// newline, the bytes. For each record one line of JSON: an array of ids, or
// with --decode an object with "ids" and "text", the decoding of the ids. --added
// turns text that spells an added token into that token. --time prints the
// throughput to standard error.
//
// Exit code: 0, 1 (an input could not be read), 2 (usage).
#include <charconv>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/status_macros.h"
#include "runtime/text/detokenizer.h"
#include "runtime/text/tokenizer.h"

namespace {

struct Options {
  bool added = false;
  bool decode = false;
  bool time = false;
  std::string file;
};

absl::StatusOr<std::vector<std::string_view>> Records(std::string_view input) {
  std::vector<std::string_view> records;
  while (!input.empty()) {
    size_t size = 0;
    auto [end, error] =
        std::from_chars(input.data(), input.data() + input.size(), size);
    size_t header = static_cast<size_t>(end - input.data());
    if (error != std::errc() || header >= input.size() ||
        input[header] != '\n' || size > input.size() - header - 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "standard input: record ", records.size(),
          " does not begin with its size, or is cut short; write the size in "
          "bytes, a newline, the bytes"));
    }
    records.push_back(input.substr(header + 1, size));
    input.remove_prefix(header + 1 + size);
  }
  return records;
}

absl::Status Run(const Options& options) {
  using Clock = std::chrono::steady_clock;
  auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  auto start = Clock::now();
  GLM_ASSIGN_OR_RETURN(glm::MappedFile file,
                       glm::MappedFile::Open(options.file));
  std::string_view json(reinterpret_cast<const char*>(file.bytes().data()),
                        file.bytes().size());
  GLM_ASSIGN_OR_RETURN(std::unique_ptr<glm::text::Tokenizer> tokenizer,
                       glm::text::Tokenizer::FromJson(json, options.file));
  double load_seconds = seconds_since(start);

  std::string input(std::istreambuf_iterator<char>(std::cin), {});
  GLM_ASSIGN_OR_RETURN(std::vector<std::string_view> records, Records(input));
  double encode_seconds = 0;
  size_t count = 0;
  for (std::string_view record : records) {
    start = Clock::now();
    GLM_ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                         tokenizer->Encode(record, {options.added}));
    encode_seconds += seconds_since(start);
    count += ids.size();
    nlohmann::json line = ids;
    if (options.decode) {
      line = {{"ids", ids}, {"text", Decode(*tokenizer, ids, {})}};
    }
    std::cout << line << '\n';
  }
  if (options.time) {
    std::fprintf(stderr,
                 "loaded in %.3f s; %zu bytes to %zu tokens in %.3f s, "
                 "%.1f MB/s\n",
                 load_seconds, input.size(), count, encode_seconds,
                 static_cast<double>(input.size()) / 1e6 / encode_seconds);
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::vector<std::string_view> arguments(argv + 1, argv + argc);
  for (std::string_view argument : arguments) {
    if (argument == "--added") {
      options.added = true;
    } else if (argument == "--decode") {
      options.decode = true;
    } else if (argument == "--time") {
      options.time = true;
    } else if (!argument.starts_with("-") && options.file.empty()) {
      options.file = argument;
    } else {
      options.file.clear();
      break;
    }
  }
  if (options.file.empty()) {
    std::cerr << "usage: glm-tokenize [--added] [--decode] [--time] "
                 "TOKENIZER.JSON < TEXTS\n";
    return 2;
  }
  std::ios::sync_with_stdio(false);
  absl::Status status = Run(options);
  if (!status.ok()) {
    std::cerr << "glm-tokenize: " << std::string(status.message()) << '\n';
    return 1;
  }
  return 0;
}
