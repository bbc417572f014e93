#include "runtime/plan/launch_check.h"

#include <limits>

namespace glm::plan {

uint64_t Product(std::initializer_list<uint64_t> factors) {
  uint64_t product = 1;
  for (const uint64_t factor : factors) {
    const auto next = CheckedMul(product, factor);
    if (!next) return std::numeric_limits<uint64_t>::max();
    product = *next;
  }
  return product;
}

uint64_t LaunchCheck::Value(uint32_t index) const {
  return index < SizeOf(launch_.args()) && arg(index).kind() == ArgKind::SCALAR
             ? arg(index).value()
             : 0;
}

uint64_t LaunchCheck::Param(uint32_t index) const {
  const auto* params = kernel().params();
  // A negative parameter becomes a size that nothing has.
  return index < SizeOf(params) ? static_cast<uint64_t>(params->Get(index)) : 0;
}

bool LaunchCheck::Is(uint32_t index, ArgKind kind) {
  if (arg(index).kind() == kind) return true;
  Fail(index, "is a ", EnumNameArgKind(arg(index).kind()), ", expected a ",
       EnumNameArgKind(kind));
  return false;
}

void LaunchCheck::Holds(uint32_t index, DType found, DType wanted,
                        const flatbuffers::Vector<uint64_t>* shape,
                        uint64_t elements) {
  if (found != wanted) {
    Fail(index, "holds ", EnumNameDType(found), ", the kernel takes ",
         EnumNameDType(wanted));
  }
  // Shapes have been checked: their products fit.
  const uint64_t held = *Elements(shape);
  if (held < elements) {
    Fail(index, "holds ", held, " elements in ", ShapeText(shape),
         ", the kernel touches ", elements);
  }
}

void LaunchCheck::LeadingArgs() {
  const Arg& seqs = arg(0);
  const bool all = seqs.kind() == ArgKind::SCALAR;
  if (all ? seqs.value() != 0
          : seqs.kind() != ArgKind::BUFFER || seqs.index() != entry_.seqs()) {
    Fail(0, "is neither the step's seqs nor 0");
  }
  NumberIs(1, entry_.tokens(), "tokens of a sequence");
  if (!Is(2, ArgKind::SCALAR)) return;
  if (rows() != step_rows() && !(all && rows() == entry_.logit_rows())) {
    Fail(2, rows(), " rows, the step has ", step_rows());
  }
  for (uint32_t i = 3; i < SizeOf(launch_.args()); ++i) {
    if (arg(i).kind() != ArgKind::STATE) continue;
    if (i + 1 == SizeOf(launch_.args())) {
      Fail(i, "is a state without a stride");
      return;
    }
    NumberIs(i + 1, plan_.states()->Get(arg(i).index())->bytes_per_slot(),
             "bytes of a slot");
  }
}

void LaunchCheck::NeedSequences() {
  if (arg(0).kind() != ArgKind::BUFFER) Fail(0, "the kernel needs seqs");
  NumberIs(2, step_rows(), "rows of the step");
}

void LaunchCheck::Counts(uint32_t params, uint32_t args) {
  if (SizeOf(kernel().params()) != params && status_.ok()) {
    status_ = at_.Bad(SizeOf(kernel().params()), " params, expected ", params);
  }
  if (SizeOf(launch_.args()) != args && status_.ok()) {
    status_ = at_.Bad(SizeOf(launch_.args()), " arguments, expected ", args);
  }
}

void LaunchCheck::Grid(uint64_t x, uint64_t y, uint64_t z) {
  const auto& grid = *launch_.grid();
  if (status_.ok() && (grid[0] != x || grid[1] != y || grid[2] != z)) {
    status_ = at_.Bad("grid ", grid[0], " x ", grid[1], " x ", grid[2],
                      ", the kernel needs ", x, " x ", y, " x ", z);
  }
}

void LaunchCheck::Input(uint32_t index, uint64_t code, uint64_t elements) {
  if (Is(index, ArgKind::BUFFER)) {
    Operand(index, static_cast<DType>(code), elements);
  }
}

void LaunchCheck::Output(uint32_t index, uint64_t code, uint64_t elements) {
  if (!Is(index, ArgKind::BUFFER)) return;
  const uint32_t buffer = arg(index).index();
  if (buffer == entry_.ids() || buffer == entry_.seqs() ||
      buffer == entry_.rows()) {
    Fail(index, "is an input of the step, the kernel writes it");
  }
  Operand(index, static_cast<DType>(code), elements);
  known_.columns.erase(buffer);
  known_.paged.erase(buffer);
  writers_.emplace(buffer, number_);
}

void LaunchCheck::DenseWeight(uint32_t index, uint64_t code,
                              uint64_t elements) {
  if (Is(index, ArgKind::WEIGHT)) {
    Operand(index, static_cast<DType>(code), elements);
  }
}

void LaunchCheck::Operand(uint32_t index, DType dtype, uint64_t elements) {
  if (arg(index).kind() == ArgKind::BUFFER) {
    const Buffer& buffer = *entry_.buffers()->Get(arg(index).index());
    Holds(index, buffer.dtype(), dtype, buffer.shape(), elements);
  } else if (Is(index, ArgKind::WEIGHT)) {
    const Weight& weight = *plan_.weights()->Get(arg(index).index());
    if (weight.form() != WeightForm::DENSE) {
      Fail(index,
           IsExperts(weight.form()) ? "is a table of experts"
                                    : "is a matrix of codes",
           ", the kernel takes one matrix of elements");
    }
    Holds(index, weight.dtype(), dtype, weight.shape(), elements);
  }
}

void LaunchCheck::CodedWeight(uint32_t index, uint64_t form, uint64_t outputs,
                              uint64_t columns, uint64_t group) {
  if (!Is(index, ArgKind::WEIGHT)) return;
  const Weight& weight = *plan_.weights()->Get(arg(index).index());
  if (!IsCoded(weight.form()) || IsExperts(weight.form()) ||
      static_cast<uint64_t>(weight.form()) != form) {
    Fail(index, "is ", EnumNameWeightForm(weight.form()),
         ", the kernel takes form ", form);
    return;
  }
  const auto& shape = *weight.shape();
  if (shape[0] != outputs || shape[1] != columns) {
    Fail(index, "is ", ShapeText(&shape), ", the kernel takes [", outputs, ", ",
         columns, "]");
  }
  if (weight.group() != group) {
    Fail(index, "has groups of ", weight.group(), ", the kernel's are of ",
         group);
  }
}

void LaunchCheck::ExpertTable(uint32_t index, uint64_t form, uint64_t code,
                              uint64_t experts, uint64_t outputs,
                              uint64_t columns, uint64_t group) {
  if (!Is(index, ArgKind::WEIGHT)) return;
  const Weight& weight = *plan_.weights()->Get(arg(index).index());
  if (!IsExperts(weight.form()) ||
      static_cast<uint64_t>(weight.form()) != form) {
    Fail(index, "is ", EnumNameWeightForm(weight.form()),
         ", the kernel takes form ", form);
    return;
  }
  const auto& shape = *weight.shape();
  if (shape[0] != experts || shape[1] != outputs || shape[2] != columns) {
    Fail(index, "is ", ShapeText(&shape), ", the kernel takes [", experts, ", ",
         outputs, ", ", columns, "]");
  }
  if (weight.form() == WeightForm::EXPERTS_GPTQ4) {
    if (weight.group() != group) {
      Fail(index, "has groups of ", weight.group(), ", the kernel's are of ",
           group);
    }
  } else if (weight.dtype() != static_cast<DType>(code)) {
    Fail(index, "holds ", EnumNameDType(weight.dtype()),
         ", the kernel takes dtype ", code);
  }
}

void LaunchCheck::Slot(uint32_t index, uint64_t code, uint64_t elements) {
  if (!Is(index, ArgKind::STATE)) return;
  const State& state = *plan_.states()->Get(arg(index).index());
  Holds(index, state.dtype(), static_cast<DType>(code), state.shape(),
        elements);
}

void LaunchCheck::Number(uint32_t index) { Is(index, ArgKind::SCALAR); }

void LaunchCheck::NumberIs(uint32_t index, uint64_t value, const char* what) {
  if (Is(index, ArgKind::SCALAR) && arg(index).value() != value) {
    Fail(index, "is ", arg(index).value(), ", expected ", value, " (", what,
         ")");
  }
}

void LaunchCheck::LogitRows(uint32_t index) {
  if (Is(index, ArgKind::BUFFER) && arg(index).index() != entry_.rows()) {
    Fail(index, "is not the step's rows");
  }
  if (rows() > entry_.logit_rows()) {
    Fail(index, "holds ", entry_.logit_rows(), " rows, the kernel takes ",
         rows());
  }
}

void LaunchCheck::LeavesIds(uint32_t index, uint64_t columns, uint64_t count) {
  if (status_.ok()) {
    known_.columns[arg(index).index()] = {columns, count,
                                          arg(0).kind() == ArgKind::SCALAR};
  }
}

void LaunchCheck::UsesIds(uint32_t index, uint64_t columns, uint64_t count) {
  if (!Is(index, ArgKind::BUFFER)) return;
  const auto found = known_.columns.find(arg(index).index());
  if (found == known_.columns.end()) {
    Fail(index, "holds no result of top_k");
  } else if (found->second.columns > columns || found->second.count < count ||
             (arg(0).kind() == ArgKind::SCALAR && !found->second.all_rows)) {
    Fail(index, "holds ", found->second.count, " ids below ",
         found->second.columns, ", the kernel takes ", count, " below ",
         columns);
  }
}

}  // namespace glm::plan
