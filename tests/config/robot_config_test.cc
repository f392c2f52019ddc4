#include "common/config/robot_config.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/objective.h"
#include "common/config/config_options.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/places.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

const std::filesystem::path kConfigs = SourceFolder() / "configs";

std::string Refusal(const std::string& text) {
  return RefusalOf([&] { ParseRobotConfig(text, "robot.json"); });
}

TEST(RobotConfigTest, EveryShippedFileIsAccepted) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs)) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() != ".json" || name.ends_with(".schema.json")) continue;
    SCOPED_TRACE(name);
    RobotConfig config = LoadRobotConfig(entry.path());
    EXPECT_NO_THROW(config.model_config.decoder.ReadClassNames());
    const std::string printed = WriteJson(config.Fields());
    RobotConfig again = ParseRobotConfig(printed, "printed");
    EXPECT_EQ(WriteJson(again.Fields()), printed);
    EXPECT_NE(ReadFile(entry.path()).find("\"$schema\": \"./robot.schema.json\""),
              std::string::npos);
    ++count;
  }
  EXPECT_GE(count, 20);
}

TEST(RobotConfigTest, ClassNamesLieBesideTheirConfiguration) {
  const DecoderConfig yolox = LoadRobotConfig(kConfigs / "yolox.json").model_config.decoder;
  EXPECT_EQ(yolox.ReadClassNames().size(), 80u);
  EXPECT_EQ(yolox.ReadClassNames().back(), "toothbrush");
  const DecoderConfig ssd = LoadRobotConfig(kConfigs / "ssd-mobilenet.json").model_config.decoder;
  EXPECT_EQ(ssd.ReadClassNames().at(90), "toothbrush");
  EXPECT_EQ(ssd.ReadClassNames().at(12), "none");
}

TEST(RobotConfigTest, ShippedRobotJsonStatesTheDefaults) {
  RobotConfig shipped = LoadRobotConfig(kConfigs / "robot.json");
  EXPECT_EQ(WriteJson(shipped.Fields()), WriteJson(RobotConfig().Fields()));
}

TEST(RobotConfigTest, ShippedSchemaIsCurrent) {
  EXPECT_EQ(ReadFile(kConfigs / "robot.schema.json"),
            WriteJsonSchema("Configuration of cacheinf-robot", RobotConfig().Fields()))
      << "run: cacheinf-robot run --print-config-schema > configs/robot.schema.json";
}

TEST(RobotConfigTest, PrintedConfigurationLoadsAgain) {
  RobotConfig config = LoadRobotConfig(kConfigs / "yolov5n.json");
  config.threads = 3;
  config.source = "generated:seed=7";
  const std::string text = WriteJson(config.Fields());
  RobotConfig again = ParseRobotConfig(text, "printed");
  EXPECT_EQ(WriteJson(again.Fields()), text);
}

// Every key costs its readers, so each must be worth touching and say when to.
TEST(RobotConfigTest, HasFewKeysAndSaysOfEachWhenToTouchIt) {
  RobotConfig config;
  int keys = 0;
  ForEachField(config.Fields(), [&](const std::string& path, const Field& field) {
    ++keys;
    EXPECT_TRUE(field.when.ends_with(".")) << path;
    EXPECT_GT(field.when.size(), 10u) << path;
    EXPECT_TRUE(field.doc.ends_with(".")) << path;
    const size_t two_lines_of_help = 100;
    if (!field.flag.empty()) {
      EXPECT_LE(field.FirstSentence().size(), two_lines_of_help) << path;
    }
  });
  EXPECT_LE(keys, 71);
  EXPECT_NE(WriteJsonSchema("", config.Fields()).find("Always set it."), std::string::npos);
}

