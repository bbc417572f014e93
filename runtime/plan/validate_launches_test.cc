// A plan that launches every op, with one number changed: the launch, the
// argument and both numbers must be in the error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "runtime/plan/plan_validator.h"
#include "runtime/plan/test_ops_plan.h"

namespace glm {
namespace {

using plan::Arg;
using plan::ArgKind;
using plan::LaunchT;
using plan::PlanT;
using ::testing::HasSubstr;

absl::Status Validate(const PlanT& plan) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::Plan::Pack(builder, &plan), plan::PlanIdentifier());
  return ValidatePlan("p.glmplan", *plan::GetPlan(builder.GetBufferPointer()),
                      5000, 100'000);
}

// The first launch of `op` in prefill_n12; `skip` passes over that many.
LaunchT& Of(PlanT& plan, const std::string& op, int skip = 0) {
  for (auto& launch : plan.entries[1]->launches) {
    if (plan.kernels[launch->kernel]->op == op && skip-- == 0) return *launch;
  }
  ADD_FAILURE() << "no launch of " << op;
  return *plan.entries[1]->launches[0];
}

void SetScalar(LaunchT& launch, int arg, uint64_t value) {
  launch.args[arg] = Arg(value, 0, ArgKind::SCALAR);
}
void SetBuffer(LaunchT& launch, int arg, uint32_t buffer) {
  launch.args[arg] = Arg(0, buffer, ArgKind::BUFFER);
}

// Another value of a parameter, in the kernel's name too.
void SetParam(PlanT& plan, const std::string& op, int param, int64_t value) {
  plan::KernelT& kernel = *plan.kernels[Of(plan, op).kernel];
  kernel.params[param] = value;
  kernel.name = kernel.name.substr(0, kernel.name.find('_'));
  for (const int64_t p : kernel.params) kernel.name += "_" + std::to_string(p);
}

struct Case {
  const char* name;
  std::function<void(PlanT&)> damage;
  const char* text;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class LaunchValidatorTest : public ::testing::TestWithParam<Case> {};

TEST(LaunchValidatorSampleTest, EveryOpIsValid) {
  const absl::Status status = Validate(plan::MakeOpsPlan());
  EXPECT_TRUE(status.ok()) << status;
}

TEST(LaunchValidatorSampleTest, EveryOpOfRanksIsValid) {
  const absl::Status status = Validate(plan::MakeOpsPlan(2));
  EXPECT_TRUE(status.ok()) << status;
}

class RanksValidatorTest : public ::testing::TestWithParam<Case> {};

TEST_P(RanksValidatorTest, DamageIsNamed) {
  PlanT plan = plan::MakeOpsPlan(2);
  GetParam().damage(plan);
  const absl::Status status = Validate(plan);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(status.message(), HasSubstr(GetParam().text));
}

plan::WeightT& Named(PlanT& plan, const std::string& name) {
  for (auto& weight : plan.weights) {
    if (weight->name == name) return *weight;
  }
  ADD_FAILURE() << "no weight " << name;
  return *plan.weights[0];
}

INSTANTIATE_TEST_SUITE_P(
    Ranks, RanksValidatorTest,
    ::testing::Values(
        Case{"no_ranks", [](PlanT& p) { p.ranks = 0; },
             "ranks: 0, expected 1 to 64"},
        Case{"many_ranks", [](PlanT& p) { p.ranks = 65; },
             "ranks: 65, expected 1 to 64"},
        Case{"one_rank", [](PlanT& p) { p.ranks = 1; }, "expected 2"},
        Case{"sum_of_one_rank",
             [](PlanT& p) {
               p.ranks = 1;
               Named(p, "cut").pieces.resize(2);
               Named(p, "rows").pieces.resize(2);
             },
             "a sum over ranks in a plan of one"},
        Case{"other_ranks",
             [](PlanT& p) {
               p.ranks = 3;
               Named(p, "cut").pieces.resize(2);
               Named(p, "rows").pieces.resize(2);
             },
             "the parts of 2 ranks, the plan has 3"},
        Case{"pieces_of_some_ranks",
             [](PlanT& p) { Named(p, "rows").pieces.resize(3); },
             "3 pieces, expected 2 of all or of each of 2 ranks"},
        Case{"cuts_without_pieces",
             [](PlanT& p) { Named(p, "cut").pieces.clear(); },
             "2 cuts with 0 pieces"},
        Case{"one_cut", [](PlanT& p) { Named(p, "cut").cuts.resize(1); },
             "1 cuts with 4 pieces, expected 2"},
        Case{"cut_of_other_size",
             [](PlanT& p) { Named(p, "cut").cuts[0] = plan::Cut(4, 31, 64); },
             "4 rows of 31 bytes"},
        Case{"no_rows",
             [](PlanT& p) { Named(p, "cut").cuts[0] = plan::Cut(0, 32, 64); },
             "0 rows of 32 bytes"},
        Case{"overlap",
             [](PlanT& p) { Named(p, "cut").cuts[1] = plan::Cut(4, 4, 3); },
             "at a stride of 3"},
        Case{"far",
             [](PlanT& p) {
               Named(p, "cut").cuts[1] = plan::Cut(4, 4, ~uint64_t{0});
             },
             "a stride of 18446744073709551615"},
        Case{"span",
             [](PlanT& p) {
               Named(p, "cut").pieces[2] = plan::Piece(132, 128, 0);
             },
             "size 128"},
        Case{"outside",
             [](PlanT& p) {
               Named(p, "cut").pieces[3] = plan::Piece(405, 28, 0);
             },
             "bytes 405 + 28 lie outside"},
        Case{"short_sum",
             [](PlanT& p) {
               LaunchT& reduce = Of(p, "all_reduce");
               SetBuffer(reduce, 4, p.entries[1]->logits);
             },
             "AllReduce_0_6: args[4]"},
        Case{"sum_of_integers",
             [](PlanT& p) { SetParam(p, "all_reduce", 0, 3); },
             "a sum of dtype 3"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(RanksValidatorGroupTest, CollectivesAreInNoGroup) {
  PlanT plan = plan::MakeOpsPlan(2);
  plan::EntryT& entry = *plan.entries[1];
  for (uint32_t i = 0; i < entry.launches.size(); ++i) {
    if (plan.kernels[entry.launches[i]->kernel]->op == "all_reduce") {
      entry.groups[0]->first = i;
      entry.groups[0]->chains = {plan::Chain(1, 0, 1, 1)};
    }
  }
  EXPECT_THAT(Validate(plan).message(), HasSubstr("is a collective"));
}

TEST_P(LaunchValidatorTest, DamageIsNamed) {
  PlanT plan = plan::MakeOpsPlan();
  GetParam().damage(plan);
  const absl::Status status = Validate(plan);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().text));
}

const Case kCases[] = {
    {"grid_large", [](PlanT& p) { Of(p, "embed").grid[0] = 2'000'000; },
     "grid 2000000 x 1 x 1, the kernel needs 12 x 1 x 1"},
    {"grid_small", [](PlanT& p) { Of(p, "rowwise").grid[0] = 23; },
     "the kernel needs 24"},
    {"grid_turned",
     [](PlanT& p) { Of(p, "sparse_attention").grid = {12, 1, 1}; },
     "the kernel needs 1 x 12 x 1"},
    {"seqs_other", [](PlanT& p) { SetBuffer(Of(p, "linear"), 0, 0); },
     "args[0]: is neither the step's seqs nor 0"},
    {"seqs_address", [](PlanT& p) { SetScalar(Of(p, "linear"), 0, 4096); },
     "args[0]: is neither"},
    {"seqs_needed", [](PlanT& p) { SetScalar(Of(p, "kpool"), 0, 0); },
     "the kernel needs seqs"},
    {"tokens", [](PlanT& p) { SetScalar(Of(p, "linear"), 1, 13); },
     "args[1]: is 13, expected 12"},
    {"rows", [](PlanT& p) { SetScalar(Of(p, "linear"), 2, 13); },
     "args[2]: 13 rows, the step has 12"},
    {"head_rows_with_seqs", [](PlanT& p) { SetScalar(Of(p, "linear"), 2, 2); },
     "args[2]: 2 rows"},
    {"sequences", [](PlanT& p) { SetScalar(Of(p, "short_conv"), 3, 2); },
     "args[3]: is 2, expected 1 (sequences)"},
    {"state_to_buffer", [](PlanT& p) { SetBuffer(Of(p, "short_conv"), 6, 3); },
     "args[6]: is a BUFFER, expected a STATE"},
    {"state_to_scalar",
     [](PlanT& p) { SetScalar(Of(p, "delta_rule"), 9, 4096); },
     "args[9]: is a SCALAR, expected a STATE"},
    {"state_stride", [](PlanT& p) { SetScalar(Of(p, "short_conv"), 7, 512); },
     "args[7]: is 512, expected 256"},
    {"state_other",
     [](PlanT& p) {
       Of(p, "delta_rule").args[9] = Of(p, "short_conv").args[6];
       p.states[0]->shape = {6, 2};
     },
     "the kernel touches 18"},
    {"state_dtype", [](PlanT& p) { p.states[2]->dtype = plan::DType::F16; },
     "holds F16, the kernel takes BF16"},
    {"state_small", [](PlanT& p) { p.states[2]->shape = {15, 6}; },
     "the kernel touches 96"},
    {"context", [](PlanT& p) { p.model->max_context = 17; },
     "the kernel touches 102"},
    {"weight_to_buffer", [](PlanT& p) { SetBuffer(Of(p, "linear"), 4, 3); },
     "args[4]: is a BUFFER, expected a WEIGHT"},
    {"weight_small",
     [](PlanT& p) { Of(p, "linear").args[4] = Of(p, "embed").args[4]; },
     "args[4]: holds 48 elements in [8, 6], the kernel touches 420"},
    {"weight_dtype",
     [](PlanT& p) {
       p.weights[Of(p, "linear").args[4].index()]->dtype = plan::DType::F32;
     },
     "holds F32, the kernel takes BF16"},
    {"head_weight_reach",
     [](PlanT& p) {
       p.weights[Of(p, "head_linear").args[4].index()]->shape = {29};
     },
     "the kernel touches 30"},
    {"experts_shape",
     [](PlanT& p) {
       p.weights[Of(p, "expert_linear").args[5].index()]->shape[0] = 4;
     },
     "is [4, 7, 6], the kernel takes [5, 7, 6]"},
    {"experts_dense",
     [](PlanT& p) { Of(p, "expert_linear").args[5] = Of(p, "linear").args[4]; },
     "is DENSE"},
    {"matrix_experts",
     [](PlanT& p) { Of(p, "linear").args[4] = Of(p, "expert_linear").args[5]; },
     "is a table of experts"},
    {"experts_group",
     [](PlanT& p) {
       auto& w = *p.weights[Of(p, "expert_linear").args[5].index()];
       w.form = plan::WeightForm::EXPERTS_GPTQ4;
       w.group = 2;
     },
     "is EXPERTS_GPTQ4, the kernel takes form 1"},
    {"int4_is_int8",
     [](PlanT& p) { Of(p, "linear", 1).args[4] = Of(p, "linear", 2).args[4]; },
     "args[4]: is DENSE_INT8, the kernel takes form 3"},
    {"codes_are_elements",
     [](PlanT& p) { Of(p, "linear", 1).args[4] = Of(p, "linear").args[4]; },
     "args[4]: is DENSE, the kernel takes form 3"},
    {"codes_are_experts",
     [](PlanT& p) {
       auto& w = *p.weights[Of(p, "linear", 1).args[4].index()];
       w.form = plan::WeightForm::EXPERTS_GPTQ4;
       w.shape = {1, 9, 6};
     },
     "args[4]: is EXPERTS_GPTQ4, the kernel takes form 3"},
    {"experts_are_codes",
     [](PlanT& p) {
       Of(p, "expert_linear").args[5] = Of(p, "linear", 1).args[4];
     },
     "args[5]: is DENSE_GPTQ4, the kernel takes form 1"},
    {"elements_are_codes",
     [](PlanT& p) { Of(p, "linear").args[4] = Of(p, "linear", 1).args[4]; },
     "args[4]: is a matrix of codes"},
    {"codes_shape",
     [](PlanT& p) {
       p.weights[Of(p, "linear", 2).args[4].index()]->shape[1] = 5;
     },
     "is [9, 5], the kernel takes [9, 6]"},
    {"codes_group",
     [](PlanT& p) {
       p.weights[Of(p, "linear", 2).args[4].index()]->group = 32;
     },
     "has groups of 32, the kernel's are of 16"},
    {"buffer_dtype", [](PlanT& p) { SetBuffer(Of(p, "linear"), 3, 0); },
     "args[3]: holds I32, the kernel takes F32"},
    {"buffer_small", [](PlanT& p) { SetBuffer(Of(p, "linear"), 5, 3); },
     "args[5]: holds 72 elements in [12, 6], the kernel touches 840"},
    {"columns_top_k", [](PlanT& p) { SetScalar(Of(p, "top_k"), 4, 71); },
     "the kernel touches 852"},
    {"columns_take_cols",
     [](PlanT& p) { SetScalar(Of(p, "take_cols"), 4, 69); },
     "ids below 70, the kernel takes 24 below 69"},
    {"columns_scores", [](PlanT& p) { SetScalar(Of(p, "index_scores"), 9, 3); },
     "3 columns, a full context has 4 pools"},
    {"columns_many",
     [](PlanT& p) { SetScalar(Of(p, "top_k"), 4, (uint64_t{1} << 30) + 1); },
     "1073741825 columns, at most 1073741824"},
    {"columns_wrap",
     [](PlanT& p) { SetScalar(Of(p, "take_cols"), 4, uint64_t{1} << 62); },
     "the kernel touches 18446744073709551615"},
    {"ids_from_elsewhere",
     [](PlanT& p) { SetBuffer(Of(p, "take_cols"), 5, 0); },
     "args[5]: holds 12 elements"},
    {"pools_from_experts",
     [](PlanT& p) {
       Of(p, "sparse_attention").args[6] = Of(p, "take_cols").args[5];
     },
     "args[6]: holds 24 elements"},
    {"rows_from_ids", [](PlanT& p) { SetBuffer(Of(p, "gather_rows"), 4, 0); },
     "args[4]: is not the step's rows"},
    {"seqs_written", [](PlanT& p) { SetBuffer(Of(p, "top_k"), 5, 1); },
     "is an input of the step, the kernel writes it"},
    {"rowwise_coeff",
     [](PlanT& p) {
       p.kernels[Of(p, "rowwise").kernel]->program->code[0]->coeff[0] = 7;
     },
     "args[3]: holds"},
    {"rowwise_below",
     [](PlanT& p) {
       p.kernels[Of(p, "rowwise").kernel]->program->code[3]->offset = -1;
     },
     "args[5]: an access leaves the tensor"},
    {"rowwise_wraps",
     [](PlanT& p) {
       p.kernels[Of(p, "rowwise").kernel]->program->code[3]->coeff[0] =
           int64_t{1} << 62;
     },
     "an access leaves the tensor"},
    {"rowwise_offset",
     [](PlanT& p) {
       p.kernels[Of(p, "rowwise").kernel]->program->code[1]->offset = 2;
     },
     "args[4]: holds 7 elements in [7], the kernel touches 8"},
    {"rowwise_dtype",
     [](PlanT& p) {
       p.kernels[Of(p, "rowwise").kernel]->program->code[1]->dtype =
           plan::DType::F32;
     },
     "holds BF16, the kernel takes F32"},
    {"params", [](PlanT& p) { p.kernels[0]->params[2] = 5; },
     "the name does not match op embed and params, expected Embed_1_0_5_8"},
    {"op_unknown", [](PlanT& p) { p.kernels[0]->op = "free"; },
     "the name is not one of op free"},
    {"op_other", [](PlanT& p) { p.kernels[0]->op = "linear"; },
     "the name is not one of op linear"},
    {"parts_undivided", [](PlanT& p) { SetParam(p, "linear_parts", 5, 4); },
     "args[3]: 6 columns in 1 stretches of 4 parts"},
    {"parts_outer", [](PlanT& p) { SetParam(p, "linear_parts", 4, 3); },
     "args[3]: 6 columns in 3 stretches of 3 parts"},
    {"parts_none", [](PlanT& p) { SetParam(p, "linear_parts", 5, 0); },
     "args[3]: 6 columns in 1 stretches of 0 parts"},
    {"parts_grid", [](PlanT& p) { Of(p, "linear_parts").grid[0] = 2; },
     "the kernel needs 3 x 1 x 1"},
    {"parts_read_by_sums",
     [](PlanT& p) { SetBuffer(Of(p, "sum_parts"), 3, 3); },
     "args[3]: holds 72 elements in [12, 6], the kernel touches 180"},
    {"sums_grid", [](PlanT& p) { Of(p, "sum_parts").grid[0] = 3; },
     "the kernel needs 12 x 1 x 1"},
    {"attention_parts_none",
     [](PlanT& p) { SetParam(p, "attention_parts", 6, 0); },
     "args[6]: 3 pools in 0 parts"},
    {"attention_parts_many",
     [](PlanT& p) { SetParam(p, "attention_parts", 6, 4); },
     "args[6]: 3 pools in 4 parts"},
    {"attention_parts_grid",
     [](PlanT& p) { Of(p, "attention_parts").grid = {2, 2, 12}; },
     "the kernel needs 2 x 1 x 12"},
    {"attention_parts_pools",
     [](PlanT& p) {
       Of(p, "attention_parts").args[6] = Of(p, "take_cols").args[5];
     },
     "args[6]: holds 24 elements"},
    {"attention_parts_stats",
     [](PlanT& p) { SetBuffer(Of(p, "attention_parts"), 9, 3); },
     "args[9]: holds 72 elements in [12, 6], the kernel touches 96"},
    {"merge_columns_uneven", [](PlanT& p) { SetParam(p, "merge_parts", 4, 3); },
     "args[5]: 3 blocks for 2 heads"},
    {"merge_columns_none", [](PlanT& p) { SetParam(p, "merge_parts", 4, 0); },
     "args[5]: 0 blocks for 2 heads"},
    {"merge_parts_many", [](PlanT& p) { SetParam(p, "merge_parts", 3, 3); },
     "args[3]: holds 48 elements in [2, 2, 2, 6], the kernel touches 72"},
    {"merge_grid", [](PlanT& p) { Of(p, "merge_parts").grid = {2, 12, 1}; },
     "the kernel needs 1 x 12 x 1"},
    {"conv_columns_many", [](PlanT& p) { SetParam(p, "short_conv", 5, 7); },
     "args[4]: 7 blocks for 6 channels"},
    {"conv_columns_none", [](PlanT& p) { SetParam(p, "short_conv", 5, 0); },
     "args[4]: 0 blocks for 6 channels"},
    {"args_count", [](PlanT& p) { Of(p, "sinkhorn").args.pop_back(); },
     "5 arguments, expected 6"},
    {"math", [](PlanT& p) { p.math.clear(); }, "math: \"\", expected fp32"},
    {"fuse", [](PlanT& p) { p.fuse = "maybe"; }, "fuse: \"maybe\""},
    {"tap_rows",
     [](PlanT& p) { p.entries[1]->taps[0]->buffer = p.entries[1]->logits; },
     "of 12 rows"},
    {"states_total",
     [](PlanT& p) {
       for (int i = 0; i < 2; ++i)
         p.states[i]->bytes_per_slot = plan::kMaxBytes;
     },
     "the states up to here exceed"},
    {"weights_total",
     [](PlanT& p) {
       for (int i = 0; i < 2; ++i) p.weights[i]->shape = {plan::kMaxBytes / 4};
     },
     "the weights up to here exceed"},
    // Paged experts: two layers of one weight, paged0 and paged1.
    {"rows_weight_index", [](PlanT& p) { p.expert_rows[1]->weights = {99}; },
     "expert_rows[1]: weight 99 of"},
    {"rows_weight_form", [](PlanT& p) { p.expert_rows[1]->weights = {0}; },
     "expert_rows[1]: table is DENSE, no table of experts"},
    {"rows_weight_twice",
     [](PlanT& p) { p.expert_rows[1]->weights = p.expert_rows[0]->weights; },
     "paged0 is used twice"},
    {"rows_shape",
     [](PlanT& p) {
       p.weights[p.expert_rows[1]->weights[0]]->shape = {5, 7, 8};
     },
     "paged1 is not as paged0 of the first layer"},
    {"rows_dtype",
     [](PlanT& p) {
       p.weights[p.expert_rows[1]->weights[0]]->dtype = plan::DType::F16;
     },
     "paged1 is not as paged0"},
    {"rows_mixed_pieces",
     [](PlanT& p) {
       p.expert_rows.resize(1);
       p.expert_rows[0]->weights.push_back(
           static_cast<uint32_t>(p.weights.size()));
       plan::WeightT& coded = plan::Add(p.weights);
       coded = *p.weights[p.expert_rows[0]->weights[0]];
       coded.name = "coded";
       coded.form = plan::WeightForm::EXPERTS_GPTQ4;
       coded.group = 8;
     },
     "coded has other experts or other pieces than paged0"},
    {"rows_experts",
     [](PlanT& p) {
       for (auto& rows : p.expert_rows) {
         p.weights[rows->weights[0]]->shape = {1025, 7, 6};
       }
     },
     "paged0 has 1025 experts, at most 1024"},
    {"rows_none", [](PlanT& p) { p.expert_rows[0]->weights = {}; },
     "expert_rows[0]: 0 weights, expected 1 to 4"},
    {"rows_other_count",
     [](PlanT& p) { p.expert_rows[1]->weights.push_back(0); },
     "expert_rows[1]: 2 weights"},
    {"rows_layers", [](PlanT& p) { p.model->layers = 1; },
     "2 layers, the model has 1"},
    {"pager_without_rows", [](PlanT& p) { p.expert_rows.clear(); },
     "is a PAGER, no experts are paged"},
    {"pager_is_none", [](PlanT& p) { SetScalar(Of(p, "find_rows"), 4, 4096); },
     "args[4]: is a SCALAR, expected a PAGER"},
    {"pager_for_a_buffer",
     [](PlanT& p) { Of(p, "find_rows").args[7] = Arg(0, 0, ArgKind::PAGER); },
     "args[7]: is a PAGER, expected a BUFFER"},
    {"pager_experts", [](PlanT& p) { SetParam(p, "find_rows", 0, 6); },
     "args[4]: has 5 experts a layer, the kernel's are 6"},
    {"find_layer", [](PlanT& p) { SetScalar(Of(p, "find_rows", 1), 5, 2); },
     "args[5]: is layer 2 of 2"},
    {"find_layer_again",
     [](PlanT& p) { SetScalar(Of(p, "find_rows", 1), 5, 0); },
     "args[5]: is layer 0 after layer 0, layers rise in a step"},
    {"find_begins_late", [](PlanT& p) { SetScalar(Of(p, "find_rows"), 5, 1); },
     "args[5]: is layer 1, the first is layer 0"},
    {"find_of_another_model", [](PlanT& p) { p.model->experts_per_token = 3; },
     "args[3]: are the choices of 2 experts a token, the model's 3"},
    {"copy_of_fewer_choices", [](PlanT& p) { SetParam(p, "copy_rows", 1, 1); },
     "args[3]: holds moves of "},
    {"copy_of_other_rows", [](PlanT& p) { SetParam(p, "copy_rows", 2, 2); },
     "is of rows of 2 weights, the plan's have 1"},
    {"copy_over_its_moves",
     [](PlanT& p) { Of(p, "copy_rows").args[5] = Of(p, "find_rows").args[7]; },
     "args[5]: holds no arrivals that find_rows left"},
    {"find_grid", [](PlanT& p) { Of(p, "find_rows").grid[0] = 2; },
     "the kernel needs 1 x 1 x 1"},
    {"find_same_outputs",
     [](PlanT& p) {
       LaunchT& launch = Of(p, "find_rows");
       launch.args[7] = launch.args[6];
     },
     "args[7]: is the buffer of another argument"},
    {"find_moves_small",
     [](PlanT& p) {
       const uint32_t moves = Of(p, "find_rows").args[7].index();
       p.entries[1]->buffers[moves]->shape = {10};
     },
     "args[7]: holds 10 elements in [10], the kernel touches 11"},
    {"copy_grid", [](PlanT& p) { Of(p, "copy_rows").grid[0] = 63; },
     "the kernel needs 64 x 1 x 1"},
    {"copy_other_moves",
     [](PlanT& p) { Of(p, "copy_rows").args[3] = Of(p, "find_rows").args[6]; },
     "args[3]: holds no moves that find_rows left"},
    {"copy_moves_of_before",
     [](PlanT& p) {
       Of(p, "copy_rows", 1).args[3] = Of(p, "find_rows").args[7];
     },
     "args[3]: holds no moves that find_rows left"},
    {"copy_twice",
     [](PlanT& p) {
       Of(p, "copy_rows", 1).args[5] = Of(p, "find_rows").args[8];
     },
     "args[5]: holds no arrivals that find_rows left"},
    {"product_of_choices",
     [](PlanT& p) {
       Of(p, "paged_expert_linear").args[4] = Of(p, "find_rows").args[3];
     },
     "args[4]: holds no ids that find_rows left for layer 0"},
    {"product_of_other_counts",
     [](PlanT& p) {
       Of(p, "paged_expert_linear").args[7] = Of(p, "find_rows").args[6];
     },
     "args[7]: holds no arrivals that copy_rows counted for layer 0"},
    {"product_of_more_weights",
     [](PlanT& p) { SetScalar(Of(p, "paged_expert_linear"), 8, 2); },
     "args[8]: "},
    {"product_of_another_weight",
     [](PlanT& p) { SetScalar(Of(p, "paged_expert_linear"), 9, 1); },
     "args[9]: says weight 1 of a row, which is not argument 5"},
    {"product_of_rows_that_left",
     [](PlanT& p) {
       LaunchT& late = Of(p, "paged_expert_linear", 1);
       late = Of(p, "paged_expert_linear");
     },
     "args[4]: holds no ids that find_rows left for layer 0"},
    {"product_of_another_layer",
     [](PlanT& p) {
       Of(p, "paged_expert_linear", 1).args[5] =
           Of(p, "paged_expert_linear").args[5];
     },
     "args[4]: holds no ids that find_rows left for layer 0"},
    {"product_of_a_resident_weight",
     [](PlanT& p) {
       Of(p, "paged_expert_linear").args[5] = Of(p, "expert_linear").args[5];
     },
     "args[5]: is no weight of paged experts"},
    {"paged_weight_elsewhere",
     [](PlanT& p) {
       Of(p, "linear").args[4] = Of(p, "paged_expert_linear").args[5];
     },
     "args[4]: is a weight of paged experts"},
};

INSTANTIATE_TEST_SUITE_P(Damage, LaunchValidatorTest,
                         ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace glm
