#include "runtime/serve/request_fields.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/serve/api_error.h"

namespace glm::serve {

using nlohmann::ordered_json;

absl::Status WrongType(std::string_view path, std::string_view expected,
                       const ordered_json& got) {
  const std::string name = path.empty() ? "the body" : std::string(path);
  // Integers beyond 64 bits are kept as binary values (python_json.h).
  const std::string type = got.is_binary() ? "number" : got.type_name();
  return InvalidField(
      path,
      absl::StrCat(name, ": expected ", std::string(expected), ", got ", type),
      "invalid_type");
}

std::string ElementPath(std::string_view path, size_t index) {
  return absl::StrCat(std::string(path), "[", index, "]");
}

absl::StatusOr<RequestFields> RequestFields::Of(const ordered_json& object,
                                                std::string path) {
  if (!object.is_object()) return WrongType(path, "an object", object);
  return RequestFields(object, std::move(path));
}

std::string RequestFields::Path(std::string_view key) const {
  return path_.empty() ? std::string(key)
                       : absl::StrCat(path_, ".", std::string(key));
}

const ordered_json* RequestFields::Find(std::string_view key) const {
  const auto found = object_->find(std::string(key));
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

absl::StatusOr<const ordered_json*> RequestFields::Need(
    std::string_view key) const {
  if (const ordered_json* found = Find(key)) return found;
  return InvalidField(Path(key), absl::StrCat(Path(key), " is missing"),
                      "missing_required_parameter");
}

absl::Status RequestFields::Read(std::string_view key, bool& value) const {
  const ordered_json* found = Find(key);
  if (found == nullptr) return absl::OkStatus();
  if (!found->is_boolean())
    return WrongType(Path(key), "true or false", *found);
  value = found->get<bool>();
  return absl::OkStatus();
}

absl::Status RequestFields::Read(std::string_view key,
                                 std::string& value) const {
  const ordered_json* found = Find(key);
  if (found == nullptr) return absl::OkStatus();
  if (!found->is_string()) return WrongType(Path(key), "a string", *found);
  value = found->get<std::string>();
  return absl::OkStatus();
}

absl::Status RequestFields::Read(std::string_view key, double low, double high,
                                 float& value) const {
  const ordered_json* found = Find(key);
  if (found == nullptr) return absl::OkStatus();
  if (!found->is_number()) return WrongType(Path(key), "a number", *found);
  const double number = found->get<double>();
  if (!(number >= low && number <= high)) {
    return InvalidField(
        Path(key), absl::StrCat(Path(key), " is ", number, "; it must be ", low,
                                " to ", high));
  }
  value = static_cast<float>(number);
  return absl::OkStatus();
}

absl::Status RequestFields::Read(std::string_view key, int64_t low,
                                 int64_t high, int64_t& value) const {
  const ordered_json* found = Find(key);
  if (found == nullptr) return absl::OkStatus();
  const bool whole = found->is_number_integer() ||
                     (found->is_number_float() &&
                      std::trunc(found->get<double>()) == found->get<double>());
  const bool huge =
      found->is_binary() ||
      (found->is_number_unsigned() &&
       found->get<uint64_t>() > uint64_t{INT64_MAX}) ||
      (found->is_number_float() && std::fabs(found->get<double>()) >= 9.2e18);
  if (!whole && !huge) return WrongType(Path(key), "a whole number", *found);
  const int64_t number = huge ? 0
                         : found->is_number_float()
                             ? static_cast<int64_t>(found->get<double>())
                             : found->get<int64_t>();
  if (huge || number < low || number > high) {
    return InvalidField(Path(key),
                        absl::StrCat(Path(key), " is ",
                                     huge ? std::string("beyond 64 bits")
                                          : absl::StrCat(number),
                                     "; it must be ", low, " to ", high));
  }
  value = number;
  return absl::OkStatus();
}

}  // namespace glm::serve
