#include "test/plans/plan_argument.h"

#include <cstdio>

#include "gtest/gtest.h"

namespace glm {

std::string plan_path;

}  // namespace glm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s PLAN\n", argv[0]);
    return 2;
  }
  glm::plan_path = argv[1];
  return RUN_ALL_TESTS();
}
