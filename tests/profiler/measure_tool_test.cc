#include <gtest/gtest.h>

#include <filesystem>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <string>

#include "common/base/file.h"
#include "common/plan/profile.h"
#include "common/source/scenes.h"
#include "tests/testing/command.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

// `measure` as a user runs it, on the demo's network.
class MeasureToolTest : public FolderTest {
 protected:
  CommandResult Measure(const std::string& more) const {
    return RunCommand({"/bin/sh", "-c",
                       "cd '" + folder_.string() + "' && '" + ProgramPath("cacheinf-profile") +
                           "' measure --config '" +
                           (SourceFolder() / "configs/demo.json").string() + "' --model '" +
                           (SourceFolder() / "configs/models/demo_segmentation.onnx").string() +
                           "' --shape 1x3x48x64 --threads 1 --seconds 1 " + more + " 2>&1"});
  }
};

TEST_F(MeasureToolTest, WritesAProfileAndKeepsItWhileNothingDiffers) {
  const std::string clip = "--clip generated:frames=16,width=64,height=48 ";
  const CommandResult first = Measure("--side robot -o p.json --watts 10 3 2 " + clip);
  ASSERT_EQ(first.exit_code, 0) << first.out;
  EXPECT_NE(first.out.find("held-out"), std::string::npos) << first.out;
  const Profile profile = LoadProfile(folder_ / "p.json");
  EXPECT_EQ(profile.side, Side::kRobot);
  EXPECT_EQ(profile.threads, 1);
  EXPECT_NE(profile.model_checksum, 0u);
  EXPECT_EQ(profile.computing_watts, 10.0);
  EXPECT_EQ(profile.sending_watts, 3.0);
  EXPECT_FALSE(profile.operators.empty());
  EXPECT_TRUE(profile.assumptions.empty());

  const std::string before = ReadFile(folder_ / "p.json");
  const CommandResult second = Measure("--side robot -o p.json " + clip);
  EXPECT_EQ(second.exit_code, 0) << second.out;
  EXPECT_NE(second.out.find("p.json is still valid"), std::string::npos) << second.out;
  EXPECT_EQ(ReadFile(folder_ / "p.json"), before);

  // Watts are not measured.
  const CommandResult watts = Measure("--side robot -o p.json --watts 11 4 3 " + clip);
  EXPECT_NE(watts.out.find("p.json is still valid"), std::string::npos) << watts.out;
  EXPECT_EQ(LoadProfile(folder_ / "p.json").computing_watts, 11.0);
  EXPECT_EQ(LoadProfile(folder_ / "p.json").waiting_watts, 3.0);

  // Another codec needs another profile; so does a damaged file.
  ASSERT_EQ(Measure("--side robot -o p.json --slice-codec fp16 " + clip).exit_code, 0);
  EXPECT_EQ(LoadProfile(folder_ / "p.json").slice_codec, SliceCodec::kFp16);
  std::filesystem::resize_file(folder_ / "p.json", 1000);
  const CommandResult again = Measure("--side robot -o p.json " + clip);
  EXPECT_EQ(again.exit_code, 0) << again.out;
  EXPECT_NE(again.out.find("not a JSON object"), std::string::npos) << again.out;
  EXPECT_NO_THROW((void)LoadProfile(folder_ / "p.json"));
  ASSERT_EQ(Measure("--side robot -o p.json --force " + clip).out.find("p.json is still valid"),
            std::string::npos);
}

TEST_F(MeasureToolTest, MeasuresAgainForOtherCodecsAndClips) {
  const std::string still = "--clip generated:frames=16,width=64,height=48 ";
  const std::string same = "--side robot -o p.json --codec raw ";
  ASSERT_EQ(Measure(same + still).exit_code, 0);
  EXPECT_NE(Measure(same + still).out.find("p.json is still valid"), std::string::npos);
  const CommandResult codecs = Measure(same + "--codec png " + still);
  EXPECT_EQ(codecs.out.find("p.json is still valid"), std::string::npos) << codecs.out;
  EXPECT_EQ(LoadProfile(folder_ / "p.json").codecs.size(), 2u);
  const CommandResult clips =
      Measure(same + "--codec png --clip generated:frames=16,width=64,height=48,seed=3 ");
  EXPECT_EQ(clips.out.find("p.json is still valid"), std::string::npos) << clips.out;
}

