// The tokens that give an answer its structure. Which of them a tokenizer has
// is decided by its added tokens: an id is a marker, text is not.
#ifndef GLM_RUNTIME_TEXT_CHAT_MARKERS_H_
#define GLM_RUNTIME_TEXT_CHAT_MARKERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/text/tokenizer.h"

namespace glm::text {

enum class Marker : uint8_t {
  kNone,
  kThinkOpen,
  kThinkClose,
  kCallOpen,
  kCallClose,
  kKeyOpen,
  kKeyClose,
  kValueOpen,
  kValueClose,
};

inline constexpr size_t kMarkers = 9;

// "<think>" and so on; empty for kNone.
std::string_view MarkerText(Marker marker);

inline bool IsThinkMarker(Marker marker) {
  return marker == Marker::kThinkOpen || marker == Marker::kThinkClose;
}

class MarkerIds {
 public:
  explicit MarkerIds(const Tokenizer& tokenizer);

  Marker Of(int32_t id) const;
  // -1: not in the tokenizer.
  int32_t Id(Marker marker) const { return ids_[static_cast<size_t>(marker)]; }
  bool Has(Marker marker) const {
    return ids_[static_cast<size_t>(marker)] >= 0;
  }

 private:
  std::array<int32_t, kMarkers> ids_;
};

// Blanks as the wire format has them between its parts: those of ASCII.
bool IsBlank(char c);
std::string_view TrimLeft(std::string_view text);
std::string_view TrimRight(std::string_view text);
std::string_view Trim(std::string_view text);

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_CHAT_MARKERS_H_
