// Canonical composition (NFC) of Unicode text, from the tables of utf8proc.
//
// Unlike utf8proc's own entry points the time is near-linear for every input,
// long runs of combining marks included.
#ifndef GLM_RUNTIME_TEXT_NFC_H_
#define GLM_RUNTIME_TEXT_NFC_H_

#include <string>
#include <string_view>

namespace glm::text {

// `text` in NFC: `text` itself when that is certain at a glance, otherwise a
// view of `buffer`. `text` must be valid UTF-8.
std::string_view Nfc(std::string_view text, std::string& buffer);

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_NFC_H_
