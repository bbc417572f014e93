// What a schema may cost: each is checked before the memory is taken.
#ifndef GLM_RUNTIME_GRAMMAR_LIMITS_H_
#define GLM_RUNTIME_GRAMMAR_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace glm::grammar {

// Of the schema itself: JSON values, the nesting of them, bytes of strings.
inline constexpr size_t kMaxSchemaValues = 20'000;
inline constexpr size_t kMaxSchemaDepth = 96;
inline constexpr size_t kMaxSchemaBytes = 1 << 20;

// Properties of one object; alternatives of one value, after allOf of anyOf
// are multiplied out; visits of subschemas while they are.
inline constexpr size_t kMaxProperties = 512;
inline constexpr size_t kMaxAlternatives = 256;
inline constexpr size_t kMaxVisits = 200'000;

// Steps in all patterns of a schema: characters that are read, states and
// edges that are looked at, while they are read, meet, or meet values.
inline constexpr size_t kMaxPatternWork = 20'000'000;

// Of the automaton, and of one pattern before and after it meets others.
inline constexpr size_t kMaxAutomatonStates = 200'000;
inline constexpr size_t kMaxPatternBytes = 4'096;
inline constexpr size_t kMaxPatternNodes = 20'000;
inline constexpr size_t kMaxPatternStates = 20'000;
inline constexpr size_t kMaxPatternEdges = 100'000;
inline constexpr size_t kMaxPatternDepth = 64;

// Of what is found out about the automaton while it runs. A machine past these
// limits is left behind between two tokens; past twice of them it takes what it
// does not know for forbidden, but for the next byte.
inline constexpr size_t kMachineStates = 8'192;
inline constexpr size_t kMachineStacks = 500'000;
inline constexpr size_t kMachineReadings = 2'000'000;
// Ways to read the text so far that are kept; further ones are dropped, which
// forbids texts but allows none.
inline constexpr size_t kMaxReadings = 1'024;
inline constexpr size_t kMaxCachedMasks = 512;  // of vocabulary / 8 bytes each
// Stacks and edges that are looked at for one token; of a mask that is new, for
// all tokens. A request that needs more fails.
inline constexpr size_t kMaxTokenWork = 4'000'000;

// Of the texts.
inline constexpr int kMaxIndentSpaces = 64;
inline constexpr int kMaxIndentTabs = 16;
inline constexpr int kMaxIntegerDigits = 18;  // fits int64
// A double tells numbers of so many significant digits apart.
inline constexpr int kMaxNumberDigits = 15;

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_LIMITS_H_
