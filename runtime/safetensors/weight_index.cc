#include "runtime/safetensors/weight_index.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/safetensors/safetensors_header.h"

namespace glm {
namespace {

bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos &&
         name.find('\\') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

// Events of the JSON parser. Everything beside `weight_map` is skipped.
class IndexReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  const std::string& error() const { return error_; }
  bool found_map() const { return found_map_; }
  WeightIndex TakeIndex() { return std::move(index_); }

  bool start_object(std::size_t) override {
    if (in_map_ && depth_ >= 2) return Misplaced();
    if (in_map_) found_map_ = true;
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    if (depth_ == 1) in_map_ = false;
    return true;
  }
  bool start_array(std::size_t) override {
    if (in_map_ || depth_ == 0) return Misplaced();
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }

  bool key(string_t& key) override {
    if (depth_ == 1) {
      in_map_ = key == "weight_map";
      if (in_map_ && found_map_) return Fail("weight_map is there twice");
    } else if (in_map_) {
      tensor_ = std::move(key);
    }
    return true;
  }

  bool string(string_t& value) override {
    if (!in_map_) return depth_ > 0 || Misplaced();
    if (depth_ != 2) return Misplaced();
    return Assign(value);
  }

  bool null() override { return Skip(); }
  bool boolean(bool) override { return Skip(); }
  bool number_integer(number_integer_t) override { return Skip(); }
  bool number_unsigned(number_unsigned_t) override { return Skip(); }
  bool number_float(number_float_t, const string_t&) override { return Skip(); }
  bool binary(binary_t&) override { return Skip(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Fail(absl::StrCat("not JSON at byte ", position,
                             "; the file may be cut short, fetch it again"));
  }

 private:
  bool Assign(const std::string& file) {
    if (tensor_.size() > kMaxSafetensorsName) {
      return Fail("weight_map has a tensor name that is too long");
    }
    if (index_.tensors.size() == kMaxSafetensorsTensors) {
      return Fail(absl::StrCat("weight_map has more than ",
                               kMaxSafetensorsTensors, " tensors"));
    }
    if (!IsPlainName(file)) {
      return Fail(absl::StrCat("weight_map assigns '", PrintableName(tensor_),
                               "' to '", PrintableName(file),
                               "', which is not a plain file name"));
    }
    if (!names_.insert(tensor_).second) {
      return Fail(absl::StrCat("weight_map names '", PrintableName(tensor_),
                               "' twice"));
    }
    const auto [it, added] =
        file_numbers_.emplace(file, static_cast<uint32_t>(index_.files.size()));
    if (added) {
      if (index_.files.size() == kMaxIndexFiles) {
        return Fail(absl::StrCat("weight_map names more than ", kMaxIndexFiles,
                                 " files"));
      }
      index_.files.push_back(file);
    }
    index_.tensors.emplace_back(tensor_, it->second);
    return true;
  }

  bool Skip() { return (!in_map_ && depth_ > 0) || Misplaced(); }
  bool Misplaced() {
    return Fail("weight_map must be an object of tensor names and file names");
  }
  bool Fail(std::string what) {
    error_ = std::move(what);
    return false;
  }

  WeightIndex index_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, uint32_t> file_numbers_;
  std::string error_;
  std::string tensor_;
  int depth_ = 0;
  bool in_map_ = false;
  bool found_map_ = false;
};

}  // namespace

absl::StatusOr<WeightIndex> ParseWeightIndex(std::span<const std::byte> bytes,
                                             const std::string& name) {
  if (bytes.size() > kMaxIndexBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", bytes.size(), " bytes are more than the ",
                     kMaxIndexBytes, " that are allowed for an index"));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  IndexReader reader;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &reader)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", reader.error()));
  }
  if (!reader.found_map()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name,
                     ": has no weight_map; this is not the index of a "
                     "checkpoint, fetch it again"));
  }
  WeightIndex index = reader.TakeIndex();
  if (index.tensors.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": weight_map is empty; fetch the index again"));
  }
  return index;
}

}  // namespace glm