TEST(RobotConfigTest, RefusesKeysAndWordsThatAreGone) {
  EXPECT_EQ(Refusal(R"({"tracker": {"kind": "block"}})"),
            "robot.json: unknown key \"tracker\"; did you mean \"track\"?");
  EXPECT_EQ(Refusal(R"({"guard": {"samples": 8}})"), "robot.json: unknown key \"guard.samples\"");
  EXPECT_EQ(Refusal(R"({"guard": {"least": {"boxes": 0.9}}})"),
            "robot.json: guard.least must be a number, got {\"boxes\":0.9}");
  EXPECT_EQ(Refusal(R"({"scheme": "winograd"})"),
            "robot.json: scheme must be \"direct\" or \"auto\", got \"winograd\"");
  EXPECT_EQ(Refusal(R"({"scheme": "libtorch"})"),
            "robot.json: scheme \"libtorch\" is gone: set \"direct\" or \"auto\"");
  EXPECT_EQ(Refusal(R"({"cache": {"most_work": 0}})"),
            "robot.json: cache.most_work is gone: remove it, as reuse always pays up to 0.85 of a "
            "dense run's work");
  EXPECT_EQ(Refusal(R"({"cache": {"most_work": 0.85}})"), "") << "as it always is now";
  EXPECT_EQ(Refusal(R"({"preprocess": {"width": 640}})"),
            "robot.json: unknown key \"preprocess.width\"");
  EXPECT_EQ(Refusal(R"({"decoder": {"class_names_file": "names.txt"}})"),
            "robot.json: unknown key \"decoder.class_names_file\"; did you mean \"class_names\"?");
  EXPECT_EQ(Refusal(R"({"decoder": {"most_boxes": 7}})"),
            "robot.json: unknown key \"decoder.most_boxes\"; did you mean \"most\"?");
  EXPECT_EQ(Refusal(R"({"decoder": {"top": 7}})"), "robot.json: unknown key \"decoder.top\"");
  EXPECT_EQ(Refusal(R"({"server": {"emulate_slowdown": 5}})"),
            "robot.json: unknown key \"server.emulate_slowdown\"; did you mean \"emulate\"?");
  EXPECT_EQ(Refusal(R"({"record": {"most": 5}})"), "robot.json: unknown key \"record.most\"");
  EXPECT_EQ(Refusal(R"({"cache": {"flush": 5}})"), "robot.json: unknown key \"cache.flush\"");
}

