// Plans that are well-formed, carry a right hash and lie: single numbers of the
// flatbuffer changed, 2,000 times. The reader must refuse them, or what is left
// must be a plan that cannot make a kernel leave its memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>

#include "runtime/executor/describe.h"
#include "runtime/executor/memory_plan.h"
#include "runtime/executor/weight_layout.h"
#include "runtime/plan/plan_reader.h"
#include "runtime/plan/test_ops_plan.h"

namespace glm {
namespace {

// `bytes` with one aligned number of the flatbuffer replaced and the header
// repaired.
std::string Mutated(std::string bytes, std::mt19937& random) {
  const auto below = [&](uint64_t n) { return random() % n; };
  const uint64_t size = bytes.size() - plan::kFlatbufferOffset;
  const size_t width = below(2) == 0 ? 4 : 8;
  const size_t at =
      plan::kFlatbufferOffset + below((size - width) / width) * width;
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, width);
  const uint64_t choices[] = {0,
                              1,
                              2,
                              value + 1,
                              value - 1,
                              value * 2,
                              value ^ (uint64_t{1} << below(8 * width)),
                              2'000'000,
                              ~uint64_t{0},
                              below(64)};
  value = choices[below(std::size(choices))];
  std::memcpy(bytes.data() + at, &value, width);
  const plan::FileHeader header = plan::MakeFileHeader(
      size, bytes.size(),
      XXH3_64bits(bytes.data() + plan::kFlatbufferOffset, size));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

// Written without the validator's arithmetic: the sample's plan names its
// kernels by their sizes, so a launch may only differ from the sample's in ways
// that leave less to touch and no less to touch it in.
void ExpectHarmless(const plan::Plan& plan, const plan::PlanT& sample) {
  // A shorter list is a plan of fewer steps.
  ASSERT_LE(plan.entries()->size(), sample.entries.size());
  for (uint32_t e = 0; e < plan.entries()->size(); ++e) {
    const plan::Entry& entry = *plan.entries()->Get(e);
    const plan::EntryT& was = *sample.entries[e];
    // Kernels touch rows: no more of them than before.
    EXPECT_EQ(entry.sequences() * entry.tokens(), was.sequences * was.tokens);
    // A group's kernel is code for these chains of these launches.
    for (const plan::Group* group :
         entry.groups() ? std::vector<const plan::Group*>(
                              entry.groups()->begin(), entry.groups()->end())
                        : std::vector<const plan::Group*>()) {
      ASSERT_EQ(was.groups.size(), 1u);
      EXPECT_EQ(group->first(), was.groups[0]->first);
      EXPECT_EQ(plan.kernels()->Get(group->kernel())->name()->str(),
                sample.kernels[was.groups[0]->kernel]->name);
      ASSERT_EQ(group->chains()->size(), was.groups[0]->chains.size());
      for (uint32_t c = 0; c < group->chains()->size(); ++c) {
        EXPECT_EQ(std::memcmp(group->chains()->Get(c),
                              &was.groups[0]->chains[c], sizeof(plan::Chain)),
                  0);
      }
    }
    for (const plan::Launch* launch : *entry.launches()) {
      const plan::Kernel& kernel = *plan.kernels()->Get(launch->kernel());
      // The sample's launch of the same kernel, of the same rows.
      const auto same = std::find_if(
          was.launches.begin(), was.launches.end(), [&](const auto& l) {
            const plan::KernelT& k = *sample.kernels[l->kernel];
            return k.name == kernel.name()->str() &&
                   l->args[2].value() == launch->args()->Get(2)->value();
          });
      // A rowwise kernel may be renamed: its program says what it touches.
      if (kernel.program() != nullptr) continue;
      ASSERT_NE(same, was.launches.end()) << kernel.name()->str();
      ASSERT_EQ(launch->args()->size(), (*same)->args.size());
      for (uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(launch->grid()->Get(i), (*same)->grid[i]);
      }
      for (uint32_t i = 0; i < launch->args()->size(); ++i) {
        const plan::Arg& arg = *launch->args()->Get(i);
        const plan::Arg& old = (*same)->args[i];
        ASSERT_EQ(arg.kind(), old.kind()) << kernel.name()->str() << " " << i;
        if (arg.kind() == plan::ArgKind::STATE) {
          EXPECT_EQ(plan.states()->Get(arg.index())->bytes_per_slot(),
                    launch->args()->Get(i + 1)->value());
        }
        if (arg.kind() != plan::ArgKind::BUFFER) continue;
        const plan::Buffer& b = *entry.buffers()->Get(arg.index());
        EXPECT_LE(b.offset() + b.size(), entry.arena_bytes());
        // The sample's results are exactly as large as what is written.
        const plan::BufferT& before = *was.buffers[old.index()];
        if (i + 1 == launch->args()->size()) {
          EXPECT_GE(b.size(), before.size) << kernel.name()->str();
        }
      }
    }
  }
}

// What loading reads, byte by byte at its ends.
void ExpectPiecesInside(const plan::Plan& plan) {
  if (plan.weights() == nullptr) return;
  for (const plan::Weight* weight : *plan.weights()) {
    if (weight->pieces() == nullptr || weight->pieces()->size() == 0) continue;
    for (uint32_t rank = 0; rank < plan.ranks(); ++rank) {
      for (uint32_t i = 0; i < plan::PiecesOfRank(*weight); ++i) {
        const plan::Piece& piece = plan::PieceOf(*weight, rank, i);
        const plan::Cut* cut = plan::CutOf(*weight, i);
        const uint64_t last =
            cut == nullptr
                ? PieceSize(*weight, i)
                : (cut->rows() - 1) * cut->stride() + cut->row_bytes();
        EXPECT_LE(piece.offset() + last,
                  plan.weight_files()->Get(piece.file())->size());
        if (cut == nullptr) continue;
        EXPECT_EQ(cut->rows() * cut->row_bytes(), PieceSize(*weight, i));
      }
    }
  }
}

class PlanMutationTest : public ::testing::TestWithParam<uint32_t> {};

TEST_P(PlanMutationTest, ChangedNumbersAreRefusedOrHarmless) {
  plan::PlanT sample = plan::MakeOpsPlan(GetParam());
  const std::string bytes = plan::PlanFileBytes(sample);
  const std::string path = ::testing::TempDir() + "mutation_test" +
                           std::to_string(GetParam()) + ".glmplan";
  int refused = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    plan::WriteBytes(path, Mutated(bytes, random));
    const auto file = PlanFile::Open(path);
    if (!file.ok()) {
      EXPECT_EQ(file.status().message().substr(0, path.size()), path);
      ++refused;
      continue;
    }
    for (const plan::Entry* entry : *(*file)->plan().entries()) {
      EXPECT_GT(DescribeEntry(*entry).launches, 0u);
    }
    DescribeModel(*(*file)->plan().model());
    const MemoryPlan memory = PlanMemory((*file)->plan(), {.slots = 4096});
    EXPECT_GE(memory.Committed(), memory.states);
    ExpectHarmless((*file)->plan(), sample);
    ExpectPiecesInside((*file)->plan());
  }
  std::filesystem::remove(path);
  EXPECT_GT(refused, 500) << "the mutations miss what is checked";
  EXPECT_LT(refused, 2000) << "nothing got as far as the meaning";
}

INSTANTIATE_TEST_SUITE_P(Ranks, PlanMutationTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace glm
