//===- FieldReader.cpp - Checked fields of config.json --------------------===//

#include "models/glm53/FieldReader.h"
#include "models/glm53/JsonText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace llvm;

namespace glm::glm53 {

static const json::Value *lookUp(const json::Object &object, StringRef key) {
  const json::Value *value = object.get(key);
  return value && value->kind() != json::Value::Null ? value : nullptr;
}

const json::Value *FieldReader::get(StringRef key) const {
  if (const json::Value *value = lookUp(object, key))
    return value;
  return outer ? lookUp(*outer, key) : nullptr;
}

bool FieldReader::isNull(StringRef key) const {
  const json::Value *value = object.get(key);
  return value && value->kind() == json::Value::Null;
}

const json::Object *FieldReader::child(StringRef key) {
  const json::Value *value = get(key);
  if (!value)
    return nullptr;
  if (!value->getAsObject())
    refuse(key, "must be an object");
  return value->getAsObject();
}

void FieldReader::refuse(StringRef key, const Twine &why) {
  const json::Value *value = get(key);
  faults.push_back((prefix + key +
                    (value ? " = " + shortText(*value) : std::string()) + ": " +
                    why)
                       .str());
}

int64_t FieldReader::size(StringRef key, int64_t high,
                          std::optional<int64_t> fallback) {
  return integer(key, 1, high, fallback);
}

int64_t FieldReader::integer(StringRef key, int64_t low, int64_t high,
                             std::optional<int64_t> fallback) {
  const json::Value *value = get(key);
  if (!value) {
    if (!fallback)
      refuse(key, "is missing");
    return fallback.value_or(low);
  }
  std::optional<int64_t> number = value->getAsInteger();
  if (!number || *number < low || *number > high) {
    refuse(key,
           "must be a whole number from " + Twine(low) + " to " + Twine(high));
    return low;
  }
  return *number;
}

double FieldReader::number(StringRef key, double low, double high,
                           double fallback) {
  const json::Value *value = get(key);
  if (!value)
    return fallback;
  std::optional<double> number = value->getAsNumber();
  if (!number || !std::isfinite(*number) || *number < low || *number > high) {
    refuse(key, "must be a number from " + shortText(json::Value(low)) +
                    " to " + shortText(json::Value(high)));
    return fallback;
  }
  return *number;
}

void FieldReader::expect(StringRef key, const json::Value &only) {
  const json::Value *value = get(key);
  if (value && !(*value == only))
    refuse(key, "is not supported, only " + shortText(only) + " is");
}

std::vector<int> FieldReader::choices(StringRef key,
                                      ArrayRef<StringRef> allowed,
                                      int64_t count) {
  const json::Value *value = get(key);
  if (!value)
    return {};
  const json::Array *array = value->getAsArray();
  if (!array || static_cast<int64_t>(array->size()) != count) {
    refuse(key, "must be a list of num_hidden_layers = " + Twine(count) +
                    " entries" +
                    (array ? ", has " + Twine(array->size()) : Twine()));
    return {};
  }
  std::vector<int> result;
  for (auto [i, entry] : enumerate(*array)) {
    std::optional<StringRef> string = entry.getAsString();
    const StringRef *found =
        string ? llvm::find(allowed, *string) : allowed.end();
    if (found == allowed.end()) {
      refuse(key, "entry " + Twine(i) + " is " + shortText(entry) +
                      "; supported: " + join(allowed, ", "));
      return {};
    }
    result.push_back(static_cast<int>(found - allowed.begin()));
  }
  return result;
}

void FieldReader::ids(StringRef key, int64_t limit, std::vector<int32_t> &ids) {
  const json::Value *value = get(key);
  if (!value)
    return;
  json::Array single;
  const json::Array *array = value->getAsArray();
  if (!array) {
    single.push_back(*value);
    array = &single;
  }
  if (array->size() > 1024)
    return refuse(key, "has more than 1024 ids");
  for (const json::Value &entry : *array) {
    std::optional<int64_t> id = entry.getAsInteger();
    if (!id || *id < 0 || *id >= limit)
      return refuse(key,
                    "must hold token ids below vocab_size = " + Twine(limit));
    if (!is_contained(ids, *id))
      ids.push_back(static_cast<int32_t>(*id));
  }
}

Error joinFaults(StringRef name, const std::vector<std::string> &faults) {
  if (faults.empty())
    return Error::success();
  std::string text;
  for (const std::string &fault : faults) {
    if (!text.empty())
      text += '\n';
    text += (name + ": " + fault).str();
  }
  return createStringError(Twine(text));
}

} // namespace glm::glm53