TEST(RobotConfigTest, ClassNamesAreAListOrAFile) {
  const auto decoder = [](const std::string& names) {
    return ParseRobotConfig(R"({"decoder": {"class_names": )" + names + "}}", "t")
        .model_config.decoder;
  };
  EXPECT_EQ(decoder(R"(["cat", "dog"])").class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(decoder(R"(["cat", "dog"])").class_names_file, "");
  EXPECT_EQ(decoder(R"("names.txt")").class_names_file, "names.txt");
  EXPECT_EQ(Refusal(R"({"decoder": {"class_names": 3}})"),
            "robot.json: decoder.class_names must be a list or a file's name, got 3");
}

class ClassNamesTest : public FolderTest {};

TEST_F(ClassNamesTest, AreLinesOfText) {
  DecoderConfig decoder;
  decoder.class_names_file = Path("names");
  WriteText("names", "n01440764\ttench \r\nchat né\n\n");
  EXPECT_EQ(decoder.ReadClassNames(), (std::vector<std::string>{"n01440764\ttench", "chat né"}));
  for (const std::string& bytes :
       {std::string("\0\0", 2), std::string("a\x1b[2J"), std::string("\x7f")}) {
    WriteText("names", "cat\n" + bytes + "\n");
    EXPECT_EQ(
        RefusalOf([&] { (void)decoder.ReadClassNames(); }),
        "decoder.class_names: " + Path("names") + ", line 2: is not a name; the file must be text");
  }
}

TEST(RobotConfigTest, AnswersHaveAsManyClassesOrBoxesAsIsUsual) {
  DecoderConfig decoder;
  EXPECT_EQ(decoder.most_classes(), 5);
  EXPECT_EQ(decoder.most_boxes(), 100);
  decoder.most = 7;
  EXPECT_EQ(decoder.most_classes(), 7);
  EXPECT_EQ(decoder.most_boxes(), 7);
}

TEST(RobotConfigTest, NamesFileAndKey) {
  EXPECT_EQ(Refusal(R"({"preprocess": {"border": -1}})"),
            "robot.json: preprocess.border must be at least 0, got -1");
  EXPECT_EQ(Refusal(R"({"mode": "sparse"})"),
            "robot.json: mode must be one of \"dense\", \"cache\", \"remote\", \"split\", "
            "\"cacheinf\", got \"sparse\"");
  EXPECT_EQ(Refusal(R"({"cache": {"threshold": 2}})"),
            "robot.json: cache.threshold must be at most 1, got 2");
  EXPECT_EQ(Refusal(R"({"track": 0})"), "robot.json: track must be at least 1, got 0");
  EXPECT_EQ(Refusal(R"({"check": -1})"), "robot.json: check must be at least 0, got -1");
  EXPECT_EQ(Refusal(R"({"thread": 2})"),
            "robot.json: unknown key \"thread\"; did you mean \"threads\"?");
}

TEST(RobotConfigTest, RefusesValuesThatDoNotFitTogether) {
  EXPECT_NE(Refusal(R"({"preprocess": {"mean": [1, 2]}})"), "");
  EXPECT_EQ(Refusal(R"({"preprocess": {"divisor": []}})"), "") << "what is usual";
  EXPECT_NE(Refusal(R"({"preprocess": {"divisor": [0]}})"), "");
  EXPECT_NE(Refusal(R"({"decoder": {"strides": [8]}})"), "");
  EXPECT_NE(Refusal(R"({"decoder": {"kind": "boxes", "strides": [8, 16], "anchors": [1, 2]}})"),
            "");
  EXPECT_NE(Refusal(R"({"decoder": {"strides": [8], "anchors": [1, 2]}})"), "");
  EXPECT_NE(Refusal(R"({"shapes": ["1x3xHxW"]})"), "");
  EXPECT_EQ(Refusal(R"({"preprocess": {"channels": "gray", "mean": [1]}})"), "");
}

TEST(RobotConfigTest, RefusesChecksThatWouldSayNothing) {
  EXPECT_EQ(Refusal(R"({"check": 10, "frames": 9})"),
            "robot.json: check is 10, but the run has 9 frames: none would be checked");
  EXPECT_EQ(Refusal(R"({"track": 4, "check": 6})"),
            "robot.json: check 6 and track 4 have a common divisor: some frames between two "
            "computed ones would never be checked");
  EXPECT_EQ(Refusal(R"({"against": "floats.onnx"})"),
            "robot.json: against names a model, but nothing is checked: set check too, such as "
            "--check 10");
  EXPECT_EQ(Refusal(R"({"against": "floats.onnx", "check": 10})"), "");
  EXPECT_EQ(Refusal(R"({"check": 10, "frames": 10})"), "");
  EXPECT_EQ(Refusal(R"({"track": 4, "check": 9})"), "");
  EXPECT_EQ(Refusal(R"({"track": 4, "check": 1})"), "");
  const std::string models = R"("smaller_models": ["a.onnx"], "track": 4, "check": 6)";
  EXPECT_EQ(Refusal(R"({"mode": "cacheinf", )" + models + "}"), "") << "tracks as plans say";
  EXPECT_EQ(RefusalOf([&] { EffectiveConfig("{" + models + "}", "robot.json"); }), "")
      << "is mode cacheinf, too";
  EXPECT_NE(RefusalOf([&] { EffectiveConfig(R"({"mode": "cache", )" + models + "}", "t"); }), "");
}

class RobotOptionsTest : public FolderTest {};

TEST_F(RobotOptionsTest, AModeOnTheCommandLineIsTheFilesToo) {
  WriteText("robot.json", R"({"track": 3, "check": 3})");
  const auto refusal = [&](const std::string& mode) {
    CLI::App app;
    ConfigOptions options;
    options.AddTo(app, RobotConfig().Fields());
    app.parse("--config " + Path("robot.json") + " --server mpi --mode " + mode);
    return RefusalOf([&] { EffectiveConfig(options); });
  };
  EXPECT_EQ(refusal("cacheinf"), "");
  EXPECT_NE(refusal("cache").find("common divisor"), std::string::npos);
}

TEST(RobotConfigTest, RefusesAModelForTheServerThatSharesTheRobots) {
  const std::string server = R"({"server": {"address": "mpi", "model": "floats.onnx"}, )";
  EXPECT_EQ(Refusal(server + R"("mode": "remote"})"), "");
  EXPECT_EQ(
      Refusal(server + R"("mode": "cacheinf"})"),
      "robot.json: server.model is for mode remote; in mode cacheinf robot and server compute "
      "one model: leave it out");
}

TEST(RobotConfigTest, NamesTheMode) {
  EXPECT_EQ(ParseRobotConfig("{}", "t").ModeName(), "dense");
  EXPECT_EQ(ParseRobotConfig(R"({"mode": "cache"})", "t").ModeName(), "cache");
  EXPECT_EQ(ParseRobotConfig(R"({"track": 3})", "t").ModeName(), "track:3 dense");
}

TEST(RobotConfigTest, WithPlansToChooseFromTheModeThatIsNotSaidIsCacheinf) {
  const std::string server = R"({"server": {"address": "mpi:lab"}, )";
  EXPECT_EQ(EffectiveConfig(server + R"("threads": 1})", "t").ModeName(), "cacheinf");
  EXPECT_EQ(EffectiveConfig(server + R"("track": 3})", "t").ModeName(), "cacheinf");
  EXPECT_EQ(EffectiveConfig(server + R"("mode": "cache"})", "t").ModeName(), "cache");
  EXPECT_EQ(EffectiveConfig(R"({"smaller_models": ["a.onnx"]})", "t").ModeName(), "cacheinf");
  EXPECT_EQ(EffectiveConfig("{}", "t").ModeName(), "dense");
  EXPECT_EQ(RefusalOf([&] {
              EffectiveConfig(R"({"smaller_models": ["a.onnx"], "cache": {"policy": "exact"}})",
                              "robot.json");
            }).rfind("robot.json: smaller_models", 0),
            0u);
}

TEST(RobotConfigTest, RefusesMissingAndLargeFiles) {
  EXPECT_THROW(LoadRobotConfig(kConfigs / "missing.json"), InputError);
  EXPECT_THROW(LoadRobotConfig(kConfigs), InputError);
}

class ConfigPathsTest : public FolderTest {};

TEST_F(ConfigPathsTest, StartAtTheFilesFolder) {
  WriteText("robot.json", R"({"model": "m.onnx", "source": "clip.mp4",
    "smaller_models": ["s.onnx@1x3x8x8"], "inputs": ["a=1,2,b=b.npy,c=3", "d=d.npy"],
    "decoder": {"class_names": "names.txt"}, "output": {"answers": "-", "summary": "/s.json"},
    "server": {"schedule": "plans/s.json"}})");
  const RobotConfig config = LoadRobotConfig(Path("robot.json"));
  EXPECT_EQ(config.model, Path("m.onnx"));
  EXPECT_EQ(config.smaller_models, std::vector<std::string>{Path("s.onnx@1x3x8x8")});
  EXPECT_EQ(config.source, Path("clip.mp4"));
  EXPECT_EQ(config.inputs,
            (std::vector<std::string>{"a=1,2,b=" + Path("b.npy") + ",c=3", "d=" + Path("d.npy")}));
  EXPECT_EQ(config.file, Path("robot.json"));
  EXPECT_EQ(config.model_config.decoder.class_names_file, Path("names.txt"));
  EXPECT_EQ(config.output.answers, "-");
  EXPECT_EQ(config.output.summary, "/s.json");
  EXPECT_EQ(config.server.schedule, Path("plans/s.json"));
  EXPECT_EQ(config.record.folder, "") << "names nothing";
  const auto loaded = [&](const char* key, const std::string& text) {
    WriteText("robot.json", fmt::format(R"({{{}: "{}"}})", key, text));
    return LoadRobotConfig(Path("robot.json"));
  };
  for (const char* source :
       {"2", "rtsp://camera/1", "generated", "generated:seed=7", "v ! appsink"}) {
    EXPECT_EQ(loaded("\"source\"", source).source, source);
  }
  EXPECT_EQ(loaded("\"source\"", "Go!.mp4").source, Path("Go!.mp4"));
  EXPECT_EQ(loaded("\"source\"", "20240101").source, Path("20240101")) << "no camera";
  std::filesystem::create_directories(Path("2024"));
  const std::string folder = loaded("\"source\"", "2024").source;
  EXPECT_TRUE(std::filesystem::is_directory(folder)) << folder;
  EXPECT_EQ(loaded("\"source\"", "2025").source, "2025") << "a camera";
  const auto emulated = [&](const std::string& text) {
    WriteText("robot.json", fmt::format(R"({{"server": {{"emulate": "{}"}}}})", text));
    return LoadRobotConfig(Path("robot.json")).server.emulate;
  };
  EXPECT_EQ(emulated("5x,t.csv:up,3ms"), "5x," + Path("t.csv") + ":up,3ms");
  EXPECT_EQ(emulated("links/t.csv,3ms"), Path("links/t.csv") + ",3ms");
  EXPECT_EQ(emulated("t.csv"), Path("t.csv"));
  EXPECT_EQ(emulated("a,b.csv,3ms"), Path("a,b.csv") + ",3ms");
  EXPECT_EQ(emulated("2.5x,t.csv"), "2.5x," + Path("t.csv"));
  for (const char* text : {"", "5x", "93mbit,3ms", "5x,93mbit,3ms"}) {
    EXPECT_EQ(emulated(text), text);
  }
  const auto keys = [&](const std::string& text) {
    WriteText("robot.json", fmt::format(R"({{"server": {{"address": "tcp://a:1,tcp://b:1",
      "robot_key": "r.key", "server_key": "{}"}}}})",
                                        text));
    return LoadRobotConfig(Path("robot.json")).server.server_key;
  };
  EXPECT_EQ(keys("a.pub,b.pub"), Path("a.pub") + "," + Path("b.pub"));
  EXPECT_EQ(keys(std::string(64, '8') + ",b.pub"), std::string(64, '8') + "," + Path("b.pub"));
  EXPECT_EQ(keys(std::string(64, '8')), std::string(64, '8'));
}

