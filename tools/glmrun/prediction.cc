#include "tools/glmrun/prediction.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace glm::tools {
namespace {

using Json = nlohmann::json;

const Json* Member(const Json* object, const char* key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto it = object->find(key);
  return it == object->end() ? nullptr : &*it;
}

}  // namespace

absl::StatusOr<Prediction> ReadPrediction(const std::string& path,
                                          const EntryInfo& entry) {
  const auto bad = [&](const auto&... text) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", text...,
                     "; write it with `glmc explain PLAN --machine M --json`"));
  };
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  if (!file || !std::filesystem::is_regular_file(path, error)) {
    return absl::NotFoundError(absl::StrCat(
        path,
        ": cannot be read; --prediction takes what `glmc explain PLAN "
        "--machine M --json` prints"));
  }
  const Json root = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  const Json* entries = Member(&root, "entries");
  const Json* machine = Member(Member(&root, "machine"), "name");
  if (entries == nullptr || !entries->is_array() || machine == nullptr ||
      !machine->is_string()) {
    return bad("not the JSON of a prediction");
  }
  for (const Json& item : *entries) {
    const Json* name = Member(&item, "name");
    if (name == nullptr || *name != entry.name) continue;
    const Json* prediction = Member(&item, "prediction");
    const Json* total = Member(Member(prediction, "us"), "total");
    const Json* floor = Member(prediction, "floor_us");
    const Json* launches = Member(prediction, "device_launches");
    if (total == nullptr || !total->is_number() || floor == nullptr ||
        !floor->is_number() || launches == nullptr ||
        !launches->is_number_unsigned()) {
      return bad(entry.name, " has no prediction");
    }
    if (*launches != entry.launches) {
      return bad("is of another plan: ", entry.name, " has ",
                 launches->get<uint64_t>(), " launches there, ", entry.launches,
                 " here");
    }
    return Prediction{machine->get<std::string>(), 1e-6 * total->get<double>(),
                      1e-6 * floor->get<double>()};
  }
  return bad("has no entry ", entry.name);
}

}  // namespace glm::tools
