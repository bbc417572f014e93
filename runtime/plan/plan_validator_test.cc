// Each case breaks one thing of a valid plan and names what the error must say.
#include "runtime/plan/plan_validator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/plan/test_plan.h"

namespace glm {
namespace {

using plan::PlanT;
using ::testing::HasSubstr;

constexpr uint64_t kBegin = 5000, kEnd = 100'000;  // where segments may lie

absl::Status Validate(const PlanT& plan) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::Plan::Pack(builder, &plan), plan::PlanIdentifier());
  return ValidatePlan("p.glmplan", *plan::GetPlan(builder.GetBufferPointer()),
                      kBegin, kEnd);
}

plan::RowInstT Inst(plan::RowOp op, uint32_t a = 0, uint32_t b = 0,
                    std::vector<int64_t> coeff = {}) {
  plan::RowInstT inst;
  inst.op = op;
  inst.a = a;
  inst.b = b;
  inst.coeff = std::move(coeff);
  return inst;
}

plan::Arg BufferArg(uint32_t index) {
  return plan::Arg(0, index, plan::ArgKind::BUFFER);
}

// The toy plan, a code object, and a rowwise kernel that is launched first.
PlanT Sample() {
  PlanT plan = plan::MakeToyPlan();
  plan::CodeObjectT& object = plan::Add(plan.code_objects);
  object.target = "host";
  object.segment = std::make_unique<plan::Segment>(8192, 100, 0);
  plan::KernelT& kernel = plan::Add(plan.kernels);
  kernel.name = "row0";
  kernel.op = "rowwise";
  kernel.threads = 32;
  kernel.program = std::make_unique<plan::RowProgramT>();
  kernel.program->dims = {-1, 16};
  kernel.program->operand_count = 1;
  kernel.program->result_count = 1;
  for (const plan::RowInstT& inst :
       {Inst(plan::RowOp::LOAD, 0, 0, {16, 1}), Inst(plan::RowOp::EXP, 0),
        Inst(plan::RowOp::ADD, 0, 1),
        Inst(plan::RowOp::STORE, 0, 2, {16, 1})}) {
    plan::Add(kernel.program->code) = inst;
  }
  return plan;
}

struct Case {
  const char* name;
  std::function<void(PlanT&)> damage;
  const char* text;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class PlanValidatorTest : public ::testing::TestWithParam<Case> {};

TEST(PlanValidatorSampleTest, SampleIsValid) {
  const absl::Status status = Validate(Sample());
  EXPECT_TRUE(status.ok()) << status;
}

// The runtime takes the sizes of these launches from the vocabulary alone.
TEST(PlanValidatorSampleTest, KernelsThatChooseTokensFitTheVocabulary) {
  PlanT plan = Sample();
  plan::AddSampling(plan);
  EXPECT_TRUE(Validate(plan).ok()) << Validate(plan);
  plan::KernelT& kernel = *plan.kernels.back();
  const auto refused = [&] {
    const absl::Status status = Validate(plan);
    EXPECT_THAT(std::string(status.message()), HasSubstr("SamplePick_8_1"));
    return !status.ok();
  };
  kernel.params = {8, 2};
  EXPECT_TRUE(refused());
  kernel.params = {9, 1};
  EXPECT_TRUE(refused());
  kernel.params = {8};
  EXPECT_TRUE(refused());
  kernel.params = {8, 1};
  kernel.name = "SamplePick_8_2";
  EXPECT_TRUE(refused());
  kernel.name = "SamplePick_8_1";
  kernel.op = "sample_other";
  EXPECT_THAT(std::string(Validate(plan).message()), HasSubstr("sample_other"));
}

TEST(PlanValidatorSampleTest, BuffersMayShareBytesAtDifferentTimes) {
  PlanT plan = Sample();
  plan::EntryT& e = *plan.entries[0];
  plan::BufferT& late = plan::Add(e.buffers);
  late = *e.buffers[3];
  late.name = "late";
  e.buffers[3]->last = 0;  // sums
  late.first = late.last = 1;
  e.launches[1]->args[3] = BufferArg(5);
  const absl::Status status = Validate(plan);
  EXPECT_TRUE(status.ok()) << status;
}

TEST_P(PlanValidatorTest, DamageIsNamed) {
  PlanT plan = Sample();
  GetParam().damage(plan);
  const absl::Status status = Validate(plan);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().text));
  EXPECT_THAT(std::string(status.message()), HasSubstr("p.glmplan: "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("compile it again"));
}

constexpr uint64_t kHuge = uint64_t{1} << 62;