TEST_F(ConfigPathsTest, AreWrittenSoThatTheyAreFoundFromAnywhere) {
  std::filesystem::create_directories(Path("found"));
  RobotConfig config;
  config.model = "models/m.onnx";
  config.source = Path("clip.mp4");
  config.output.answers = "-";
  WriteRobotConfig(config, Path("found/robot.json"));
  const RobotConfig again = LoadRobotConfig(Path("found/robot.json"));
  EXPECT_EQ(std::filesystem::weakly_canonical(again.model),
            std::filesystem::weakly_canonical(std::filesystem::absolute(config.model)));
  EXPECT_FALSE(ParseRobotConfig(ReadFile(Path("found/robot.json")), "t").model.starts_with("/"));
  EXPECT_EQ(again.source, config.source) << "is absolute, and stays so";
  EXPECT_EQ(again.output.answers, "-");
}

TEST_F(ConfigPathsTest, AFolderNamedLikeACameraIsFoundFromAnywhere) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directories(Path("2024"));
  std::filesystem::create_directories(Path("found"));
  RobotConfig config;
  config.source = "2024";
  std::filesystem::current_path(folder_);
  WriteRobotConfig(config, Path("found/robot.json"));
  WriteRobotConfig(config, Path("robot.json"));
  std::filesystem::current_path(before);
  for (const char* file : {"found/robot.json", "robot.json"}) {
    const std::string source = LoadRobotConfig(Path(file)).source;
    EXPECT_TRUE(std::filesystem::is_directory(source)) << source;
  }
}

