// Entries: buffers and their lifetimes, launches and their arguments, taps,
// inputs and the logits.
#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/status_macros.h"
#include "runtime/plan/validation_context.h"

namespace glm::plan {
namespace {

absl::Status ValidateBuffer(const Place& at, const Entry& entry,
                            const Buffer& buffer) {
  if (ElementBytes(buffer.dtype()) == 0) {
    return at.Bad("unknown dtype ", static_cast<int>(buffer.dtype()));
  }
  if (SizeOf(buffer.shape()) > kMaxRank) {
    return at.Bad("rank ", SizeOf(buffer.shape()), ", at most ", kMaxRank);
  }
  const auto elements = Elements(buffer.shape());
  const auto bytes = elements
                         ? CheckedMul(*elements, ElementBytes(buffer.dtype()))
                         : std::nullopt;
  if (!bytes || *bytes == 0) {
    return at.Bad("shape ", ShapeText(buffer.shape()),
                  " is empty or too large");
  }
  if (buffer.size() < *bytes) {
    return at.Bad("size ", buffer.size(), ", shape ", ShapeText(buffer.shape()),
                  " needs ", *bytes);
  }
  const auto end = CheckedAdd(buffer.offset(), buffer.size());
  if (buffer.offset() % kBufferAlignment != 0 || !end ||
      *end > entry.arena_bytes()) {
    return at.Bad("bytes ", buffer.offset(), " + ", buffer.size(),
                  " lie outside the arena of ", entry.arena_bytes(),
                  " bytes or not on a multiple of ", kBufferAlignment);
  }
  if (buffer.first() > buffer.last() ||
      buffer.last() >= SizeOf(entry.launches())) {
    return at.Bad("lifetime ", buffer.first(), "..", buffer.last(), " of ",
                  SizeOf(entry.launches()), " launches");
  }
  return absl::OkStatus();
}

// No two buffers that live at the same time share a byte. Sweeps over time; the
// buffers alive never overlap, so a new one needs to look at its neighbours
// only.
absl::Status ValidateLifetimes(const Place& place, const Entry& entry) {
  const auto& buffers = *entry.buffers();
  std::vector<uint32_t> order(buffers.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(buffers[a]->first(), a) <
           std::pair(buffers[b]->first(), b);
  });
  std::map<uint64_t, uint32_t> alive;            // offset -> buffer
  using Expiry = std::pair<uint32_t, uint64_t>;  // last, offset
  std::priority_queue<Expiry, std::vector<Expiry>, std::greater<>> expiries;
  for (const uint32_t index : order) {
    const Buffer& buffer = *buffers[index];
    while (!expiries.empty() && expiries.top().first < buffer.first()) {
      alive.erase(expiries.top().second);
      expiries.pop();
    }
    const auto after = alive.lower_bound(buffer.offset());
    const Buffer* clash = nullptr;
    if (after != alive.end() &&
        after->first < buffer.offset() + buffer.size()) {
      clash = buffers[after->second];
    } else if (after != alive.begin()) {
      const Buffer* before = buffers[std::prev(after)->second];
      if (before->offset() + before->size() > buffer.offset()) clash = before;
    }
    if (clash != nullptr) {
      return place.At("buffers", index, Text(buffer.name()))
          .Bad("shares bytes with ", Text(clash->name()),
               " while both are alive (launches ", buffer.first(), "..",
               buffer.last(), " and ", clash->first(), "..", clash->last(),
               ")");
    }
    alive.emplace(buffer.offset(), index);
    expiries.emplace(buffer.last(), buffer.offset());
  }
  return absl::OkStatus();
}

absl::Status ValidateArg(const Place& at, const Plan& plan, const Entry& entry,
                         uint32_t launch, const Arg& arg) {
  uint32_t limit = 0;
  switch (arg.kind()) {
    case ArgKind::SCALAR:
      return absl::OkStatus();
    case ArgKind::PAGER:
      if (SizeOf(plan.expert_rows()) > 0) return absl::OkStatus();
      return at.Bad("is a PAGER, no experts are paged");
    case ArgKind::BUFFER:
      limit = SizeOf(entry.buffers());
      break;
    case ArgKind::WEIGHT:
      limit = SizeOf(plan.weights());
      break;
    case ArgKind::STATE:
      limit = SizeOf(plan.states());
      break;
    default:
      return at.Bad("unknown kind ", static_cast<int>(arg.kind()));
  }
  if (arg.index() >= limit) {
    return at.Bad(EnumNameArgKind(arg.kind()), " ", arg.index(), " of ", limit);
  }
  if (arg.kind() != ArgKind::BUFFER) return absl::OkStatus();
  const Buffer& buffer = *entry.buffers()->Get(arg.index());
  if (launch < buffer.first() || launch > buffer.last()) {
    return at.Bad("buffer ", Text(buffer.name()), " lives from launch ",
                  buffer.first(), " to ", buffer.last());
  }
  return absl::OkStatus();
}

absl::Status ValidateLaunch(const Place& place, const Plan& plan,
                            const Entry& entry, uint32_t index) {
  const Launch& launch = *entry.launches()->Get(index);
  if (launch.kernel() >= SizeOf(plan.kernels())) {
    return place.At("launches", index, "")
        .Bad("kernel ", launch.kernel(), " of ", SizeOf(plan.kernels()));
  }
  const Kernel& kernel = *plan.kernels()->Get(launch.kernel());
  if (Text(kernel.op()) == "group") {
    return place.At("launches", index, Text(kernel.name()))
        .Bad("a launch of a group's kernel outside of groups");
  }
  const Place at = place.At("launches", index, Text(kernel.name()));
  if (SizeOf(launch.grid()) != 3) {
    return at.Bad("grid of rank ", SizeOf(launch.grid()), ", expected 3");
  }
  uint64_t blocks = 1;  // each factor < 2^31 and the product bounded at 2^40
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t extent = launch.grid()->Get(i);
    if (extent == 0 || extent > kMaxGridDim ||
        (blocks *= extent) > kMaxGridBlocks) {
      return at.At("grid", i, "").Bad("extent ", extent, " is out of range");
    }
  }
  const uint32_t args = SizeOf(launch.args());
  if (args < 3 || args > kMaxArgs) {
    return at.Bad(args, " arguments, expected 3 to ", kMaxArgs);
  }
  if (const RowProgram* program = kernel.program()) {
    const uint32_t expected =
        3 + program->operand_count() + program->result_count();
    if (args != expected) {
      return at.Bad(args, " arguments, the program takes ", expected);
    }
  }
  for (uint32_t i = 0; i < args; ++i) {
    GLM_RETURN_IF_ERROR(ValidateArg(at.At("args", i, ""), plan, entry, index,
                                    *launch.args()->Get(i)));
  }
  return absl::OkStatus();
}

