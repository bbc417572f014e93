// -----------------------------------------------------------------------------
// File: image_geometry.h
// -----------------------------------------------------------------------------
//
// The size that the vision tower's input gets from an image or video: canvas,
// content inside it, patches and tokens. It touches no pixels.
//
//   ImageGeometry g = FitImage(720, 1280);  // canvas 728 x 1288, 1196 tokens

#ifndef RUNTIME_REFERENCE_IMAGE_GEOMETRY_H_
#define RUNTIME_REFERENCE_IMAGE_GEOMETRY_H_

#include <cstdint>

namespace glm::reference {

// Pixels; content lies at the top left of the canvas.
struct ImageGeometry {
  int64_t canvas_height;
  int64_t canvas_width;
  int64_t content_height;
  int64_t content_width;
  int64_t patches;  // 14 x 14, a frame
  int64_t tokens;   // 2 x 2 patches
};

// `height` and `width` in [1, 2^24]. A still image counts as two frames;
// `max_tokens` is 8000 for images, 240000 for videos.
ImageGeometry FitImage(int64_t height, int64_t width, int64_t frames = 2,
                       int64_t max_tokens = 8000);

}  // namespace glm::reference

#endif  // RUNTIME_REFERENCE_IMAGE_GEOMETRY_H_
