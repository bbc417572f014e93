#include "runtime/plan/plan_validator.h"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/status_macros.h"
#include "runtime/plan/validation_context.h"

namespace glm {
namespace plan {

absl::Status ValidateName(const Place& place, const flatbuffers::String* name) {
  if (name == nullptr || name->size() == 0 || name->size() > kMaxNameLength) {
    return place.Bad("name of ", name == nullptr ? 0 : name->size(),
                     " characters, expected 1 to ", kMaxNameLength);
  }
  for (const char c : *name) {
    if (c < 0x20 || c > 0x7e) return place.Bad("name is not printable ASCII");
  }
  return absl::OkStatus();
}

namespace {

// The flatbuffers verifier aligns vectors by their length field only; reading
// 8-byte elements in place needs more.
template <typename T>
bool Aligned(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ||
         reinterpret_cast<uintptr_t>(vector->Data()) % 8 == 0;
}

template <typename T, typename Check>
bool All(const flatbuffers::Vector<flatbuffers::Offset<T>>* tables,
         const Check& check) {
  for (uint32_t i = 0; i < SizeOf(tables); ++i) {
    if (!check(*tables->Get(i))) return false;
  }
  return true;
}

absl::Status ValidateAlignment(const Place& place, const Plan& plan) {
  const bool aligned =
      All(plan.weights(),
          [](const Weight& w) {
            return Aligned(w.shape()) && Aligned(w.pieces());
          }) &&
      All(plan.states(), [](const State& s) { return Aligned(s.shape()); }) &&
      All(plan.kernels(),
          [](const Kernel& k) {
            const RowProgram* program = k.program();
            return Aligned(k.params()) &&
                   (program == nullptr ||
                    (Aligned(program->dims()) &&
                     All(program->code(), [](const RowInst& inst) {
                       return Aligned(inst.coeff());
                     })));
          }) &&
      All(plan.entries(), [](const Entry& e) {
        return All(e.buffers(),
                   [](const Buffer& b) { return Aligned(b.shape()); }) &&
               All(e.launches(),
                   [](const Launch& l) { return Aligned(l.args()); });
      });
  return aligned ? absl::OkStatus()
                 : place.Bad("a vector of 8-byte elements is not aligned");
}

struct NamedSegment {
  std::string name;
  const Segment* segment;
};

absl::Status ValidateSegments(const Place& place, const Plan& plan,
                              uint64_t begin, uint64_t file_size) {
  std::vector<NamedSegment> segments;
  for (uint32_t i = 0; i < SizeOf(plan.code_objects()); ++i) {
    segments.push_back({absl::StrCat("code_objects[", i, "]"),
                        plan.code_objects()->Get(i)->segment()});
  }
  segments.push_back({"source", plan.source()});
  segments.push_back({"tokenizer", plan.tokenizer()});
  std::erase_if(segments, [](const NamedSegment& s) {
    return s.segment == nullptr || s.segment->size() == 0;
  });
  for (const auto& [name, segment] : segments) {
    const auto end = CheckedAdd(segment->offset(), segment->size());
    if (segment->offset() % kSegmentAlignment != 0) {
      return place.At(name.c_str())
          .Bad("offset ", segment->offset(), " is not a multiple of ",
               kSegmentAlignment);
    }
    if (segment->offset() < begin || !end || *end > file_size) {
      return place.At(name.c_str())
          .Bad("bytes ", segment->offset(), " + ", segment->size(),
               " lie outside ", begin, "..", file_size);
    }
  }
  std::sort(segments.begin(), segments.end(), [](const auto& a, const auto& b) {
    return a.segment->offset() < b.segment->offset();
  });
  for (size_t i = 1; i < segments.size(); ++i) {
    const Segment& before = *segments[i - 1].segment;
    if (before.offset() + before.size() > segments[i].segment->offset()) {
      return place.At(segments[i].name.c_str())
          .Bad("overlaps ", segments[i - 1].name);
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateModel(const Place& place, const Plan& plan) {
  const Model* model = plan.model();
  if (model == nullptr) return place.Bad("no model table");
  if (model->vocab() == 0 || model->vocab() > (1u << 24) ||
      model->max_context() == 0 || model->max_context() > (1u << 30) ||
      model->layers() == 0 || model->layers() > 4096) {
    return place.At("model").Bad("vocab ", model->vocab(), ", max_context ",
                                 model->max_context(), ", layers ",
                                 model->layers(), " are out of range");
  }
  if (plan.ranks() == 0 || plan.ranks() > kMaxRanks) {
    return place.At("ranks").Bad(plan.ranks(), ", expected 1 to ", kMaxRanks);
  }
  const std::string math = Text(plan.math()), fuse = Text(plan.fuse());
  if (math != "fp32" && math != "bf16") {
    return place.At("math").Bad("\"", math, "\", expected fp32 or bf16");
  }
  if (fuse != "off" && fuse != "on") {
    return place.At("fuse").Bad("\"", fuse, "\", expected off or on");
  }
  const Generation* generation = plan.generation();
  if (generation == nullptr) return absl::OkStatus();
  for (uint32_t i = 0; i < SizeOf(generation->stop_ids()); ++i) {
    const int32_t id = generation->stop_ids()->Get(i);
    if (id < 0 || static_cast<uint32_t>(id) >= model->vocab()) {
      return place.At("generation: stop_ids", i, "")
          .Bad("id ", id, " is outside the vocabulary of ", model->vocab());
    }
  }
  // Written so that NaN fails.
  if (!(generation->temperature() >= 0 && generation->temperature() <= 100) ||
      !(generation->top_p() > 0 && generation->top_p() <= 1)) {
    return place.At("generation")
        .Bad("temperature ", generation->temperature(), ", top_p ",
             generation->top_p(), " are out of range");
  }
  return absl::OkStatus();
}

absl::Status ValidateCodeObjects(const Place& place, const Plan& plan) {
  for (uint32_t i = 0; i < SizeOf(plan.code_objects()); ++i) {
    const CodeObject& object = *plan.code_objects()->Get(i);
    const Place at = place.At("code_objects", i, "");
    GLM_RETURN_IF_ERROR(ValidateName(at.At("target"), object.target()));
    if (object.segment() == nullptr || object.segment()->size() == 0) {
      return at.Bad("has no bytes");
    }
    if (object.isa() != nullptr && object.isa()->size() > kMaxNameLength) {
      return at.Bad("isa of ", object.isa()->size(), " characters");
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace plan

absl::Status ValidatePlan(const std::string& path, const plan::Plan& plan,
                          uint64_t segments_begin, uint64_t file_size) {
  const plan::Place place(path);
  GLM_RETURN_IF_ERROR(plan::ValidateAlignment(place, plan));
  GLM_RETURN_IF_ERROR(plan::ValidateModel(place, plan));
  GLM_RETURN_IF_ERROR(plan::ValidateCodeObjects(place, plan));
  GLM_RETURN_IF_ERROR(
      plan::ValidateSegments(place, plan, segments_begin, file_size));
  GLM_RETURN_IF_ERROR(plan::ValidateKernels(place, plan));
  GLM_RETURN_IF_ERROR(plan::ValidateWeights(place, plan));
  GLM_RETURN_IF_ERROR(plan::ValidateExpertRows(place, plan));
  GLM_RETURN_IF_ERROR(plan::ValidateStates(place, plan));
  return plan::ValidateEntries(place, plan);
}

}  // namespace glm
