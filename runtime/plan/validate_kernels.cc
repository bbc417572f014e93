// Kernels: names that are C identifiers, limits of a workgroup, row programs.
#include <set>
#include <string>

#include "runtime/base/status_macros.h"
#include "runtime/plan/plan_format.h"
#include "runtime/plan/validation_context.h"

namespace glm::plan {
namespace {

bool IsIdentifier(const std::string& name) {
  if (name.empty() || name.size() > kMaxNameLength) return false;
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (!letter(name[0])) return false;
  for (const char c : name) {
    if (!letter(c) && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

// How many of `a`, `b` name earlier values; LOAD and STORE name tensors in `a`.
int ValueOperands(RowOp op) {
  switch (op) {
    case RowOp::CONST:
    case RowOp::LOAD:
      return 0;
    case RowOp::NEG:
    case RowOp::EXP:
    case RowOp::RSQRT:
    case RowOp::SIGMOID:
    case RowOp::REDUCE_ADD:
    case RowOp::REDUCE_MAX:
    case RowOp::ROUND_BF16:
      return 1;
    default:
      return 2;
  }
}

absl::Status ValidateInstruction(const Place& at, const RowProgram& program,
                                 const std::vector<bool>& defines,
                                 const RowInst& inst) {
  if (inst.op() > RowOp::MAX) {
    return at.Bad("unknown operation ", static_cast<int>(inst.op()));
  }
  const auto value = [&](uint32_t index) {
    return index < defines.size() && defines[index];
  };
  if (inst.op() == RowOp::LOAD || inst.op() == RowOp::STORE) {
    const bool load = inst.op() == RowOp::LOAD;
    const uint32_t tensors =
        load ? program.operand_count() : program.result_count();
    if (inst.a() >= tensors) {
      return at.Bad("tensor ", inst.a(), " of ", tensors);
    }
    if (SizeOf(inst.coeff()) != SizeOf(program.dims())) {
      return at.Bad(SizeOf(inst.coeff()), " coefficients for ",
                    SizeOf(program.dims()), " dims");
    }
    if (ElementBytes(inst.dtype()) == 0) {
      return at.Bad("unknown dtype ", static_cast<int>(inst.dtype()));
    }
    if (!load && !value(inst.b())) {
      return at.Bad("value ", inst.b(), " is not defined before");
    }
    return absl::OkStatus();
  }
  const int operands = ValueOperands(inst.op());
  if (operands >= 1 && !value(inst.a())) {
    return at.Bad("value ", inst.a(), " is not defined before");
  }
  if (operands >= 2 && !value(inst.b())) {
    return at.Bad("value ", inst.b(), " is not defined before");
  }
  return absl::OkStatus();
}

absl::Status ValidateProgram(const Place& place, const RowProgram& program) {
  const uint32_t rank = SizeOf(program.dims());
  if (rank < 2 || rank > kMaxRank) {
    return place.Bad("rank ", rank, ", expected 2 to ", kMaxRank);
  }
  for (uint32_t i = 0; i < rank; ++i) {
    const int64_t dim = program.dims()->Get(i);
    const bool good = i == 0 ? dim == -1 : dim >= 1 && dim <= (1ll << 31);
    if (!good) {
      return place.At("dims", i, "").Bad("extent ", dim, " is out of range");
    }
  }
  if (program.operand_count() > kMaxArgs || program.result_count() > kMaxArgs ||
      program.result_count() == 0) {
    return place.Bad(program.operand_count(), " operands and ",
                     program.result_count(), " results");
  }
  if (program.tiles() == 0 ||
      program.dims()->Get(rank - 1) % program.tiles() != 0) {
    return place.Bad(program.tiles(), " tiles of ",
                     program.dims()->Get(rank - 1), " columns");
  }
  const uint64_t together = program.together();
  uint64_t left = 1;  // what `together` leaves of the inner rows
  for (uint32_t i = 1; together > 0 && i + 1 < rank; ++i) {
    left = left * (program.dims()->Get(i) % together) % together;
  }
  if (together == 0 || (together > 1 && (left != 0 || program.tiles() > 1))) {
    return place.Bad(together,
                     " rows together, which must divide the rows of"
                     " the inner dims, without tiles");
  }
  std::vector<bool> defines;  // instruction i defines a value
  for (uint32_t i = 0; i < SizeOf(program.code()); ++i) {
    const RowInst& inst = *program.code()->Get(i);
    if (program.tiles() > 1 &&
        (inst.op() == RowOp::REDUCE_ADD || inst.op() == RowOp::REDUCE_MAX)) {
      return place.Bad(program.tiles(), " tiles of a row that is reduced");
    }
    if (program.tiles() > 1 && inst.op() == RowOp::STORE &&
        SizeOf(inst.coeff()) == rank && inst.coeff()->Get(rank - 1) == 0) {
      return place.Bad(program.tiles(),
                       " tiles that all store at one place of the row");
    }
    GLM_RETURN_IF_ERROR(
        ValidateInstruction(place.At("code", i, ""), program, defines, inst));
    defines.push_back(inst.op() != RowOp::STORE);
  }
  return absl::OkStatus();
}

// The kernels that choose tokens belong to no launch of the plan; the runtime
// makes their launches from the vocabulary (docs/spec/sampling.md).
absl::Status ValidateSampling(const Place& place, const Plan& plan,
                              const Kernel& kernel) {
  const uint64_t vocab = plan.model()->vocab();
  if (vocab >= kMaxSampledVocab) {
    return place.Bad("a vocabulary of ", vocab, " tokens, at most ",
                     kMaxSampledVocab - 1, " can be sampled from");
  }
  const std::string op = Text(kernel.op());
  std::string expected;
  for (const auto& [known, name] : {std::pair("sample_best", "SampleBest"),
                                    {"sample_weigh", "SampleWeigh"},
                                    {"sample_pick", "SamplePick"}}) {
    if (op == known) {
      expected = absl::StrCat(name, "_", vocab, "_", SamplingParts(vocab));
    }
  }
  if (expected.empty()) return place.Bad("unknown op ", op);
  if (SizeOf(kernel.params()) != 2 ||
      static_cast<uint64_t>(kernel.params()->Get(0)) != vocab ||
      static_cast<uint64_t>(kernel.params()->Get(1)) != SamplingParts(vocab) ||
      Text(kernel.name()) != expected) {
    return place.Bad("op ", op, " of ", vocab, " tokens, expected ", expected);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateKernels(const Place& place, const Plan& plan) {
  std::set<std::string> names;
  for (uint32_t i = 0; i < SizeOf(plan.kernels()); ++i) {
    const Kernel& kernel = *plan.kernels()->Get(i);
    const std::string name = Text(kernel.name());
    const Place at = place.At("kernels", i, "");
    if (!IsIdentifier(name)) return at.Bad("name is no C identifier");
    if (!names.insert(name).second) return at.Bad("second kernel ", name);
    const Place named = place.At("kernels", i, name);
    GLM_RETURN_IF_ERROR(ValidateName(named.At("op"), kernel.op()));
    if (kernel.threads() == 0 || kernel.threads() > kMaxThreads) {
      return named.Bad(kernel.threads(), " threads, expected 1 to ",
                       kMaxThreads);
    }
    if (kernel.lds_bytes() > kMaxLdsBytes) {
      return named.Bad(kernel.lds_bytes(), " bytes of LDS, at most ",
                       kMaxLdsBytes);
    }
    if (SizeOf(kernel.params()) > kMaxArgs) {
      return named.Bad(SizeOf(kernel.params()), " params, at most ", kMaxArgs);
    }
    const bool rowwise = Text(kernel.op()) == "rowwise";
    if (rowwise != (kernel.program() != nullptr)) {
      return named.Bad(rowwise ? "a rowwise kernel without a program"
                               : "a program on a kernel that is not rowwise");
    }
    if (rowwise) {
      GLM_RETURN_IF_ERROR(
          ValidateProgram(named.At("program"), *kernel.program()));
    }
    GLM_RETURN_IF_ERROR(ValidateKernelName(named, kernel));
    if (Text(kernel.op()).starts_with("sample_")) {
      GLM_RETURN_IF_ERROR(ValidateSampling(named, plan, kernel));
    }
  }
  return absl::OkStatus();
}

}  // namespace glm::plan
