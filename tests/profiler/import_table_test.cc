#include "profiler/import_table.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tests/fuzz/mutate.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

using Json = nlohmann::json;

Json Op(int id, const char* op, std::vector<int> inputs, std::vector<std::vector<int>> shapes,
        bool local, double robot_ms, Json server_ms) {
  return {{"id", id},
          {"op", op},
          {"inputs", inputs},
          {"shapes", shapes},
          {"local", local},
          {"robot_ms", robot_ms},
          {"server_ms", server_ms}};
}

// A picture halved twice, enlarged and joined again; then scores.
Json SmallTable() {
  return {{"model", "small"},
          {"robot", "a slow one"},
          {"server", "a fast one"},
          {"ops",
           {Op(0, "_start", {}, {{1, 3, 32, 48}}, false, 0.0, 0.0),
            Op(1, "conv2d", {0}, {{1, 8, 16, 24}}, true, 10.0, 1.0),
            Op(2, "max_pool2d", {1}, {{1, 8, 8, 12}}, true, 2.0, 0.2),
            Op(3, "interpolate", {2}, {{1, 8, 16, 24}}, true, 1.0, 0.1),
            Op(4, "cat", {1, 3}, {{1, 16, 16, 24}}, true, 1.0, 0.1),
            Op(5, "permute", {4}, {{1, 16, 24, 16}}, true, 0.0, 0.0),
            Op(6, "linear", {5}, {{1, 16, 24, 20}}, true, 4.0, 0.4),
            Op(7, "mul_", {6}, {}, true, 0.01, 0.0),
            Op(8, "adaptive_avg_pool2d", {4}, {{1, 16, 1, 1}}, false, 0.5, 0.1),
            Op(9, "_end", {7, 8}, {{1, 16, 24, 20}}, false, 0.0, 0.0)}}};
}

class ImportTableTest : public FolderTest {
 protected:
  std::filesystem::path Write(const char* name, const Json& table) const {
    std::ofstream(folder_ / name) << table.dump();
    return folder_ / name;
  }
  Profile Import(const Json& table, Side side) const {
    ImportCommand command;
    command.table = Write("table.json", table);
    command.side = side;
    return ImportTable(command);
  }
  std::string Refusal(const Json& table) const {
    return RefusalOf([&] { (void)Import(table, Side::kServer); });
  }
};

TEST_F(ImportTableTest, TakesEachSidesTimes) {
  const Profile robot = Import(SmallTable(), Side::kRobot);
  const Profile server = Import(SmallTable(), Side::kServer);
  EXPECT_EQ(robot.machine, "a slow one");
  EXPECT_EQ(server.machine, "a fast one");
  ASSERT_EQ(robot.operators.size(), 8u);
  ASSERT_EQ(server.operators.size(), 8u);
  EXPECT_EQ(robot.operators[0].dense_ms, 10.0);
  EXPECT_EQ(server.operators[0].dense_ms, 1.0);
  // Proportional to what is computed, but for a fixed part.
  EXPECT_EQ(robot.operators[0].ms.At(0.0), 0.02);
  EXPECT_DOUBLE_EQ(robot.operators[0].ms.At(0.5), 5.01);
  EXPECT_EQ(robot.operators[0].ms.At(1.0), 10.0);
  EXPECT_EQ(robot.operators[6].ms.At(0.0), 0.01);
}

TEST_F(ImportTableTest, FindsWindowsAndRows) {
  const Profile profile = Import(SmallTable(), Side::kRobot);
  const auto& ops = profile.operators;
  EXPECT_EQ(ops[0].inputs[0].from, -1);
  EXPECT_EQ(ops[0].rows, 16);
  EXPECT_EQ(ops[0].row_bytes, 8 * 24 * 4);
  // 3×3 with stride 2: rows 4 and 5 read 7 to 11.
  const Range read = ops[0].inputs[0].rows.Needed({4, 6});
  EXPECT_EQ(read.begin, 7);
  EXPECT_EQ(read.end, 12);
  EXPECT_EQ(ops[1].rows, 8);
  EXPECT_EQ(ops[2].inputs[0].rows.kind, AxisWindow::Kind::kResize);
  EXPECT_EQ(ops[2].inputs[0].rows.Needed({6, 7}).begin, 3);
  EXPECT_EQ(ops[3].inputs[1].from, 2);
  // Rows are known after operators that move axes, and after those without a shape of their own.
  for (const size_t op : {3, 4, 5, 6}) {
    EXPECT_EQ(ops[op].rows, 16) << op;
    EXPECT_TRUE(ops[op].is_local) << op;
  }
  EXPECT_EQ(ops[6].row_bytes, ops[5].row_bytes);
  EXPECT_FALSE(ops[7].is_local);
  EXPECT_EQ(ops[7].inputs[0].rows.kind, AxisWindow::Kind::kWhole);
  EXPECT_TRUE(ops[6].is_output);
  EXPECT_TRUE(ops[7].is_output);
  EXPECT_FALSE(ops[5].is_output);
  EXPECT_EQ(profile.answer_bytes, 4.0 * (16 * 24 * 20 + 16));
}

TEST_F(ImportTableTest, TakesAPicturesNumbersAsBytes) {
  EXPECT_EQ(Import(SmallTable(), Side::kRobot).picture_slice_bytes.At(1), 3 * 32 * 48);
  Json table = SmallTable();
  table["ops"][0]["shapes"] = {{1, 5, 32, 48}};  // not a picture
  EXPECT_EQ(Import(table, Side::kRobot).picture_slice_bytes.At(1), 4 * 5 * 32 * 48);
}

