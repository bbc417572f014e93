#include "runtime/safetensors/safetensors_header.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace glm {
namespace {

StDType DTypeFromName(std::string_view name) {
  for (int i = 0; i < static_cast<int>(StDType::kOther); ++i) {
    const auto dtype = static_cast<StDType>(i);
    if (StDTypeName(dtype) == name) return dtype;
  }
  return StDType::kOther;
}

// Events of the JSON parser. Depth 1 is the header object, depth 2 a tensor or
// `__metadata__`, depth 3 `shape` or `data_offsets`. A false return stops the
// parser; `error_` then says why.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::string error() const { return error_; }
  std::vector<TensorEntry> TakeTensors() { return std::move(tensors_); }

  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == 1) return true;
    if (depth_ != 2) return Misplaced("an object");
    entry_ = TensorEntry();
    entry_.name = key_;
    begin_ = end_ = 0;
    fields_ = 0;
    return true;
  }

  bool end_object() override {
    --depth_;
    if (depth_ != 1) return true;
    if (std::exchange(in_metadata_, false)) return true;
    if (fields_ != (kDType | kShape | kOffsets)) {
      return Fail("needs exactly dtype, shape and data_offsets");
    }
    if (begin_ > end_) {
      return Fail(absl::StrCat("data_offsets [", begin_, ", ", end_,
                               "] end before they begin"));
    }
    entry_.offset = begin_;
    entry_.size = end_ - begin_;
    tensors_.push_back(std::move(entry_));
    return true;
  }

  bool start_array(std::size_t) override {
    ++depth_;
    if (depth_ != 3 || in_metadata_) return Misplaced("a list");
    if (field_ != kShape && field_ != kOffsets) return Misplaced("a list");
    count_ = 0;
    return true;
  }

  bool end_array() override {
    --depth_;
    if (field_ == kOffsets && count_ != 2) {
      return Fail("data_offsets needs two numbers");
    }
    return true;
  }

  bool key(string_t& key) override {
    if (depth_ == 1) return TensorName(std::move(key));
    if (in_metadata_) return true;
    if (key == "dtype") {
      field_ = kDType;
    } else if (key == "shape") {
      field_ = kShape;
    } else if (key == "data_offsets") {
      field_ = kOffsets;
    } else {
      return Fail(absl::StrCat("unknown field '", PrintableName(key), "'"));
    }
    if (fields_ & field_) return Fail("a field is given twice");
    fields_ |= field_;
    return true;
  }

  bool string(string_t& value) override {
    if (depth_ != 2) return Misplaced("a string");
    if (in_metadata_) return true;
    if (field_ != kDType) return Misplaced("a string");
    if (value.size() > kMaxDType) return Fail("the dtype's name is too long");
    entry_.dtype = DTypeFromName(value);
    entry_.dtype_name = std::move(value);
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ != 3) return Misplaced("a number");
    if (field_ == kShape) {
      if (++count_ > kMaxSafetensorsRank) {
        return Fail(
            absl::StrCat("more than ", kMaxSafetensorsRank, " dimensions"));
      }
      if (value > uint64_t{std::numeric_limits<int64_t>::max()}) {
        return Fail(absl::StrCat("dimension ", value, " is too large"));
      }
      entry_.shape.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (++count_ > 2) return Fail("data_offsets needs two numbers");
    (count_ == 1 ? begin_ : end_) = value;
    return true;
  }

  bool null() override { return Misplaced("null"); }
  bool boolean(bool) override { return Misplaced("a boolean"); }
  bool number_integer(number_integer_t) override {
    return Misplaced("a negative number");
  }
  bool number_float(number_float_t, const string_t&) override {
    return Misplaced("a number that is not whole");
  }
  bool binary(binary_t&) override { return Misplaced("binary data"); }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    error_ =
        absl::StrCat("the header is not JSON (at byte ", position, " of it)");
    return false;
  }

 private:
  enum Field { kNone = 0, kDType = 1, kShape = 2, kOffsets = 4 };
  static constexpr size_t kMaxDType = 32;  // bytes

  bool TensorName(std::string name) {
    in_metadata_ = name == "__metadata__";
    key_ = std::move(name);
    if (key_.size() > kMaxSafetensorsName) {
      return Fail(absl::StrCat("the name is ", key_.size(), " bytes long"));
    }
    if (tensors_.size() == kMaxSafetensorsTensors) {
      return Fail(
          absl::StrCat("more than ", kMaxSafetensorsTensors, " tensors"));
    }
    if (!names_.insert(key_).second) return Fail("the name is there twice");
    return true;
  }

  bool Fail(const std::string& what) {
    error_ = absl::StrCat("tensor '", PrintableName(key_), "': ", what);
    return false;
  }

  bool Misplaced(const char* what) {
    error_ = absl::StrCat("the header has ", what, " where none belongs");
    if (!key_.empty()) {
      absl::StrAppend(&error_, " (near '", PrintableName(key_), "')");
    }
    return false;
  }

  std::vector<TensorEntry> tensors_;
  std::unordered_set<std::string> names_;
  std::string error_;

  int depth_ = 0;
  bool in_metadata_ = false;
  std::string key_;  // of depth 1
  Field field_ = kNone;
  int fields_ = 0;    // Field bits seen in this tensor
  size_t count_ = 0;  // numbers seen in this list
  uint64_t begin_ = 0, end_ = 0;
  TensorEntry entry_;
};

}  // namespace

absl::StatusOr<std::vector<TensorEntry>> ParseSafetensorsHeader(
    std::string_view header, const std::string& path) {
  // Padding may follow the object; a byte-order mark or anything else may not
  // precede it.
  if (header.empty() || header.front() != '{') {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": the header does not begin with '{'; this is not "
                     "a safetensors file"));
  }
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(header.begin(), header.end(), &reader)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", reader.error()));
  }
  return reader.TakeTensors();
}

std::string PrintableName(std::string_view name) {
  constexpr size_t kShown = 200;
  const std::string shown(name.substr(0, kShown));
  return absl::StrCat(absl::CHexEscape(shown),
                      name.size() > kShown ? "..." : "");
}

}  // namespace glm
