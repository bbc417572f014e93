#include "runtime/reference/image_geometry.h"

#include <algorithm>
#include <cmath>

namespace glm::reference {
namespace {

constexpr int64_t kPatch = 14;
constexpr int64_t kAlign = 2 * kPatch;  // two patches merge on each side
constexpr int64_t kFramesTogether = 2;
constexpr int64_t kMinTokens = 16;

int64_t Aligned(int64_t pixels) {
  return (pixels + kAlign - 1) / kAlign * kAlign;
}

int64_t AlignedCeil(double pixels) {
  return Aligned(std::max<int64_t>(1, static_cast<int64_t>(std::ceil(pixels))));
}

int64_t Clamped(double pixels, int64_t most) {
  return std::clamp<int64_t>(static_cast<int64_t>(std::floor(pixels)), 1, most);
}

}  // namespace

ImageGeometry FitImage(int64_t height, int64_t width, int64_t frames,
                       int64_t max_tokens) {
  // The budget counts pixels over all frames, in pairs (half to even).
  const int64_t unit = kFramesTogether * kAlign * kAlign;
  const int64_t counted = std::max<int64_t>(
      kFramesTogether, static_cast<int64_t>(std::nearbyint(
                           static_cast<double>(frames) / kFramesTogether)) *
                           kFramesTogether);
  const double source = static_cast<double>(frames) *
                        static_cast<double>(height) *
                        static_cast<double>(width);
  const double least = static_cast<double>(kMinTokens * unit);

  // 1. Too small: enlarged to the least area.
  int64_t canvas_height = Aligned(height);
  int64_t canvas_width = Aligned(width);
  if (counted * canvas_height * canvas_width < kMinTokens * unit) {
    const double scale = std::sqrt(least / source);
    canvas_height = AlignedCeil(static_cast<double>(height) * scale);
    canvas_width = AlignedCeil(static_cast<double>(width) * scale);
  }

  // 2. Too large: the tallest content whose canvas is within the budget.
  if (counted * canvas_height * canvas_width > max_tokens * unit) {
    int64_t low = 1;
    int64_t high = height;
    canvas_height = canvas_width = kAlign;
    while (low <= high) {
      const int64_t content = (low + high) / 2;
      const int64_t tall = Aligned(content);
      const int64_t wide =
          Aligned(std::max<int64_t>(1, width * content / height));
      if (counted * tall * wide <= max_tokens * unit) {
        canvas_height = tall;
        canvas_width = wide;
        low = content + 1;
      } else {
        high = content - 1;
      }
    }
  }

  // 3. Content keeps its shape; only images below the least area grow.
  double scale =
      std::min(static_cast<double>(canvas_height) / static_cast<double>(height),
               static_cast<double>(canvas_width) / static_cast<double>(width));
  if (source >= least) scale = std::min(1.0, scale);
  const int64_t patches = canvas_height / kPatch * (canvas_width / kPatch);
  return {canvas_height,
          canvas_width,
          Clamped(static_cast<double>(height) * scale, canvas_height),
          Clamped(static_cast<double>(width) * scale, canvas_width),
          patches,
          patches / 4};
}

}  // namespace glm::reference
