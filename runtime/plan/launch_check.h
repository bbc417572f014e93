// What the checks of a launch share: a view of one launch that compares what
// its kernel touches with what its arguments hold, and remembers the first
// thing that is wrong. Private to runtime/plan.
//
// Counts are elements. Products saturate, so no size can wrap into a good one.
#ifndef GLM_RUNTIME_PLAN_LAUNCH_CHECK_H_
#define GLM_RUNTIME_PLAN_LAUNCH_CHECK_H_

#include <cstdint>
#include <initializer_list>
#include <map>

#include "runtime/plan/validation_context.h"

namespace glm::plan {

// The product, or the largest uint64_t when it does not fit.
uint64_t Product(std::initializer_list<uint64_t> factors);

// ceil(n / tile); `tile` is at least 1.
inline uint64_t Tiles(uint64_t n, uint64_t tile) {
  return n / tile + (n % tile != 0);
}

// Column numbers that top_k left in a buffer. Kernels that index by them do not
// look whether they are in range.
struct ColumnIds {
  uint64_t columns = 0;   // every id is below
  uint64_t count = 0;     // ids, T * k
  bool all_rows = false;  // those of rows that are not valid too
};
// What find_rows and copy_rows left in a buffer.
struct PagedIds {
  enum Stage { kChosen, kMoves, kArrivals, kArrived } stage = kChosen;
  uint32_t layer = 0;
  uint64_t choices = 0;  // ids that were looked up, T * top_k
};
// What later launches of an entry rely on.
struct Known {
  std::map<uint32_t, ColumnIds> columns;         // of a buffer
  std::map<uint32_t, PagedIds> paged;            // of a buffer
  std::map<uint32_t, uint32_t> layer_of_weight;  // of paged experts
};

// Launches that write a buffer.
using WritersOf = std::multimap<uint32_t, uint32_t>;

class LaunchCheck {
 public:
  // `known` outlives the check and is what earlier launches of the entry left.
  // What launch `number` writes joins `writers`.
  LaunchCheck(const Place& at, const Plan& plan, const Entry& entry,
              uint32_t number, Known& known, WritersOf& writers)
      : at_(at),
        plan_(plan),
        entry_(entry),
        launch_(*entry.launches()->Get(number)),
        number_(number),
        known_(known),
        writers_(writers) {}

  const absl::Status& status() const { return status_; }
  const Kernel& kernel() const {
    return *plan_.kernels()->Get(launch_.kernel());
  }
  const Model& model() const { return *plan_.model(); }
  uint64_t rows() const { return Value(2); }  // T
  uint64_t step_rows() const {
    return uint64_t{entry_.sequences()} * entry_.tokens();
  }
  uint64_t ranks() const { return plan_.ranks(); }
  uint64_t sequences() const { return entry_.sequences(); }
  uint64_t tokens() const { return entry_.tokens(); }  // a sequence
  // The bits of argument `arg`; 0 when it is no scalar.
  uint64_t Value(uint32_t arg) const;
  uint64_t Param(uint32_t index) const;

  template <typename... Args>
  void Fail(uint32_t arg, const Args&... args) {
    if (status_.ok()) status_ = at_.At("args", arg, "").Bad(args...);
  }

  // What every kernel gets: seqs, N, T, and the stride after each state.
  void LeadingArgs();
  // The kernel reads slots and positions: all rows of the step, with seqs.
  void NeedSequences();
  void Counts(uint32_t params, uint32_t args);
  void Grid(uint64_t x, uint64_t y = 1, uint64_t z = 1);

  // `code` is a dtype code of docs/spec/kernels.md.
  void Input(uint32_t arg, uint64_t code, uint64_t elements);
  void Output(uint32_t arg, uint64_t code, uint64_t elements);
  void DenseWeight(uint32_t arg, uint64_t code, uint64_t elements);
  // A weight of codes, `form` a WeightForm of one matrix.
  void CodedWeight(uint32_t arg, uint64_t form, uint64_t outputs,
                   uint64_t columns, uint64_t group);
  // An input or a dense weight.
  void Operand(uint32_t arg, DType dtype, uint64_t elements);
  void ExpertTable(uint32_t arg, uint64_t form, uint64_t code, uint64_t experts,
                   uint64_t outputs, uint64_t columns, uint64_t group);
  // `arg` is the base; the stride follows it. `elements` of one slot.
  void Slot(uint32_t arg, uint64_t code, uint64_t elements);
  void Number(uint32_t arg);  // any scalar
  void NumberIs(uint32_t arg, uint64_t value, const char* what);
  // The rows that the step's logits are of.
  void LogitRows(uint32_t arg);
  // Ids that top_k leaves, and their use below `columns`.
  void LeavesIds(uint32_t arg, uint64_t columns, uint64_t count);
  void UsesIds(uint32_t arg, uint64_t columns, uint64_t count);

  // Paging of experts, validate_paging.cc. Weights whose rows come and go are
  // read by paged_expert_linear alone.
  void PagedWeights();
  uint64_t row_weights() const;  // of a row; 0 where no expert is paged
  void RowWeights(uint64_t weights);
  void Pager(uint32_t arg, uint64_t experts);
  // The outputs of find_rows, of which the layer rises in an entry: rows of
  // earlier layers may leave.
  struct FoundRows {
    uint32_t layer = 0, chosen = 0, moves = 0, arrivals = 0;
  };
  void FindsRows(const FoundRows& args, uint64_t choices);
  // copy_rows, which counts up the `counts` arrivals that find_rows left.
  void CopiesRows(uint32_t moves, uint32_t arrivals, uint64_t choices,
                  uint64_t counts);
  // The weight is number `which` of its layer's rows, of which those for `ids`
  // are counted in `arrivals` when they are there.
  struct NeededRows {
    uint32_t ids = 0, weight = 0, arrivals = 0, which = 0;
  };
  void NeedsRows(const NeededRows& args, uint64_t choices);

 private:
  const Arg& arg(uint32_t index) const { return *launch_.args()->Get(index); }
  bool Is(uint32_t arg, ArgKind kind);
  const PagedIds* FindPaged(uint32_t arg, PagedIds::Stage stage) const;
  void Holds(uint32_t arg, DType found, DType wanted,
             const flatbuffers::Vector<uint64_t>* shape, uint64_t elements);

  Place at_;
  const Plan& plan_;
  const Entry& entry_;
  const Launch& launch_;
  uint32_t number_;
  Known& known_;
  WritersOf& writers_;
  absl::Status status_;
};

// Every LOAD and STORE of the kernel's program stays in its tensor.
void CheckRowwise(LaunchCheck& launch);

}  // namespace glm::plan

#endif  // GLM_RUNTIME_PLAN_LAUNCH_CHECK_H_