TEST_F(ConfigPathsTest, WhatIsNotUtf8IsNotWrittenAsAnotherPath) {
  RobotConfig config;
  config.server.schedule = "b\xff.json";
  WriteText("robot.json", "older");
  EXPECT_EQ(RefusalOf([&] { WriteRobotConfig(config, Path("robot.json")); }),
            Path("robot.json") +
                ": server.schedule is not UTF-8, as JSON must be: give that file or folder another "
                "name");
  EXPECT_EQ(ReadFile(Path("robot.json")), "older");
}

TEST(RobotConfigTest, ParsesShapes) {
  EXPECT_EQ(ParseShape("1x3x384x640", "t"), (Shape{1, 3, 384, 640}));
  EXPECT_EQ(ParseShape("7", "t"), (Shape{7}));
  for (const char* bad : {"", "x", "1x", "x1", "1x0", "1x-3", "1x3,4", "1xx3", "1x1x1x1x1x1x1",
                          "99999999999999999999", "1 x 3"}) {
    EXPECT_THROW(ParseShape(bad, "t"), InputError) << bad;
  }
}

TEST(RobotConfigTest, ASmallerModelIsAFileOrTheSameFileForASmallerPicture) {
  RobotConfig config = ParseRobotConfig(
      R"({"model": "net.onnx", "shapes": ["1x3x64x96"], "mode": "cacheinf", "threads": 3,
          "smaller_models": ["nets/net.onnx@1x3x32x48", "me@home/tiny.onnx"]})",
      "robot.json");
  EXPECT_TRUE(config.HasLadder()) << "without a server";
  const RobotConfig small = config.WithSmallerModel(config.smaller_models[0]);
  EXPECT_EQ(small.model, "nets/net.onnx");
  EXPECT_EQ(small.shapes, std::vector<std::string>{"1x3x32x48"});
  EXPECT_EQ(small.threads, 3);
  EXPECT_TRUE(small.smaller_models.empty());
  const RobotConfig tiny = config.WithSmallerModel(config.smaller_models[1]);
  EXPECT_EQ(tiny.model, "me@home/tiny.onnx");
  EXPECT_TRUE(tiny.shapes.empty()) << "that was the first model's";
  EXPECT_EQ(NameOfSmallerModel(config.smaller_models[0]), "net@1x3x32x48");
  EXPECT_EQ(NameOfSmallerModel(config.smaller_models[1]), "tiny");
  config.mode = RobotConfig::Mode::kCache;
  EXPECT_FALSE(config.HasLadder());
}

