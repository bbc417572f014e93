// The kernels of the tests as device code: one code object for all of them.

#include "glm/copy_rows.h"
#include "glm/delta_rule.h"
#include "glm/delta_rule_chunk.h"
#include "glm/expert_linear.h"
#include "glm/find_rows.h"
#include "glm/index_scores.h"
#include "glm/kpool.h"
#include "glm/latent_append.h"
#include "glm/linear.h"
#include "glm/phases.h"
#include "glm/rows.h"
#include "glm/sample.h"
#include "glm/short_conv.h"
#include "glm/sinkhorn.h"
#include "glm/sparse_attention.h"
#include "glm/top_k.h"

// No kernel has more than 16 arguments, but for groups.
#define KERNEL(name, Body, ...) \
  GLM_KERNEL(name, 256, 16, glm::kernel::Body<__VA_ARGS__>)
#define ROWWISE_KERNEL(name, body) GLM_ROWWISE(name, 256, 16, body)
#define GROUP_KERNEL(name, body, words) GLM_KERNEL(name, 256, words, body)

namespace glm {
namespace {

using kernel::BF16;
using kernel::F16;
using kernel::F32;

#include "test/kernels/delta_rule_kernels.inc"
#include "test/kernels/dense_kernels.inc"
#include "test/kernels/group_kernels.inc"
#include "test/kernels/paging_kernels.inc"
#include "test/kernels/row_kernels.inc"
#include "test/kernels/sample_kernels.inc"
#include "test/kernels/sequence_kernels.inc"
#include "test/kernels/top_k_kernels.inc"

}  // namespace
}  // namespace glm
