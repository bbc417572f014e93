#include "runtime/text/pre_tokenizer.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/text/split_pattern.h"
#include "runtime/text/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace glm::text {
namespace {

constexpr size_t kMaxPatternBytes = 64 << 10;
constexpr uint32_t kMinMatchLimit = 10'000'000;
constexpr uint32_t kHeapLimitKiB = 256 << 10;
constexpr size_t kJitStackBytes = 1 << 20;

// Turns a PCRE2 object into a unique_ptr.
template <auto kFree>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

std::string ErrorText(int code) {
  PCRE2_UCHAR text[256];
  if (pcre2_get_error_message(code, text, sizeof(text)) < 0) {
    return absl::StrCat("PCRE2 error ", code);
  }
  return reinterpret_cast<const char*>(text);
}

}  // namespace

// One compiled pattern.
class PreTokenizer::Regex {
 public:
  static absl::StatusOr<std::unique_ptr<Regex>> Compile(
      const std::string& pattern) {
    std::unique_ptr<pcre2_compile_context, Freer<pcre2_compile_context_free>>
        context(pcre2_compile_context_create(nullptr));
    if (context == nullptr) {
      return absl::ResourceExhaustedError("no memory for a split regex");
    }
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context.get(), 64);
    int error = 0;
    size_t offset = 0;
    std::unique_ptr<Regex> regex(new Regex);
    regex->code_.reset(pcre2_compile(
        reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
        PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
        context.get()));
    if (regex->code_ == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("the split regex does not compile: ", ErrorText(error)));
    }
    // Where the system forbids executable memory the interpreter runs instead.
    pcre2_jit_compile(regex->code_.get(), PCRE2_JIT_COMPLETE);
    return regex;
  }

  absl::Status Split(std::string_view text,
                     std::vector<std::string_view>& pieces,
                     size_t most_pieces) const;

 private:
  Regex() = default;

  std::unique_ptr<pcre2_code, Freer<pcre2_code_free>> code_;
};

absl::Status PreTokenizer::Regex::Split(std::string_view text,
                                        std::vector<std::string_view>& pieces,
                                        size_t most_pieces) const {
  std::unique_ptr<pcre2_match_data, Freer<pcre2_match_data_free>> match(
      pcre2_match_data_create(1, nullptr));
  std::unique_ptr<pcre2_match_context, Freer<pcre2_match_context_free>> context(
      pcre2_match_context_create(nullptr));
  std::unique_ptr<pcre2_jit_stack, Freer<pcre2_jit_stack_free>> stack(
      pcre2_jit_stack_create(32 << 10, kJitStackBytes, nullptr));
  if (match == nullptr || context == nullptr) {
    return absl::ResourceExhaustedError("no memory to match the split regex");
  }
  if (stack != nullptr) {
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }
  // A run of blanks is walked once forward and once back, whatever its length.
  uint64_t limit = kMinMatchLimit + uint64_t{8} * text.size();
  pcre2_set_match_limit(context.get(), limit > UINT32_MAX
                                           ? UINT32_MAX
                                           : static_cast<uint32_t>(limit));
  pcre2_set_heap_limit(context.get(), kHeapLimitKiB);

  auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t search = 0;  // where to look for the next match
  size_t cut = 0;     // end of the last piece
  auto piece_to = [&](size_t end) {
    if (end > cut) {
      pieces.push_back(text.substr(cut, end - cut));
      cut = end;
    }
  };
  while (search < text.size()) {
    int result = pcre2_match(code_.get(), subject, text.size(), search,
                             PCRE2_NO_UTF_CHECK, match.get(), context.get());
    if (result == PCRE2_ERROR_NOMATCH) {
      break;
    }
    if (result < 0) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the split regex gave up at byte ", search,
                       " of a text of ", text.size(), " bytes (",
                       ErrorText(result), "); send the text in smaller parts"));
    }
    const size_t* range = pcre2_get_ovector_pointer(match.get());
    piece_to(range[0]);
    piece_to(range[1]);
    if (pieces.size() > most_pieces) return absl::OkStatus();
    search = range[1];
    if (range[0] >= range[1]) {
      NextCodePoint(text, search);
    }
  }
  piece_to(text.size());
  return absl::OkStatus();
}

PreTokenizer::PreTokenizer() = default;
PreTokenizer::~PreTokenizer() = default;

absl::StatusOr<std::unique_ptr<PreTokenizer>> PreTokenizer::Create(
    std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the split regex has ", pattern.size(),
                     " bytes, more than the ", kMaxPatternBytes, " allowed"));
  }
  GLM_ASSIGN_OR_RETURN(TranslatedPattern translated,
                       TranslateSplitPattern(pattern));
  std::unique_ptr<PreTokenizer> result(new PreTokenizer);
  GLM_ASSIGN_OR_RETURN(result->full_, Regex::Compile(translated.full));
  GLM_ASSIGN_OR_RETURN(result->common_, Regex::Compile(translated.common));
  return result;
}

absl::Status PreTokenizer::Split(std::string_view text,
                                 std::vector<std::string_view>& pieces,
                                 size_t most_pieces) const {
  const Regex& regex = HasNewerLetterOrNumber(text) ? *full_ : *common_;
  return regex.Split(text, pieces, most_pieces);
}

}  // namespace glm::text