const Case kCases[] = {
    {"no_model", [](PlanT& p) { p.model.reset(); }, "no model"},
    {"no_vocab", [](PlanT& p) { p.model->vocab = 0; }, "vocab 0"},
    {"stop_id", [](PlanT& p) { p.generation->stop_ids = {1, 8}; },
     "stop_ids[1]: id 8"},
    {"top_p_nan", [](PlanT& p) { p.generation->top_p = 0.0f / 0.0f; }, "top_p"},
    {"segment_unaligned",
     [](PlanT& p) {
       *p.code_objects[0]->segment = plan::Segment(8193, 100, 0);
     },
     "code_objects[0]: offset 8193"},
    {"segment_before",
     [](PlanT& p) {
       *p.code_objects[0]->segment = plan::Segment(4096, 100, 0);
     },
     "lie outside"},
    {"segment_wraps",
     [](PlanT& p) {
       *p.code_objects[0]->segment = plan::Segment(8192, ~uint64_t{0}, 0);
     },
     "lie outside"},
    {"segments_overlap",
     [](PlanT& p) { p.source = std::make_unique<plan::Segment>(8192, 1, 0); },
     "overlaps"},
    {"object_without_bytes",
     [](PlanT& p) { p.code_objects[0]->segment.reset(); }, "has no bytes"},
    {"kernel_name", [](PlanT& p) { p.kernels[1]->name = "system(\"rm\")"; },
     "kernels[1]: name is no C identifier"},
    {"kernel_twice", [](PlanT& p) { p.kernels[1]->name = "toy_sum"; },
     "second kernel toy_sum"},
    {"kernel_threads", [](PlanT& p) { p.kernels[0]->threads = 0; },
     "0 threads"},
    {"rowwise_no_program", [](PlanT& p) { p.kernels[2]->program.reset(); },
     "without a program"},
    {"program_forward", [](PlanT& p) { p.kernels[2]->program->code[1]->a = 1; },
     "code[1]: value 1 is not defined"},
    {"program_store_value",
     [](PlanT& p) { p.kernels[2]->program->code[3]->b = 9; },
     "code[3]: value 9"},
    {"program_operand", [](PlanT& p) { p.kernels[2]->program->code[0]->a = 1; },
     "code[0]: tensor 1 of 1"},
    {"program_coeff",
     [](PlanT& p) { p.kernels[2]->program->code[0]->coeff = {1}; },
     "1 coefficients for 2 dims"},
    {"program_dims", [](PlanT& p) { p.kernels[2]->program->dims = {4, 4}; },
     "dims[0]: extent 4"},
    {"weight_shape_wraps", [](PlanT& p) { p.weights[0]->shape = {kHuge, 8}; },
     "too large"},
    {"weight_twice", [](PlanT& p) { p.weights[1]->name = "table"; },
     "used twice"},
    {"piece_file",
     [](PlanT& p) { p.weights[0]->pieces[0] = plan::Piece(0, 32, 1); },
     "pieces[0]: file 1 of 1"},
    {"piece_size",
     [](PlanT& p) { p.weights[0]->pieces[0] = plan::Piece(0, 31, 0); },
     "size 31, the shape [8] needs 32"},
    {"piece_outside",
     [](PlanT& p) { p.weights[0]->pieces[0] = plan::Piece(33, 32, 0); },
     "lie outside toy.bin"},
    {"piece_wraps",
     [](PlanT& p) {
       p.weights[0]->pieces[0] = plan::Piece(~uint64_t{0}, 32, 0);
     },
     "lie outside toy.bin"},
    {"piece_count", [](PlanT& p) { p.weights[1]->pieces.pop_back(); },
     "7 pieces, expected 8"},
    {"group_missing",
     [](PlanT& p) { p.weights[1]->form = plan::WeightForm::EXPERTS_GPTQ4; },
     "group size 0"},
    {"group_of_codes",
     [](PlanT& p) {
       p.weights[0]->form = plan::WeightForm::DENSE_INT8;
       p.weights[0]->shape = {2, 4};
       p.weights[0]->group = 24;
     },
     "group size 24"},
    {"codes_rank",
     [](PlanT& p) {
       p.weights[0]->form = plan::WeightForm::DENSE_GPTQ4;
       p.weights[0]->group = 8;
     },
     "a quantised matrix needs [N, K]"},
    {"codes_pieces",
     [](PlanT& p) {
       p.weights[0]->form = plan::WeightForm::DENSE_INT8;
       p.weights[0]->shape = {2, 4};
       p.weights[0]->group = 16;
     },
     "1 pieces, expected 2"},
    {"codes_size",
     [](PlanT& p) {
       p.weights[0]->form = plan::WeightForm::DENSE_INT8;
       p.weights[0]->shape = {2, 4};
       p.weights[0]->group = 16;
       p.weights[0]->pieces = {plan::Piece(0, 8, 0), plan::Piece(16, 5, 0)};
     },
     "pieces[1]: size 5, the shape [2, 4] needs 4"},
    {"state_bytes", [](PlanT& p) { p.states[0]->shape = {65}; },
     "bytes_per_slot 256"},
    {"state_rows", [](PlanT& p) { p.states[0]->tokens_per_row = 2; },
     "needs 32"},
    {"no_entries", [](PlanT& p) { p.entries.clear(); }, "no entries"},
    {"entry_rows", [](PlanT& p) { p.entries[0]->tokens = 0; }, "0 tokens"},
    {"entry_ids_shape", [](PlanT& p) { p.entries[1]->buffers[0]->shape = {3}; },
     "expected I32 [4]"},
    {"entry_logits_dtype",
     [](PlanT& p) { p.entries[1]->buffers[4]->dtype = plan::DType::I32; },
     "expected F32 [1, 8]"},
    {"inputs_alias", [](PlanT& p) { p.entries[0]->rows = p.entries[0]->ids; },
     "not four buffers"},
    {"input_late", [](PlanT& p) { p.entries[0]->buffers[2]->first = 1; },
     "first alive at launch 1"},
    {"logits_dead", [](PlanT& p) { p.entries[0]->buffers[4]->last = 0; },
     "dead after launch 0"},
    {"buffer_outside_arena",
     [](PlanT& p) { p.entries[0]->buffers[4]->offset = 1280; },
     "lie outside the arena"},
    {"buffer_wraps",
     [](PlanT& p) { p.entries[0]->buffers[4]->offset = ~uint64_t{255}; },
     "lie outside the arena"},
    {"buffer_small", [](PlanT& p) { p.entries[0]->buffers[4]->size = 31; },
     "size 31"},
    {"buffer_lifetime", [](PlanT& p) { p.entries[0]->buffers[3]->last = 2; },
     "lifetime 0..2 of 2"},
    {"buffers_overlap", [](PlanT& p) { p.entries[0]->buffers[4]->offset = 0; },
     "shares bytes with"},
    {"buffers_overlap_from_below",
     [](PlanT& p) { p.entries[0]->buffers[0]->size = 300; },
     "shares bytes with"},
    {"launch_kernel", [](PlanT& p) { p.entries[0]->launches[0]->kernel = 3; },
     "launches[0]: kernel 3 of 3"},
    {"launch_grid", [](PlanT& p) { p.entries[0]->launches[1]->grid[1] = 0; },
     "grid[1]: extent 0"},
    {"launch_grid_product",
     [](PlanT& p) {
       p.entries[0]->launches[1]->grid = {1u << 30, 1u << 30, 1u << 30};
     },
     "grid[1]"},
    {"launch_grid_rank",
     [](PlanT& p) { p.entries[0]->launches[1]->grid = {1}; }, "rank 1"},
    {"args_few", [](PlanT& p) { p.entries[0]->launches[1]->args.resize(2); },
     "2 arguments"},
    {"args_of_program", [](PlanT& p) { p.entries[0]->launches[0]->kernel = 2; },
     "7 arguments, the program takes 5"},
    {"arg_buffer",
     [](PlanT& p) { p.entries[0]->launches[0]->args[3] = BufferArg(5); },
     "args[3]: BUFFER 5 of 5"},
    {"arg_weight",
     [](PlanT& p) {
       p.entries[0]->launches[1]->args[5] =
           plan::Arg(0, 2, plan::ArgKind::WEIGHT);
     },
     "WEIGHT 2 of 2"},
    {"arg_state",
     [](PlanT& p) {
       p.entries[0]->launches[0]->args[4] =
           plan::Arg(0, 1, plan::ArgKind::STATE);
     },
     "STATE 1 of 1"},
    {"arg_kind",
     [](PlanT& p) {
       p.entries[0]->launches[0]->args[4] =
           plan::Arg(0, 0, static_cast<plan::ArgKind>(9));
     },
     "unknown kind 9"},
    {"arg_dead", [](PlanT& p) { p.entries[0]->buffers[3]->last = 0; },
     "lives from launch 0 to 0"},
    {"tap_buffer", [](PlanT& p) { p.entries[0]->taps[0]->buffer = 5; },
     "taps[0] sums: buffer 5"},
    {"tap_after", [](PlanT& p) { p.entries[0]->taps[0]->after = 2; },
     "after launch 2"},
};

INSTANTIATE_TEST_SUITE_P(Damage, PlanValidatorTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace glm