// `name` must be a buffer of `dtype` and shape [rows, columns], or [rows] when
// `columns` is 0.
absl::Status ValidateBoundary(const Place& place, const Entry& entry,
                              const char* name, uint32_t index, DType dtype,
                              uint64_t rows, uint64_t columns, bool input) {
  const Place at = place.At(name);
  if (index >= SizeOf(entry.buffers())) {
    return at.Bad("buffer ", index, " of ", SizeOf(entry.buffers()));
  }
  const Buffer& buffer = *entry.buffers()->Get(index);
  const auto* shape = buffer.shape();
  const bool matches = columns == 0
                           ? SizeOf(shape) == 1 && shape->Get(0) == rows
                           : SizeOf(shape) == 2 && shape->Get(0) == rows &&
                                 shape->Get(1) == columns;
  if (buffer.dtype() != dtype || !matches) {
    return at.Bad("buffer ", Text(buffer.name()), " is ",
                  EnumNameDType(buffer.dtype()), " ", ShapeText(shape),
                  ", expected ", EnumNameDType(dtype), " [", rows,
                  columns == 0 ? "" : absl::StrCat(", ", columns), "]");
  }
  const uint32_t last = SizeOf(entry.launches()) - 1;
  if (input && buffer.first() != 0) {
    return at.Bad("buffer ", Text(buffer.name()),
                  " is an input and first alive at launch ", buffer.first());
  }
  if (!input && buffer.last() != last) {
    return at.Bad("buffer ", Text(buffer.name()),
                  " is a result and dead after launch ", buffer.last(), " of ",
                  last);
  }
  return absl::OkStatus();
}

