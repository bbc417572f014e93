// Files of machines: what is read, and what is said about a wrong one.
#include "compiler/explain/MachineTable.h"

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glm::explain {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

template <typename T> std::string errorOf(llvm::Expected<T> result) {
  return result ? "" : llvm::toString(result.takeError());
}

// The built-in text with its first `from` replaced.
std::string edited(const std::string &from, const std::string &to) {
  std::string text = builtinMachineText().str();
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(MachineTableTest, BuiltinMachinesHaveEveryFigureWithItsSource) {
  ASSERT_FALSE(builtinMachines().empty());
  for (const Machine &machine : builtinMachines()) {
    for (const FigureField &field : figureFields()) {
      if (field.figure == &Machine::allReduceUs && machine.cards == 1)
        continue;
      EXPECT_GT((machine.*field.figure).value, 0) << machine.name << field.name;
      EXPECT_FALSE((machine.*field.figure).source.empty()) << machine.name;
    }
  }
}

TEST(MachineTableTest, UnknownMachineListsTheKnownOnes) {
  EXPECT_EQ(errorOf(findMachine("h100")),
            "--machine h100: unknown; known are r9700x2, r9700, h200, or "
            "FILE.json");
}

TEST(MachineTableTest, WrongValueNamesTheField) {
  EXPECT_EQ(errorOf(parseMachines(
                edited("\"launch_us\": {\"value\": 3.9", "\"launch_us\": {\"value\": -1"),
                "m.json")),
            "m.json: machines[0].launch_us.value: -1.00 is not more than 0");
  EXPECT_EQ(errorOf(parseMachines(
                edited("\"launch_us\": {\"value\": 3.9",
                       "\"launch_us\": {\"value\": 1e-300"),
                "m.json")),
            "m.json: machines[0].launch_us.value: 1.000000e-300 is less than 1e-6");
  EXPECT_THAT(errorOf(parseMachines(edited("\"memory_achievable\": {\"value\": 0.9",
                                           "\"memory_achievable\": {\"value\": 90"),
                                    "m.json")),
              HasSubstr("machines[0].memory_achievable.value: 90.00 is a share"));
  EXPECT_THAT(
      errorOf(parseMachines(edited("\"value\": 640", "\"value\": \"640\""), "m.json")),
      HasSubstr("machines[0].memory_gbs.value: expected a number"));
}

TEST(MachineTableTest, MissingOrUnknownFieldIsNamed) {
  EXPECT_THAT(errorOf(parseMachines(edited("\"barrier_us\"", "\"barier_us\""), "m.json")),
              StartsWith("m.json: machines[0].barier_us: unknown field; known are name"));
  EXPECT_THAT(
      errorOf(parseMachines(R"({"machines": [{"name": "a", "cards": 1}]})", "m.json")),
      HasSubstr("machines[0].memory_gib: expected"));
  EXPECT_THAT(errorOf(parseMachines(R"({"machines": []})", "m.json")),
              HasSubstr("machines: expected a list"));
  EXPECT_THAT(errorOf(parseMachines("{", "m.json")), StartsWith("m.json: is not JSON"));
}

TEST(MachineTableTest, SourceSaysWhatKindOfNumberItIs) {
  EXPECT_THAT(
      errorOf(parseMachines(
          edited("\"source\": \"datasheet\"", "\"source\": \"a friend\""), "m.json")),
      HasSubstr("machines[0].memory_gib.source: expected a text that "
                "begins with measured, datasheet or estimate"));
}

TEST(MachineTableTest, CardsAreCounted) {
  EXPECT_THAT(errorOf(parseMachines(edited("\"cards\": 2", "\"cards\": 0"), "m.json")),
              HasSubstr("machines[0].cards: expected a number from 1 to 1024"));
  // Several cards have to agree, which takes time.
  EXPECT_THAT(errorOf(parseMachines(edited("\"cards\": 1", "\"cards\": 2"), "m.json")),
              HasSubstr("machines[1].all_reduce_us: expected"));
}

TEST(MachineTableTest, NameIsThereOnce) {
  EXPECT_THAT(errorOf(parseMachines(edited("\"r9700\"", "\"r9700x2\""), "m.json")),
              HasSubstr("machines[1].name: r9700x2 is there twice"));
}

TEST(MachineTableTest, FileOfSeveralMachinesNeedsAName) {
  const std::string path = testing::TempDir() + "/machine_table_test.json";
  std::ofstream(path) << edited("\"h200\"", "\"lab\"");
  EXPECT_THAT(errorOf(findMachine(path)), HasSubstr("say which machine"));
  EXPECT_THAT(errorOf(findMachine(path + ":h200")),
              HasSubstr("it has r9700x2, r9700, lab"));
  auto machine = findMachine(path + ":lab");
  ASSERT_TRUE(!!machine) << errorOf(std::move(machine));
  EXPECT_EQ(machine->memoryGBs.value, 4800);
}

} // namespace
} // namespace glm::explain