TEST_F(ImportTableTest, TakesClassesAsBytes) {
  const auto answer_bytes = [&](int classes) {
    Json table = SmallTable();
    table["ops"][6]["shapes"] = table["ops"][7]["shapes"] = {{1, 16, 24, classes}};
    table["ops"][8] = Op(8, "argmax", {7}, {{1, 16, 24}}, true, 0.1, 0.1);
    table["ops"][9] = Op(9, "type", {8}, {{1, 16, 24}}, true, 0.1, 0.1);
    table["ops"].push_back(Op(10, "_end", {9}, {{1, 16, 24}}, false, 0.0, 0.0));
    const Profile profile = Import(table, Side::kRobot);
    EXPECT_EQ(profile.operators[7].whole_bytes, profile.answer_bytes);
    EXPECT_EQ(profile.operators[8].slice_bytes.At(1), profile.answer_bytes);
    return profile.answer_bytes;
  };
  EXPECT_EQ(answer_bytes(256), 16 * 24);
  EXPECT_EQ(answer_bytes(257), 4 * 16 * 24);
}

TEST_F(ImportTableTest, IsAProfileThatCanBeRead) {
  for (const Side side : {Side::kRobot, Side::kServer}) {
    const std::string text = ToJsonText(Import(SmallTable(), side));
    EXPECT_EQ(ToJsonText(ParseProfile(text, "p.json")), text);
  }
}

TEST_F(ImportTableTest, KnowsKapaosKernelsInTheirOrder) {
  // As many convolutions and pools as Kapao has, one after the other.
  Json table = SmallTable();
  table["model"] = "kapao";
  Json ops = Json::array({Op(0, "_start", {}, {{1, 3, 32, 48}}, false, 0.0, 0.0)});
  for (int id = 1; id <= 144; ++id) {
    ops.push_back(Op(id, "conv2d", {id - 1}, {{1, 8, 32, 48}}, true, 1.0, 0.1));
  }
  ops.push_back(Op(145, "_end", {144}, {{1, 8, 32, 48}}, false, 0.0, 0.0));
  table["ops"] = ops;
  const Profile profile = Import(table, Side::kRobot);
  // Focus, down, and a C3: enter, bottleneck, …
  const std::vector<int> first = {3, 3, 1, 1, 3, 1, 3, 1, 3, 1, 1, 3};
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(profile.operators[i].inputs[0].rows.window.kernel, first[i]) << i;
  }
  EXPECT_EQ(profile.operators[143].inputs[0].rows.window.kernel, 1);
  // A 1 × 1 convolution reads its own pixel.
  EXPECT_EQ(profile.operators[2].inputs[0].rows.Needed({5, 6}).size(), 1);
  table["model"] = "another";
  EXPECT_EQ(Import(table, Side::kRobot).operators[2].inputs[0].rows.window.kernel, 3);
}

TEST_F(ImportTableTest, ScalesWhatTheServerWasNotMeasuredOn) {
  Json table = SmallTable();
  table["server"] = nullptr;
  for (Json& op : table["ops"]) op["server_ms"] = nullptr;
  EXPECT_NE(Refusal(table).find("--speedup"), std::string::npos);
  ImportCommand command;
  command.table = Write("table.json", table);
  command.side = Side::kServer;
  command.speedup = 20;
  EXPECT_EQ(ImportTable(command).operators[0].dense_ms, 0.5);
  command.speedup = 0;
  command.references = {Write("other.json", SmallTable())};
  const Profile profile = ImportTable(command);
  EXPECT_NEAR(profile.operators[0].dense_ms, 10.0 * 1.9 / 18.51, 1e-4);
  EXPECT_NE(profile.assumptions.back().find("9.7 times"), std::string::npos);
}

TEST_F(ImportTableTest, RefusesWhatIsWrong) {
  struct Case {
    const char* in_message;
    std::function<void(Json&)> damage;
  };
  const Case cases[] = {
      {"robot_ms must be", [](Json& json) { json["ops"][1]["robot_ms"] = -1; }},
      {"robot_ms must be", [](Json& json) { json["ops"][1].erase("robot_ms"); }},
      {"inputs must be", [](Json& json) { json["ops"][1]["inputs"] = {4}; }},
      {"shapes must be",
       [](Json& json) {
         json["ops"][1]["shapes"] = {{1, 0, 3}};
       }},
      {"shapes must be", [](Json& json) { json["ops"][1]["shapes"] = 3; }},
      {"id must be", [](Json& json) { json["ops"][1]["id"] = 0; }},
      {"ops must be", [](Json& json) { json["ops"].erase(9); }},
      {"model must be", [](Json& json) { json["model"] = 1; }},
  };
  for (const Case& wrong : cases) {
    Json table = SmallTable();
    wrong.damage(table);
    const std::string refusal = Refusal(table);
    EXPECT_NE(refusal.find(wrong.in_message), std::string::npos) << refusal;
  }
}

TEST_F(ImportTableTest, DamageIsRefusedOrGivesAProfile) {
  Mutator mutator({SmallTable().dump()}, {"-1", "0", "[]", "null", "99999999999", "1e300"}, 5);
  int refused = 0;
  const int runs = FuzzRuns(1000);
  for (int i = 0; i < runs; ++i) {
    std::ofstream(folder_ / "table.json") << mutator.Next();
    ImportCommand command;
    command.table = folder_ / "table.json";
    try {
      const std::string text = ToJsonText(ImportTable(command));
      EXPECT_EQ(ToJsonText(ParseProfile(text, "p.json")), text);
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, runs / 3);
  EXPECT_LT(refused, runs);
}

}  // namespace
}  // namespace cacheinf
