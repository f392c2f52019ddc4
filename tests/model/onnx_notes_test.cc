#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/model/graph/pack.h"
#include "common/model/onnx/notes.h"
#include "common/model/passes/passes.h"
#include "tests/model/onnx_builder.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Metadata = std::vector<std::pair<std::string, std::string>>;

OnnxModel ModelWith(const Metadata& metadata) {
  OnnxModel model = OneInput({1, 3, 8, 8});
  model.Node("Relu", {"x"}, {"a"});
  model.Node("Relu", {"a"}, {"y"});
  for (const auto& [key, value] : metadata) {
    onnx::StringStringEntryProto* entry = model.proto.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  return model;
}

OnnxNotes Read(const Metadata& metadata) { return ReadNotes(ModelWith(metadata).proto); }

const Metadata kPose = {{"description", "Ultralytics YOLO11n-pose model"},
                        {"author", "Ultralytics"},
                        {"date", "2025-03-01T10:00:00"},
                        {"stride", "32"},
                        {"task", "pose"},
                        {"batch", "1"},
                        {"imgsz", "[384, 640]"},
                        {"names", "{0: 'person', 1: \"it's\"}"},
                        {"args", "{'batch': 1, 'nms': False, 'half': False}"},
                        {"kpt_shape", "[17, 3]"}};

TEST(OnnxNotesTest, ReadsWhatUltralyticsWrites) {
  const OnnxNotes read = Read(kPose);
  EXPECT_THAT(read.faults, ElementsAre());
  EXPECT_EQ(read.notes.task, "pose");
  EXPECT_THAT(read.notes.class_names, ElementsAre("person", "it's"));
  EXPECT_EQ(read.notes.stride, 32);
  EXPECT_THAT(read.notes.image_size, ElementsAre(384, 640));
  EXPECT_THAT(read.notes.keypoint_shape, ElementsAre(17, 3));
  EXPECT_FALSE(read.notes.has_suppression);
  EXPECT_EQ(read.notes.description, "Ultralytics YOLO11n-pose model");
}

TEST(OnnxNotesTest, ReadsOtherFormsOfTheSame) {
  EXPECT_THAT(Read({{"names", "['cat', 'dog']"}}).notes.class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(Read({{"names", "{1: 'dog', 0: 'cat'}"}}).notes.class_names,
              ElementsAre("cat", "dog"));
  EXPECT_THAT(Read({{"imgsz", "320"}}).notes.image_size, ElementsAre(320, 320));
  EXPECT_TRUE(Read({{"end2end", "True"}}).notes.has_suppression);
  EXPECT_TRUE(Read({{"args", "{'nms': True}"}, {"end2end", "False"}}).notes.has_suppression);
  EXPECT_THAT(Read({{"stride", "32"}, {"stride", "32"}}).faults, ElementsAre());
}

TEST(OnnxNotesTest, TheNotedSizeIsThatOfAnOpenPicture) {
  const auto shape = [](const std::vector<int64_t>& declared, const LoadOptions& options) {
    OnnxModel model = OneInput(declared);
    model.Node("Relu", {"x"}, {"y"});
    onnx::StringStringEntryProto* entry = model.proto.add_metadata_props();
    entry->set_key("imgsz");
    entry->set_value("[384, 640]");
    const Graph graph = ImportOnnxBytes(model.proto.SerializeAsString(), "model", options);
    return graph.value(graph.inputs.front()).shape;
  };
  EXPECT_THAT(shape({-1, 3, -1, -1}, {}), ElementsAre(1, 3, 384, 640));
  EXPECT_THAT(shape({-1, 3, 32, 32}, {}), ElementsAre(1, 3, 32, 32));
  LoadOptions given;
  given.input_shapes = {{1, 3, 64, 96}};
  EXPECT_THAT(shape({-1, 3, -1, -1}, given), ElementsAre(1, 3, 64, 96));
  EXPECT_THAT(RefusalOf([&] {
                shape({-1, 5, -1, -1}, {});
              }),
              HasSubstr("--shape 1x5x384x640 (the size that the file's metadata names)"));
}

TEST(OnnxNotesTest, LeavesOutWhatItCannotUseAndSaysWhy) {
  const std::vector<std::pair<Metadata, std::string>> cases = {
      {{{"names", "cat,dog"}}, "names is not a Python literal"},
      {{{"names", "{0: 'cat', 2: 'dog'}"}}, "names does not number its classes from 0"},
      {{{"names", "{0: 'cat', 0: 'dog'}"}}, "names names class 0 twice"},
      {{{"names", "{0: 1}"}}, "names has a name that is not a text"},
      {{{"names", "3"}}, "names is neither a dict nor a list"},
      {{{"stride", "0"}}, "stride is not a whole number from 1"},
      {{{"stride", "[8, 16]"}}, "stride is not a whole number from 1"},
      {{{"imgsz", "[640]"}}, "imgsz is neither a height and a width"},
      {{{"imgsz", "[640, -1]"}}, "imgsz is neither a height and a width"},
      {{{"kpt_shape", "[17, 4]"}}, "kpt_shape is not a number of keypoints"},
      {{{"end2end", "1"}}, "end2end is neither True nor False"},
      {{{"args", "[]"}}, "args is not a dict"},
      {{{"args", "{'nms': 'yes'}"}}, "args has an 'nms'"},
      {{{"description", std::string(5000, 'x')}}, "description is longer than 4 KiB"},
      {{{"stride", "32"}, {"stride", "16"}}, "stride appears twice, with different values"},
      {{{"task", "pose"}, {"task", "obb"}}, "task appears twice, with different values"},
  };
  for (const auto& [metadata, fault] : cases) {
    const OnnxNotes read = Read(metadata);
    EXPECT_THAT(read.faults, ElementsAre(HasSubstr(fault)));
    EXPECT_EQ(read.notes, ModelNotes()) << fault;
  }
}

TEST(OnnxNotesTest, LimitsTheNumberOfNames) {
  std::string names = "['a'";
  for (int i = 1; i < 65'536; ++i) names += ",'a'";
  EXPECT_EQ(Read({{"names", names + "]"}}).notes.class_names.size(), 65'536U);
  EXPECT_THAT(Read({{"names", names + ",'a']"}}).faults, ElementsAre(HasSubstr("65536")));
}

TEST(OnnxNotesTest, OneWarningNamesTheFileAndAllFaults) {
  testing::internal::CaptureStderr();
  const Graph graph =
      ModelWith({{"names", "cat,dog"}, {"stride", "none"}, {"task", "detect"}, {"x", "{"}})
          .Import();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  EXPECT_THAT(log, HasSubstr("model.onnx: left out of the file's metadata: names is not a Python "
                             "literal; stride is not a Python literal; classes have numbers unless "
                             "decoder.class_names gives them names\n"));
  EXPECT_EQ(graph.notes.task, "detect");
}

class KeptNotesTest : public FolderTest {};

TEST_F(KeptNotesTest, PassesCopiesAndPacksKeepThem) {
  testing::internal::CaptureStderr();
  Graph graph = ModelWith(kPose).Import();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  const ModelNotes notes = graph.notes;
  ASSERT_EQ(notes, Read(kPose).notes);
  Optimise(graph);
  EXPECT_EQ(graph.notes, notes);
  WritePack(graph, folder_ / "model.cinf");
  EXPECT_EQ(ReadPack(folder_ / "model.cinf").notes, notes);
}

}  // namespace
}  // namespace cacheinf
