#include "tools/glm-check/launch_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/plan/collectives.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/reference/reference.h"
#include "tools/glm-check/elements.h"

namespace glm::check {
namespace {

reference::RowProgram ProgramOf(const plan::RowProgram& table) {
  reference::RowProgram program;
  program.dims.assign(table.dims()->begin(), table.dims()->end());
  program.operand_count = table.operand_count();
  program.result_count = table.result_count();
  for (const plan::RowInst* inst : *table.code()) {
    reference::RowInst r;
    r.op = static_cast<reference::RowOp>(inst->op());
    r.a = inst->a();
    r.b = inst->b();
    r.imm = inst->imm();
    if (inst->coeff() != nullptr) {
      r.coeff.assign(inst->coeff()->begin(), inst->coeff()->end());
    }
    r.offset = inst->offset();
    r.dtype = static_cast<int>(inst->dtype());
    program.code.push_back(std::move(r));
  }
  return program;
}

}  // namespace

// An argument in fp32 (or int32): what the reference runs on, and what the kernel
// left.
struct LaunchCheck::Operand {
  std::vector<float> values;        // reference's copy; before the launch
  std::vector<float> got;           // after the launch
  std::vector<int32_t> ints, got_ints;
  std::vector<float>* weight = nullptr;
  plan::DType dtype = plan::DType::F32;
  reference::Argument argument;
};

absl::StatusOr<std::vector<float>*> LaunchCheck::WeightValues(uint32_t index) {
  if (auto it = weights_.find(index); it != weights_.end()) return &it->second;
  const plan::Weight* w = executor_.plan_file().plan().weights()->Get(index);
  std::vector<float> values;
  const WeightStore& store = executor_.weights();
  if (w->group() > 0) {  // pairs of codes and scales
    const uint32_t rank = w->shape()->size();
    const int64_t n = w->shape()->Get(rank - 2), k = w->shape()->Get(rank - 1);
    for (uint32_t e = 0; e < store.DistinctExperts(index); ++e) {
      GLM_ASSIGN_OR_RETURN(const std::vector<std::byte> codes,
                           store.PieceBytes(index, 2 * e));
      GLM_ASSIGN_OR_RETURN(const std::vector<std::byte> halves,
                           store.PieceBytes(index, 2 * e + 1));
      std::vector<int32_t> words(codes.size() / 4);
      std::memcpy(words.data(), codes.data(), words.size() * 4);
      const std::vector<float> scales = Widen(halves, plan::DType::F16);
      std::vector<float> matrix(n * k);
      if (w->form() == plan::WeightForm::DENSE_INT8) {
        const auto* bytes = reinterpret_cast<const int8_t*>(codes.data());
        reference::DequantizeInt8({bytes, codes.size()}, scales, n, k,
                                  w->group(), matrix);
      } else {
        reference::DequantizeGptq4(words, scales, n, k, w->group(), matrix);
      }
      values.insert(values.end(), matrix.begin(), matrix.end());
    }
  } else {
    for (uint32_t p = 0; p < store.DistinctExperts(index); ++p) {
      GLM_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                           store.PieceBytes(index, p));
      const std::vector<float> part = Widen(bytes, w->dtype());
      values.insert(values.end(), part.begin(), part.end());
    }
  }
  return &(weights_[index] = std::move(values));
}

