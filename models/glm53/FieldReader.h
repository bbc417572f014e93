//===- FieldReader.h - Checked fields of config.json ------------*- C++ -*-===//
//
// Reads fields of a JSON object and collects faults, each with the field's name
// and the value that was found, so that a user sees all of them at once. After
// a fault the reader returns a harmless value and goes on.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_MODELS_GLM53_FIELDREADER_H
#define GLM_MODELS_GLM53_FIELDREADER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace glm::glm53 {

class FieldReader {
public:
  /// `outer`, when given, is asked for what `object` does not have. `prefix`
  /// precedes field names in faults ("linear_attn_config.").
  FieldReader(std::vector<std::string> &faults,
              const llvm::json::Object &object,
              const llvm::json::Object *outer = nullptr,
              std::string prefix = "")
      : faults(faults), object(object), outer(outer),
        prefix(std::move(prefix)) {}

  /// The value, or nullptr when the field is absent or null.
  const llvm::json::Value *get(llvm::StringRef key) const;

  /// True when the field is there and null.
  bool isNull(llvm::StringRef key) const;

  /// An object-valued field; a fault when it is something else.
  const llvm::json::Object *child(llvm::StringRef key);

  /// A whole number in [1, high]; required when `fallback` is empty.
  int64_t size(llvm::StringRef key, int64_t high,
               std::optional<int64_t> fallback = std::nullopt);
  /// A whole number in [low, high].
  int64_t integer(llvm::StringRef key, int64_t low, int64_t high,
                  std::optional<int64_t> fallback);
  /// A finite number in [low, high].
  double number(llvm::StringRef key, double low, double high, double fallback);

  /// A fault unless the field is absent or equal to `only`.
  void expect(llvm::StringRef key, const llvm::json::Value &only);

  /// A list of strings, each one of `allowed`; indices into `allowed`. Empty
  /// when the field is absent. `count`: the length that it must have.
  std::vector<int> choices(llvm::StringRef key,
                           llvm::ArrayRef<llvm::StringRef> allowed,
                           int64_t count);

  /// Appends the ids of a number or a list of numbers, each below `limit`,
  /// unless they are there already.
  void ids(llvm::StringRef key, int64_t limit, std::vector<int32_t> &ids);

  /// Adds a fault: "field = value: why".
  void refuse(llvm::StringRef key, const llvm::Twine &why);

private:
  std::vector<std::string> &faults;
  const llvm::json::Object &object;
  const llvm::json::Object *outer;
  std::string prefix;
};

/// All faults in one error, or success.
llvm::Error joinFaults(llvm::StringRef name,
                       const std::vector<std::string> &faults);

} // namespace glm::glm53

#endif // GLM_MODELS_GLM53_FIELDREADER_H
