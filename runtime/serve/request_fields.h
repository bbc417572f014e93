// `RequestFields` reads the fields of one JSON object of a request, each with
// its type and limits. A field that is absent or null leaves the value as it
// is; what nobody asks for is ignored, as OpenAI's API does.
//
// Errors: kInvalidArgument with the path of the field as parameter and the code
// invalid_type, invalid_value or missing_required_parameter.
#ifndef GLM_RUNTIME_SERVE_REQUEST_FIELDS_H_
#define GLM_RUNTIME_SERVE_REQUEST_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace glm::serve {

class RequestFields {
 public:
  // `path` is that of the object: "", "stream_options", "messages[1]".
  static absl::StatusOr<RequestFields> Of(const nlohmann::ordered_json& object,
                                          std::string path);

  // Null where it is absent or null.
  const nlohmann::ordered_json* Find(std::string_view key) const;
  absl::StatusOr<const nlohmann::ordered_json*> Need(
      std::string_view key) const;

  absl::Status Read(std::string_view key, bool& value) const;
  absl::Status Read(std::string_view key, std::string& value) const;
  // Both ends belong to the range.
  absl::Status Read(std::string_view key, double low, double high,
                    float& value) const;
  absl::Status Read(std::string_view key, int64_t low, int64_t high,
                    int64_t& value) const;
  template <typename Int>
  absl::Status ReadInt(std::string_view key, int64_t low, int64_t high,
                       Int& value) const {
    int64_t read = static_cast<int64_t>(value);
    absl::Status status = Read(key, low, high, read);
    value = static_cast<Int>(read);
    return status;
  }

  // "messages[1].content"
  std::string Path(std::string_view key) const;

 private:
  RequestFields(const nlohmann::ordered_json& object, std::string path)
      : object_(&object), path_(std::move(path)) {}

  const nlohmann::ordered_json* object_;
  std::string path_;
};

// kInvalidArgument: "<path>: expected <expected>, got <JSON type>".
absl::Status WrongType(std::string_view path, std::string_view expected,
                       const nlohmann::ordered_json& got);

std::string ElementPath(std::string_view path, size_t index);  // "stop[3]"

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_REQUEST_FIELDS_H_