// A state of all slots, one after the other, as kernels see it.
absl::Status LaunchCheck::ReadSlots(uint32_t state,
                                    std::vector<std::byte>& bytes) {
  bytes.clear();
  std::vector<std::byte> one;
  for (uint32_t slot = 0; slot < executor_.slots(); ++slot) {
    GLM_RETURN_IF_ERROR(executor_.ReadState(state, slot, one));
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return absl::OkStatus();
}

LaunchCheck::LaunchCheck(Executor& executor, uint32_t entry)
    : executor_(executor),
      entry_(entry),
      ranges_(OperationRanges(
          *executor.plan_file().plan().entries()->Get(entry))) {}

absl::Status LaunchCheck::Prepare(uint32_t launch) {
  buffers_.clear();
  states_.clear();
  touched_buffers_.clear();
  touched_states_.clear();
  prepared_ = ranges_[launch];
  const plan::Entry* entry = executor_.plan_file().plan().entries()->Get(entry_);
  for (uint32_t i = 0; i < prepared_.count; ++i) {
    const plan::Launch* table = entry->launches()->Get(prepared_.first + i);
    for (const plan::Arg* arg : *table->args()) {
      const uint32_t index = arg->index();
      if (arg->kind() == plan::ArgKind::BUFFER && !buffers_.contains(index)) {
        GLM_RETURN_IF_ERROR(executor_.ReadBuffer(entry_, index, buffers_[index]));
      } else if (arg->kind() == plan::ArgKind::STATE && !states_.contains(index)) {
        GLM_RETURN_IF_ERROR(ReadSlots(index, states_[index]));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LaunchResult>> LaunchCheck::Check() {
  std::vector<LaunchResult> results;
  const plan::Entry* entry = executor_.plan_file().plan().entries()->Get(entry_);
  for (uint32_t i = 0; i < prepared_.count; ++i) {
    const uint32_t launch = prepared_.first + i;
    const auto& args = *entry->launches()->Get(launch)->args();
    // What pages has no reference function: products after it read the rows,
    // and the kernel tests compare it with the cache of runtime/paging.
    const bool pages = std::any_of(
        args.begin(), args.end(), [](const plan::Arg* arg) {
          return arg->kind() == plan::ArgKind::PAGER;
        });
    if (!pages) {
      GLM_ASSIGN_OR_RETURN(LaunchResult result, CheckOne(launch));
      results.push_back(std::move(result));
    }
    for (const plan::Arg* arg : args) {
      if (arg->kind() == plan::ArgKind::BUFFER) {
        touched_buffers_.insert(arg->index());
      } else if (arg->kind() == plan::ArgKind::STATE) {
        touched_states_.insert(arg->index());
      }
    }
  }
  return results;
}

absl::Status LaunchCheck::Load(uint32_t launch, uint32_t position,
                               Operand& operand) {
  const plan::Plan& plan = executor_.plan_file().plan();
  const plan::Entry* entry = plan.entries()->Get(entry_);
  const auto* args = entry->launches()->Get(launch)->args();
  const plan::Arg* arg = args->Get(position);
  std::vector<std::byte> bytes;
  switch (arg->kind()) {
    case plan::ArgKind::BUFFER: {
      operand.dtype = entry->buffers()->Get(arg->index())->dtype();
      GLM_RETURN_IF_ERROR(executor_.ReadBuffer(entry_, arg->index(), bytes));
      // The step's inputs are written after the first Prepare, by no kernel.
      const bool input = arg->index() == entry->ids() ||
                         arg->index() == entry->seqs() ||
                         arg->index() == entry->rows();
      const std::vector<std::byte>& before =
          input || touched_buffers_.contains(arg->index())
              ? bytes
              : buffers_[arg->index()];
      if (operand.dtype == plan::DType::I32) {
        operand.got_ints.resize(bytes.size() / 4);
        std::memcpy(operand.got_ints.data(), bytes.data(), bytes.size());
        operand.ints.resize(bytes.size() / 4);
        std::memcpy(operand.ints.data(), before.data(), before.size());
        operand.argument.i32 = operand.ints;
        return absl::OkStatus();
      }
      operand.got = Widen(bytes, operand.dtype);
      operand.values = Widen(before, operand.dtype);
      operand.argument.f32 = operand.values;
      return absl::OkStatus();
    }
    case plan::ArgKind::STATE:
      operand.dtype = plan.states()->Get(arg->index())->dtype();
      GLM_RETURN_IF_ERROR(ReadSlots(arg->index(), bytes));
      operand.got = Widen(bytes, operand.dtype);
      operand.values = Widen(touched_states_.contains(arg->index())
                                 ? bytes
                                 : states_[arg->index()],
                             operand.dtype);
      operand.argument.f32 = operand.values;
      return absl::OkStatus();
    case plan::ArgKind::WEIGHT: {
      GLM_ASSIGN_OR_RETURN(operand.weight, WeightValues(arg->index()));
      operand.argument.f32 = *operand.weight;
      operand.argument.distinct_experts =
          executor_.weights().DistinctExperts(arg->index());
      return absl::OkStatus();
    }
    case plan::ArgKind::SCALAR:
      operand.argument.integer = static_cast<int64_t>(arg->value());
      operand.argument.real =
          std::bit_cast<float>(static_cast<uint32_t>(arg->value()));
      // The stride after a state counts elements for the reference.
      if (position > 0 &&
          args->Get(position - 1)->kind() == plan::ArgKind::STATE) {
        const plan::State* state =
            plan.states()->Get(args->Get(position - 1)->index());
        operand.argument.integer /= state->dtype() == plan::DType::F32 ? 4 : 2;
      }
      return absl::OkStatus();
    case plan::ArgKind::PAGER:
      break;  // of no launch that is checked
  }
  return absl::InternalError("unknown argument kind");
}

absl::StatusOr<LaunchResult> LaunchCheck::CheckOne(uint32_t launch) {
  const plan::Plan& plan = executor_.plan_file().plan();
  const plan::Launch* table = plan.entries()->Get(entry_)->launches()->Get(launch);
  const plan::Kernel* kernel = plan.kernels()->Get(table->kernel());
  LaunchResult result;
  result.launch = launch;
  result.op = kernel->op()->str();
  result.kernel = kernel->name()->str();
  if (table->origin() != nullptr) result.origin = table->origin()->str();
  if (plan::IsCollective(*kernel)) return result;  // needs the other ranks

  std::vector<Operand> operands(table->args()->size());
  std::vector<reference::Argument> arguments;
  for (uint32_t i = 0; i < operands.size(); ++i) {
    GLM_RETURN_IF_ERROR(Load(launch, i, operands[i]));
    arguments.push_back(operands[i].argument);
  }
  reference::RowProgram program;
  if (kernel->program() != nullptr) program = ProgramOf(*kernel->program());
  std::vector<int64_t> params;  // an empty vector is absent from the file
  if (kernel->params() != nullptr) {
    params.assign(kernel->params()->begin(), kernel->params()->end());
  }
  std::string error;
  if (!reference::Run({result.op, params, arguments,
                       kernel->program() != nullptr ? &program : nullptr},
                      &error)) {
    return absl::InternalError(absl::StrCat("launch ", launch, " (", result.origin,
                                            ", ", result.op, "): ", error));
  }
  for (uint32_t i = 0; i < operands.size(); ++i) {
    const Operand& o = operands[i];
    for (size_t j = 0; j < o.got_ints.size(); ++j) {
      if (o.got_ints[j] == o.ints[j]) continue;
      result.share = HUGE_VAL;
      result.where = absl::StrCat("argument ", i, " element ", j, ": ",
                                  o.got_ints[j], ", reference ", o.ints[j]);
    }
    double largest = 0;
    for (float v : o.values) {
      if (std::isfinite(v)) largest = std::max(largest, std::fabs(double{v}));
    }
    const reference::Bound bound =
        reference::BoundOf(result.op, static_cast<int>(o.dtype));
    for (size_t j = 0; j < o.got.size(); ++j) {
      const double got = o.got[j];
      const double want = o.values[j];
      const double d = std::fabs(got - want);
      if (got == want || (std::isnan(got) && std::isnan(want))) continue;
      const double allowed =
          bound.of_value * std::fabs(want) + bound.of_largest * largest;
      const double share = std::isnan(d) || allowed == 0 ? HUGE_VAL : d / allowed;
      if (share > result.share) {
        result.share = share;
        result.max_abs = d;
        result.where = absl::StrCat("argument ", i, " element ", j, ": ", got,
                                    ", reference ", want);
      }
    }
    result.elements += o.got.size() + o.got_ints.size();
  }
  return result;
}

}  // namespace glm::check
