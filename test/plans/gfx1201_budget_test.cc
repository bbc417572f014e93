// Registers and memory of a plan's kernels for gfx1201, as the notes of its
// code object state them. Nothing may spill: a spill is a load and a store of
// memory in the innermost loop. Argument: the plan. Needs llvm-readelf-22.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "runtime/executor/describe.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/plan_reader.h"
#include "test/plans/gfx1201_code.h"
#include "test/plans/plan_argument.h"

namespace glm {
namespace {

using Notes = std::map<std::string, std::string>;  // of one kernel

// Notes by kernel.
std::map<std::string, Notes> ReadNotes(const PlanFile& plan) {
  std::istringstream lines(
      ToolOnGfx1201Code(plan, "LLVM_READELF", "llvm-readelf-22", "--notes"));
  std::map<std::string, Notes> kernels;
  Notes notes;
  char key[128], value[256];
  for (std::string line; std::getline(lines, line);) {
    // "    .vgpr_count:     24"; a kernel's notes end with its wave size.
    const size_t dot = line.find('.');
    if (dot == line.npos ||
        std::sscanf(&line[dot], ".%127[a-z_]: %255s", key, value) != 2) {
      continue;
    }
    notes[key] = value;
    if (std::string_view(key) == "wavefront_size") {
      std::string name = notes["symbol"];
      name.resize(name.size() - std::min<size_t>(3, name.size()));  // .kd
      kernels[name] = std::move(notes);
      notes.clear();
    }
  }
  return kernels;
}

// Blocks of 256 work-items that a gfx1201 of 64 compute units holds at once.
uint64_t ResidentBlocks(int registers, int shared_bytes) {
  constexpr int kUnits = 64, kSimds = 2, kRegisters = 1536, kGranule = 24;
  constexpr int kWaves = 16, kBlockWaves = 8, kSharedBytes = 64 * 1024;
  const int each = (registers + kGranule - 1) / kGranule * kGranule;
  const int waves = std::min(kWaves, kRegisters / std::max(each, 1));
  int blocks = kSimds * waves / kBlockWaves;
  if (shared_bytes > 0) blocks = std::min(blocks, kSharedBytes / shared_bytes);
  return uint64_t{kUnits} * blocks;
}

TEST(Gfx1201Budget, KernelsStayWithinTheirRegisters) {
  auto plan = PlanFile::Open(plan_path);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::map<std::string, Notes> kernels = ReadNotes(**plan);
  // Kernels of launches inside groups only are part of the groups' kernels.
  std::set<uint32_t> launched;
  std::map<uint32_t, uint64_t> waiting;  // the most blocks of a group
  for (const plan::Entry* entry : *(*plan)->plan().entries()) {
    for (const OperationRange& range : OperationRanges(*entry)) {
      if (range.group == nullptr) {
        launched.insert(entry->launches()->Get(range.first)->kernel());
        continue;
      }
      launched.insert(range.group->kernel());
      uint64_t blocks = 0;
      for (const plan::Chain* chain : *range.group->chains()) {
        if (chain->phase() > 0) blocks += chain->rows() * chain->columns();
      }
      uint64_t& most = waiting[range.group->kernel()];
      most = std::max(most, blocks);
    }
  }
  // No entry launches the kernels that sample; the executor does.
  const auto& listed = *(*plan)->plan().kernels();
  for (uint32_t i = 0; i < listed.size(); ++i) {
    if (listed[i]->op()->string_view().starts_with("sample_")) {
      launched.insert(i);
    }
  }
  ASSERT_EQ(kernels.size(), launched.size());

  for (const uint32_t index : launched) {
    const plan::Kernel* kernel = (*plan)->plan().kernels()->Get(index);
    const std::string name = kernel->name()->str();
    Notes& notes = kernels[name];
    const auto number = [&](const char* key) {
      EXPECT_TRUE(notes.contains(key)) << name << " lacks " << key;
      return std::atoi(notes[key].c_str());
    };
    EXPECT_EQ(number("private_segment_fixed_size"), 0) << name;
    EXPECT_EQ(number("vgpr_spill_count"), 0) << name;
    // A group has many arguments: what scalar registers cannot hold goes to
    // lanes of vector registers, and to no memory, as the first line says.
    const bool group = kernel->op()->string_view() == "group";
    if (!group) EXPECT_EQ(number("sgpr_spill_count"), 0) << name;
    EXPECT_EQ(number("max_flat_workgroup_size"), int(kernel->threads()))
        << name;
    EXPECT_EQ(number("wavefront_size"), 32) << name;
    // 48 KiB: the limit of static shared memory on sm_90, whose source is the
    // same.
    EXPECT_LE(number("group_segment_fixed_size"), 48 * 1024) << name;
    // 1536 registers a lane and SIMD: 96 let 16 waves in, 160 let 9, 192 let 8.
    const bool rowwise = kernel->op()->string_view() == "rowwise";
    // Eight rows and their codes are a tile's worth of registers too.
    const bool coded = kernel->op()->string_view() == "linear" &&
                       kernel->params()->size() == 7;
    const bool tile = coded || name.find("Tile") != std::string::npos;
    // Its shared memory lets 4 waves of a SIMD in, its registers as many.
    const bool chunk = name.starts_with("DeltaRuleChunk");
    EXPECT_LE(number("vgpr_count"), rowwise         ? 96
                                    : group || tile ? 192
                                    : chunk         ? 256
                                                    : 160)
        << name;
    // The blocks that wait leave room for one that they wait for.
    EXPECT_LT(waiting[index],
              ResidentBlocks(number("vgpr_count"),
                             number("group_segment_fixed_size")))
        << name;
  }
}

}  // namespace
}  // namespace glm
