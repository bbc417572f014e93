// Rowwise launches: the addresses of a program over its whole space.
#include <algorithm>
#include <vector>

#include "runtime/plan/launch_check.h"

namespace glm::plan {
namespace {

__extension__ using Wide = __int128;  // int64 times uint32, summed over a rank

}  // namespace

void CheckRowwise(LaunchCheck& launch) {
  const RowProgram& program = *launch.kernel().program();
  const auto& dims = *program.dims();
  uint64_t blocks = launch.rows();
  for (uint32_t d = 1; d + 1 < dims.size(); ++d) {
    blocks = Product({blocks, static_cast<uint64_t>(dims[d])});
  }
  launch.Grid(Product({blocks, program.tiles()}) / program.together());
  for (const RowInst* inst : *program.code()) {
    const bool store = inst->op() == RowOp::STORE;
    if (!store && inst->op() != RowOp::LOAD) continue;
    Wide low = inst->offset(), high = low;
    for (uint32_t d = 0; d < dims.size(); ++d) {
      const uint64_t extent =
          d == 0 ? launch.rows() : static_cast<uint64_t>(dims[d]);
      const Wide reach = Wide{inst->coeff()->Get(d)} * Wide(extent - 1);
      low += std::min<Wide>(reach, 0);
      high += std::max<Wide>(reach, 0);
    }
    const uint32_t arg = 3 + inst->a() + (store ? program.operand_count() : 0);
    if (low < 0 || high >= Wide(kMaxBytes)) {
      launch.Fail(arg, "an access leaves the tensor");
      return;
    }
    const uint64_t elements = static_cast<uint64_t>(high) + 1;
    if (store) {
      launch.Output(arg, static_cast<uint64_t>(inst->dtype()), elements);
    } else {
      launch.Operand(arg, inst->dtype(), elements);
    }
  }
}

}  // namespace glm::plan