TEST_F(MeasureToolTest, WritesOverNothingThatItReads) {
  const std::string model = (SourceFolder() / "configs/models/demo_segmentation.onnx").string();
  std::filesystem::copy_file(model, folder_ / "m.onnx");
  const std::string copy = (folder_ / "m.onnx").string();
  const CommandResult result = RunCommand({ProgramPath("cacheinf-profile"), "measure", "--model",
                                           copy, "--side", "robot", "--out", copy});
  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_NE(result.error.find("would overwrite what --model reads"), std::string::npos)
      << result.error;
  EXPECT_EQ(ReadFile(folder_ / "m.onnx"), ReadFile(model));
}

TEST_F(MeasureToolTest, SaysHowFarAnswersToAClipAgree) {
  Scene scene({.width = 64, .height = 48, .camera = CameraMotion::kHandheld});
  std::filesystem::create_directory(folder_ / "clip");
  for (int i = 0; i < 24; ++i) {
    cv::Mat picture(48, 64, CV_8UC3);
    scene.Render(i, picture.data, nullptr);
    cv::imwrite((folder_ / "clip" / (std::to_string(100 + i) + ".png")).string(), picture);
  }
  const std::string codecs = "--codec raw --codec jpeg:95 --codec jpeg:1 --codec video:crf=51 ";
  const CommandResult result = Measure("--side robot -o p.json --clip clip " + codecs);
  ASSERT_EQ(result.exit_code, 0) << result.out;
  EXPECT_NE(result.out.find("local cache; agreement"), std::string::npos) << result.out;
  const Profile profile = LoadProfile(folder_ / "p.json");
  ASSERT_EQ(profile.codecs.size(), 4u);
  EXPECT_EQ(profile.codecs[0].judged.weight, 0.0) << "raw loses nothing";
  for (const size_t lossy : {1, 2, 3}) EXPECT_GE(profile.codecs[lossy].judged.weight, 1.0);
  const auto agreement = [&](size_t codec) { return profile.codecs[codec].judged.agreement; };
  EXPECT_GT(agreement(1), 0.5);
  EXPECT_LT(agreement(2), agreement(1) - 0.2);
  EXPECT_LT(agreement(3), agreement(1) - 0.2);
  EXPECT_GE(profile.cache_judged.weight, 7.0);
  EXPECT_GT(profile.cache_judged.agreement, 0.5);

  const CommandResult known = Measure("--side robot -o p.json --clip clip " + codecs);
  EXPECT_NE(known.out.find("local cache; agreement"), std::string::npos) << known.out;

  // A server's profile does not say it, and neither does one of generated motion.
  for (const std::string other : {"--side server --clip clip ", "--side robot ",
                                  "--side robot --clip generated:frames=16,width=64,height=48 "}) {
    const CommandResult silent = Measure(other + "-o o.json --frames 16 --codec jpeg:95");
    ASSERT_EQ(silent.exit_code, 0) << silent.out;
    EXPECT_EQ(silent.out.find("agreement"), std::string::npos) << silent.out;
    EXPECT_EQ(LoadProfile(folder_ / "o.json").codecs[0].judged.weight, 0.0);
  }
}

TEST_F(MeasureToolTest, GeneratesMotionWhereThereIsNoClip) {
  const CommandResult result = Measure("--side server -o p.json --frames 16 --codec raw");
  ASSERT_EQ(result.exit_code, 0) << result.out;
  EXPECT_NE(result.out.find("assumed: motion is that of generated scenes"), std::string::npos);
  const Profile profile = LoadProfile(folder_ / "p.json");
  EXPECT_EQ(profile.side, Side::kServer);
  ASSERT_EQ(profile.codecs.size(), 1u);
}

TEST_F(MeasureToolTest, SaysInOneSentenceWhatIsWrong) {
  for (const std::string wrong :
       {"--side robot -o p.json --clip nowhere.mp4",
        "--side robot -o p.json --clip generated:frames=3,width=64,height=48",
        "--side middle -o p.json", "-o p.json", "--side robot",
        "--side robot -o p.json --quick --seconds 3", "--side robot -o p.json --codec h264",
        "--side robot -o nowhere/p.json", "--side robot -o /dev/full --frames 16 --codec raw"}) {
    const CommandResult result = Measure(wrong);
    EXPECT_EQ(result.exit_code, 2) << wrong << ": " << result.out;
    EXPECT_NE(result.out.find("cacheinf-profile: "), std::string::npos) << result.out;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "p.json"));
  }
}

}  // namespace
}  // namespace cacheinf
