// Sets of code points that patterns name: classes and what is not in them.
#ifndef GLM_RUNTIME_GRAMMAR_PATTERN_CLASSES_H_
#define GLM_RUNTIME_GRAMMAR_PATTERN_CLASSES_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace glm::grammar {

// Inclusive, in any order; may overlap.
using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;

// All code points that are in none of `ranges`; ascending.
Ranges Complement(Ranges ranges);

// What \d, \D, \w, \W, \s or \S stands for; nothing for other letters.
std::optional<Ranges> ClassOfEscape(uint32_t letter);

// What . stands for.
Ranges AnyButLineEnds();

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_PATTERN_CLASSES_H_