absl::Status ValidateTaps(const Place& place, const Entry& entry) {
  for (uint32_t i = 0; i < SizeOf(entry.taps()); ++i) {
    const Tap& tap = *entry.taps()->Get(i);
    GLM_RETURN_IF_ERROR(ValidateName(place.At("taps", i, ""), tap.name()));
    const Place at = place.At("taps", i, Text(tap.name()));
    if (tap.buffer() >= SizeOf(entry.buffers())) {
      return at.Bad("buffer ", tap.buffer(), " of ", SizeOf(entry.buffers()));
    }
    const Buffer& buffer = *entry.buffers()->Get(tap.buffer());
    if (tap.after() < buffer.first() || tap.after() > buffer.last()) {
      return at.Bad("after launch ", tap.after(), ", buffer ",
                    Text(buffer.name()), " lives from ", buffer.first(), " to ",
                    buffer.last());
    }
    // Tools read row r of a tap as row r of the step.
    const uint64_t rows = uint64_t{entry.sequences()} * entry.tokens();
    if (SizeOf(buffer.shape()) == 0 || buffer.shape()->Get(0) != rows ||
        (buffer.dtype() != DType::F32 && buffer.dtype() != DType::BF16 &&
         buffer.dtype() != DType::I32)) {
      return at.Bad("buffer ", Text(buffer.name()), " is ",
                    EnumNameDType(buffer.dtype()), " ",
                    ShapeText(buffer.shape()),
                    ", expected F32, BF16 or I32 of ", rows, " rows");
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateEntry(const Place& at, const Plan& plan,
                           const Entry& entry) {
  if (entry.kind() > EntryKind::MAX) {
    return at.Bad("unknown kind ", static_cast<int>(entry.kind()));
  }
  const uint64_t rows = uint64_t{entry.sequences()} * entry.tokens();
  if (rows == 0 || rows > kMaxTokens) {
    return at.Bad(entry.sequences(), " sequences of ", entry.tokens(),
                  " tokens, expected 1 to ", kMaxTokens, " rows");
  }
  if (entry.logit_rows() == 0 || entry.logit_rows() > rows) {
    return at.Bad(entry.logit_rows(), " rows of logits for ", rows, " rows");
  }
  if (SizeOf(entry.launches()) == 0) return at.Bad("no launches");
  if (entry.arena_bytes() > kMaxBytes) {
    return at.Bad("arena of ", entry.arena_bytes(), " bytes");
  }
  std::set<std::string> names;
  for (uint32_t i = 0; i < SizeOf(entry.buffers()); ++i) {
    const Buffer& buffer = *entry.buffers()->Get(i);
    GLM_RETURN_IF_ERROR(ValidateName(at.At("buffers", i, ""), buffer.name()));
    const Place here = at.At("buffers", i, Text(buffer.name()));
    if (!names.insert(Text(buffer.name())).second) {
      return here.Bad("name is used twice");
    }
    GLM_RETURN_IF_ERROR(ValidateBuffer(here, entry, buffer));
  }
  const uint64_t vocab = plan.model()->vocab();
  const auto boundary = [&](const char* name, uint32_t index, DType dtype,
                            uint64_t extent, uint64_t columns, bool input) {
    return ValidateBoundary(at, entry, name, index, dtype, extent, columns,
                            input);
  };
  GLM_RETURN_IF_ERROR(boundary("ids", entry.ids(), DType::I32, rows, 0, true));
  GLM_RETURN_IF_ERROR(
      boundary("seqs", entry.seqs(), DType::I32, entry.sequences(), 4, true));
  GLM_RETURN_IF_ERROR(
      boundary("rows", entry.rows(), DType::I32, entry.logit_rows(), 0, true));
  GLM_RETURN_IF_ERROR(boundary("logits", entry.logits(), DType::F32,
                               entry.logit_rows(), vocab, false));
  if (std::set{entry.ids(), entry.seqs(), entry.rows(), entry.logits()}
          .size() != 4) {
    return at.Bad("ids, seqs, rows and logits are not four buffers");
  }
  GLM_RETURN_IF_ERROR(ValidateLifetimes(at, entry));
  for (uint32_t i = 0; i < SizeOf(entry.launches()); ++i) {
    GLM_RETURN_IF_ERROR(ValidateLaunch(at, plan, entry, i));
  }
  std::multimap<uint32_t, uint32_t> writers;
  GLM_RETURN_IF_ERROR(ValidateLaunches(at, plan, entry, writers));
  GLM_RETURN_IF_ERROR(ValidateGroups(at, plan, entry, writers));
  return ValidateTaps(at, entry);
}

}  // namespace

absl::Status ValidateEntries(const Place& place, const Plan& plan) {
  if (SizeOf(plan.entries()) == 0) return place.Bad("no entries");
  std::set<std::string> names;
  for (uint32_t i = 0; i < SizeOf(plan.entries()); ++i) {
    const Entry& entry = *plan.entries()->Get(i);
    GLM_RETURN_IF_ERROR(ValidateName(place.At("entries", i, ""), entry.name()));
    const Place at = place.At("entries", i, Text(entry.name()));
    if (!names.insert(Text(entry.name())).second) {
      return at.Bad("name is used twice");
    }
    GLM_RETURN_IF_ERROR(ValidateEntry(at, plan, entry));
  }
  return absl::OkStatus();
}

}  // namespace glm::plan
