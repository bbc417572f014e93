#include "tools/device/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>

namespace glm::tools {
namespace {

bool Accepts(const std::string& name) {
  CLI::App app;
  DeviceChoice choice;
  AddDeviceOption(app, choice);
  try {
    app.parse("--device " + name);
  } catch (const CLI::ParseError&) {
    return false;
  }
  return choice.name == name;
}

TEST(DeviceChoice, TakesDevicesAndTheirNumbers) {
  for (const char* name :
       {"auto", "host", "gpu", "cuda", "hip", "gpu:0", "cuda:1", "hip:12"}) {
    EXPECT_TRUE(Accepts(name)) << name;
  }
  for (const char* name : {"cpu", "auto:1", "host:0", "cuda:", "cuda:x",
                           "cuda:-1", "cuda:1000", "GPU"}) {
    EXPECT_FALSE(Accepts(name)) << name;
  }
}

TEST(DeviceChoice, IsAutoByDefault) { EXPECT_EQ(DeviceChoice().name, "auto"); }

}  // namespace
}  // namespace glm::tools
