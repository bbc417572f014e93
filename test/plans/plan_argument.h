// The argument of the programs that test a plan: its path.
#ifndef GLM_TEST_PLANS_PLAN_ARGUMENT_H_
#define GLM_TEST_PLANS_PLAN_ARGUMENT_H_

#include <string>

namespace glm {

extern std::string plan_path;  // set by main, in test_main.cc

}  // namespace glm

#endif  // GLM_TEST_PLANS_PLAN_ARGUMENT_H_
