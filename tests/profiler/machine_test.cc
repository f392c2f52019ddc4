#include "profiler/machine.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace cacheinf {
namespace {

TEST(MachineTest, KnowsTheMachineItRunsOn) {
  const Machine machine = DescribeMachine();
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_GE(machine.usable_cores, 1);
  EXPECT_LE(machine.usable_cores, machine.logical_cores);
  EXPECT_GT(machine.memory_bytes, int64_t{64} << 20);
  EXPECT_FALSE(machine.simd_targets.empty());
  EXPECT_FALSE(machine.libtorch.empty());
  // Either there is a device, or the report says why not.
  EXPECT_NE(machine.cuda.devices.empty(), machine.cuda.why_no_device.empty());
}

TEST(MachineTest, TextAndJsonSayTheSame) {
  const Machine machine = DescribeMachine();
  const std::string text = ToText(machine);
  const nlohmann::json json = ToJson(machine);
  for (const char* key : {"cpu", "os", "kernel", "libtorch", "opencv", "fingerprint"}) {
    EXPECT_NE(text.find(json.at(key).get<std::string>()), std::string::npos) << key;
  }
}

TEST(MachineTest, FingerprintDiffersWhereTimingsMay) {
  const Machine machine = DescribeMachine();
  EXPECT_EQ(Fingerprint(machine), Fingerprint(DescribeMachine()));
  EXPECT_EQ(Fingerprint(machine).size(), 16u);

  Machine other = machine;
  other.cpu += "!";
  EXPECT_NE(Fingerprint(other), Fingerprint(machine));
  other = machine;
  other.usable_cores += 1;
  EXPECT_NE(Fingerprint(other), Fingerprint(machine));
  other = machine;
  other.cuda.devices.push_back({.name = "another", .memory_bytes = 1});
  other.cuda.built_in = true;
  EXPECT_NE(Fingerprint(other), Fingerprint(machine));
  // An update of the kernel keeps profiles valid.
  other = machine;
  other.kernel += "-1";
  EXPECT_EQ(Fingerprint(other), Fingerprint(machine));
}

}  // namespace
}  // namespace cacheinf
