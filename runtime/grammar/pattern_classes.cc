#include "runtime/grammar/pattern_classes.h"

#include <algorithm>

#include "runtime/grammar/code_points.h"

namespace glm::grammar {

Ranges Complement(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end());
  Ranges rest;
  uint32_t next = 0;
  for (auto [low, high] : ranges) {
    if (low > next) {
      rest.push_back({next, low - 1});
    }
    next = std::max(next, high + 1);
  }
  if (next <= kMaxCodePoint) {
    rest.push_back({next, kMaxCodePoint});
  }
  return rest;
}

std::optional<Ranges> ClassOfEscape(uint32_t letter) {
  switch (letter) {
    case 'd':
      return Ranges{{'0', '9'}};
    case 'w':
      return Ranges{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    case 's':
      return Ranges{{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},
                    {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029},
                    {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
                    {0xFEFF, 0xFEFF}};
    case 'D':
      return Complement(*ClassOfEscape('d'));
    case 'W':
      return Complement(*ClassOfEscape('w'));
    case 'S':
      return Complement(*ClassOfEscape('s'));
    default:
      return std::nullopt;
  }
}

Ranges AnyButLineEnds() {
  return Complement({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}});
}

}  // namespace glm::grammar
