// Routing traces: which experts each layer of each step chose.
//
// A trace says nothing of weights, times or texts. A step is what runs at once:
// one decoded token, or several (verification of drafts, a batch); of several
// tokens a layer lists each expert once, in the order of first use.
//
// The file, little endian throughout:
//
//   bytes 0..7    "GLMTRACE"
//   u32           version, 1
//   u32           layers        MoE layers, numbered from 0
//   u32           experts       routed experts a layer
//   u32           top_k         experts a token chooses in a layer
//   u64           steps
//   then each step:
//     u16         tokens        1 at least
//     each layer: u16 count, count x u16 expert (distinct, < experts)
//
// with top_k <= count <= min(experts, tokens x top_k). Nothing follows the last
// step. Reader and writer hold one step, never the file.
//
// Thread-compatible.
#ifndef GLM_RUNTIME_PAGING_TRACE_H_
#define GLM_RUNTIME_PAGING_TRACE_H_

#include <cstdint>
#include <fstream>
#include <istream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace glm::paging {

inline constexpr uint32_t kMaxLayers = 1024;
inline constexpr uint32_t kMaxExperts = 4096;
inline constexpr uint32_t kMaxStepTokens = 4096;

struct TraceShape {
  uint32_t layers = 0;
  uint32_t experts = 0;
  uint32_t top_k = 0;

  // Errors: kInvalidArgument; `where` begins the message.
  absl::Status Check(const std::string& where) const;
  uint32_t rows() const { return layers * experts; }

  friend bool operator==(const TraceShape&, const TraceShape&) = default;
};

struct RoutingStep {
  uint32_t tokens = 1;
  std::vector<std::vector<uint16_t>> layers;  // the experts of each

  // Errors: kInvalidArgument, where the step is not one of `shape`.
  absl::Status Check(const TraceShape& shape, const std::string& where) const;

  friend bool operator==(const RoutingStep&, const RoutingStep&) = default;
};

// Steps one after another, from a file or made up.
class StepSource {
 public:
  virtual ~StepSource() = default;
  virtual const TraceShape& shape() const = 0;
  // False after the last step. `step` keeps its memory from call to call.
  virtual absl::StatusOr<bool> Next(RoutingStep& step) = 0;
};

class TraceReader : public StepSource {
 public:
  // Errors: kNotFound (no such file), kInvalidArgument (not a trace: the
  // message says what was found at which step and layer). Next may give the
  // latter too.
  static absl::StatusOr<std::unique_ptr<TraceReader>> Open(
      const std::string& path);
  // `name` stands for the path in messages.
  static absl::StatusOr<std::unique_ptr<TraceReader>> Read(
      std::unique_ptr<std::istream> stream, std::string name);

  const TraceShape& shape() const override { return shape_; }
  uint64_t steps() const { return steps_; }
  absl::StatusOr<bool> Next(RoutingStep& step) override;

 private:
  TraceReader(std::unique_ptr<std::istream> stream, std::string name)
      : stream_(std::move(stream)), name_(std::move(name)) {}

  absl::Status ReadHeader();
  bool ReadValue(uint64_t& value, int bytes);

  std::unique_ptr<std::istream> stream_;
  std::string name_;
  TraceShape shape_;
  uint64_t steps_ = 0;
  uint64_t at_ = 0;
};

class TraceWriter {
 public:
  // Writes to a temporary file beside `path`, which appears with Finish alone;
  // without it nothing is left. Errors: kInvalidArgument, kInternal (the file
  // system).
  static absl::StatusOr<TraceWriter> Create(const std::string& path,
                                            const TraceShape& shape);
  TraceWriter(TraceWriter&&) = default;
  TraceWriter& operator=(TraceWriter&&) = delete;
  ~TraceWriter();

  absl::Status Add(const RoutingStep& step);
  absl::Status Finish();

 private:
  TraceWriter(std::string path, const TraceShape& shape)
      : path_(std::move(path)), shape_(shape) {}

  std::string Partial() const { return path_ + ".partial"; }
  void WriteValue(uint64_t value, int bytes);

  std::string path_;
  TraceShape shape_;
  std::ofstream out_;
  uint64_t steps_ = 0;
};

}  // namespace glm::paging

#endif  // GLM_RUNTIME_PAGING_TRACE_H_