TEST(RobotConfigTest, RefusesSmallerModelsThatCannotServe) {
  const auto refusal = [](const std::string& models, const std::string& more = "") {
    return Refusal(R"({"mode": "cacheinf", "smaller_models": )" + models + more + "}");
  };
  EXPECT_EQ(refusal(R"(["a.onnx", "b.onnx"])"), "");
  EXPECT_EQ(refusal(R"(["a/net.onnx", "b/net.onnx"])"),
            "robot.json: smaller_models names net twice; plans tell models apart by their files' "
            "names");
  EXPECT_NE(refusal(R"([""])"), "");
  EXPECT_NE(refusal(R"(["a.onnx@0x3"])"), "");
  EXPECT_NE(refusal(R"(["a.onnx"])", R"(, "cache": {"policy": "exact"})"), "");
  EXPECT_NE(refusal(R"(["a.onnx"])", R"(, "output": {"dump_outputs": "out"})"), "");
  EXPECT_EQ(refusal("[]"),
            "robot.json: mode cacheinf needs a server, such as --server mpi, or smaller models to "
            "choose from (--smaller-model)");
  EXPECT_EQ(Refusal(R"({"mode": "remote", "smaller_models": ["a.onnx"]})"),
            "robot.json: mode remote needs a server, such as --server mpi");
}

TEST(RobotConfigTest, TheObjectiveIsToBeOnTimeIfThereIsADeadline) {
  const auto objective = [](const std::string& keys) {
    return ParseRobotConfig("{" + keys + "}", "robot.json").EffectiveObjective();
  };
  EXPECT_EQ(objective(""), Objective::kLatency);
  EXPECT_EQ(objective(R"("deadline_ms": 100)"), Objective::kOnTime);
  EXPECT_EQ(objective(R"("deadline_ms": 100, "objective": "auto")"), Objective::kOnTime);
  EXPECT_EQ(objective(R"("deadline_ms": 100, "objective": "latency")"), Objective::kLatency);
  EXPECT_EQ(
      Refusal(R"({"mode": "cacheinf", "objective": "on-time", "server": {"address": "mpi"}})"),
      "robot.json: objective on-time needs a deadline, such as --deadline-ms 100");
}

}  // namespace
}  // namespace cacheinf
