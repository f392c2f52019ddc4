#include "common/model/graph/pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/model/passes/passes.h"
#include "tests/model/every_kind.h"
#include "tests/model/expect_same_values.h"
#include "tests/model/model_builder.h"
#include "tests/model/packed_bytes.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

using Bytes = PackedBytes;

class PackTest : public FolderTest {
 protected:
  Bytes Packed(const Graph& graph) {
    WritePack(graph, path_);
    return ReadPacked(path_);
  }

  const std::filesystem::path path_ = folder_ / "model.cinf";
};

std::string Refusal(const Bytes& bytes) {
  return RefusalOf([&] { PackFromMemory(bytes, "memory"); });
}

// Nothing is lost: written again, what was read gives the same bytes, attributes included.
TEST_F(PackTest, ReadsBackWhatItWrote) {
  const Graph graph = EveryKind();
  const Bytes bytes = Packed(graph);
  const Graph read = ReadPack(path_);
  EXPECT_EQ(read.name, graph.name);
  EXPECT_EQ(read.value(read.inputs[0]).name, graph.value(graph.inputs[0]).name);
  EXPECT_EQ(read.operators[0].name, graph.operators[0].name);
  EXPECT_EQ(read.picture.height, 384);
  EXPECT_EQ(read.picture.fit, PictureSpec::Fit::kLetterbox);
  EXPECT_EQ(read.picture.channels, PictureSpec::Channels::kBgr);
  EXPECT_EQ(read.picture.border, 7);
  EXPECT_EQ(read.notes, graph.notes);
  EXPECT_EQ(read.head.kind, HeadKind::kYolov8Pose);
  EXPECT_EQ(read.head.keypoints, 17);
  EXPECT_TRUE(read.head.is_normalised);
  EXPECT_EQ(read.picture.resize, PictureSpec::Resize::kAntialias);
  EXPECT_EQ(read.picture.resize_to, 700);
  EXPECT_EQ(*read.operators.back().As<op::Foreign>()->archive,
            *graph.operators.back().As<op::Foreign>()->archive);
  EXPECT_EQ(Packed(read), bytes);
}

// The test above covers every alternative of Attributes.
TEST_F(PackTest, TheExampleHasEveryKindOfOperator) {
  std::vector<bool> seen(std::variant_size_v<Attributes>, false);
  for (const Operator& op : EveryKind().operators) seen[op.attributes.index()] = true;
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_TRUE(seen[i]) << i;
}

TEST_F(PackTest, EveryKindOfHeadIsReadBack) {
  Graph graph = EveryKind();
  for (int kind = 0; kind < kHeadKinds; ++kind) {
    graph.head.kind = static_cast<HeadKind>(kind);
    const Bytes bytes = Packed(graph);
    EXPECT_EQ(Refusal(bytes), "") << NameOf(graph.head.kind);
  }
}

TEST_F(PackTest, RandomGraphsSurvive) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Graph graph = RandomGraph(seed);
    Optimise(graph);
    const Bytes bytes = Packed(graph);
    const Graph read = ReadPack(path_);
    ExpectSameValues(graph, read, seed, /*tolerance=*/0.0);
    EXPECT_EQ(Packed(read), bytes);
  }
}

TEST_F(PackTest, ConstantsAreAlignedPartsOfTheFileStoredOnce) {
  ModelBuilder b;
  const ValueId weights = b.Random({1000});
  const ValueId x = b.Input({1000});
  Graph graph = b.Finish({b.Add(b.Multiply(x, weights), b.Random({3, 1}))});
  const ValueId twin = graph.AddConstant("twin", graph.value(weights).constant);
  graph.outputs.push_back(twin);
  EXPECT_LT(Packed(graph).size(), 2 * 1000 * sizeof(float));
  const Graph read = ReadPack(path_);
  EXPECT_EQ(read.value(weights).constant.data(), read.value(twin).constant.data());
  for (const Value& value : read.values) {
    if (value.is_constant()) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(value.constant.data()) % 64, 0u);
    }
  }
}

// The mapping lives as long as any constant does, also when the file is gone or overwritten.
TEST_F(PackTest, ConstantsOutliveGraphAndFile) {
  Tensor constant;
  float first = 0.0f;
  {
    ModelBuilder b;
    const ValueId weights = b.Random({5000});
    const Graph graph = b.Finish({b.Add(b.Input({5000}), weights)});
    first = graph.value(weights).constant.data()[0];
    WritePack(graph, path_);
    constant = ReadPack(path_).value(weights).constant;
  }
  WritePack(EveryKind(), path_);
  std::filesystem::remove(path_);
  EXPECT_EQ(constant.data()[0], first);
}

TEST_F(PackTest, KnowsItsOwnFiles) {
  const Bytes bytes = Packed(EveryKind());
  EXPECT_TRUE(IsPack(bytes));
  EXPECT_FALSE(IsPack(std::span(bytes).first(7)));
  EXPECT_FALSE(IsPack(std::span(bytes).subspan(1)));
}

TEST_F(PackTest, InMemoryItHasTheFilesBytes) {
  const Bytes bytes = Packed(EveryKind());
  const MappedFile packed = PackInMemory(EveryKind());
  ASSERT_EQ(packed.size, bytes.size());
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), packed.data.get()));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(packed.data.get()) % 64, 0U);
}

TEST_F(PackTest, WritingLeavesNothingElseBehind) {
  WritePack(EveryKind(), path_);
  WritePack(EveryKind(), path_);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    (void)entry;
    ++files;
  }
  EXPECT_EQ(files, 1u);
  EXPECT_THROW(WritePack(EveryKind(), folder_ / "missing" / "model.cinf"), InputError);
  EXPECT_THROW(WritePack(EveryKind(), folder_), InputError);
}

TEST_F(PackTest, RefusesWhatIsNoFileOrNoPack) {
  EXPECT_THROW(ReadPack(folder_ / "missing.cinf"), InputError);
  EXPECT_THROW(ReadPack(folder_), InputError);
  std::ofstream(path_).flush();
  EXPECT_THROW(ReadPack(path_), InputError);
  std::ofstream(path_) << "CACHEINF";
  EXPECT_THROW(ReadPack(path_), InputError);
}

TEST_F(PackTest, RefusesAnotherVersion) {
  Bytes bytes = Packed(EveryKind());
  bytes[8] = std::byte{99};
  Reseal(bytes);
  EXPECT_NE(Refusal(bytes).find("version 99"), std::string::npos) << Refusal(bytes);
}

TEST_F(PackTest, OnlyLevelsNeedTheLastVersion) {
  EXPECT_EQ(Packed(EveryKind())[8], std::byte{6});
  const Graph graph = GraphWithLevels();
  ASSERT_EQ(graph.levels.size(), size_t{3} * 256);
  EXPECT_EQ(graph.levels[2 * 256 + 83], 3 + 50);  // (83 - 3) / 80 = 1, which is 50 steps
  const Bytes bytes = Packed(graph);
  EXPECT_EQ(bytes[8], std::byte{7});
  const Graph read = PackFromMemory(bytes, "levels");
  EXPECT_EQ(read.levels, graph.levels);
  EXPECT_EQ(DefinitionChecksum(read), DefinitionChecksum(graph));
  Graph other = graph;
  ++other.levels[5];
  EXPECT_NE(DefinitionChecksum(other), DefinitionChecksum(graph));
}

TEST_F(PackTest, RefusesLevelsThatFitNoPicture) {
  const auto refusal_of = [](const auto& damage) {
    Graph graph = GraphWithLevels();
    damage(graph);
    return RefusalOf([&] { graph.Validate(); });
  };
  const auto input_of = [](Graph& graph) -> Value& {
    return graph.values[static_cast<size_t>(graph.inputs[0])];
  };
  EXPECT_NE(refusal_of([](Graph& graph) { graph.levels.pop_back(); }), "");
  EXPECT_NE(refusal_of([](Graph& graph) { graph.levels.clear(); }), "");
  EXPECT_NE(refusal_of([](Graph& graph) { graph.levels[7] = 256; }), "");
  EXPECT_NE(refusal_of([](Graph& graph) { graph.picture.width = 6; }), "");
  EXPECT_NE(refusal_of([](Graph& graph) { graph.picture = {}; }), "");
  EXPECT_NE(refusal_of([&](Graph& graph) { input_of(graph).channels = 4; }), "");
  EXPECT_NE(refusal_of([&](Graph& graph) { input_of(graph).steps.scale = 0.0f; }), "");
  EXPECT_NE(refusal_of([&](Graph& graph) { input_of(graph).steps.zero_point = -1; }), "");
  EXPECT_NE(refusal_of([&](Graph& graph) { input_of(graph).type = DataType::kFloat32; }), "");
  EXPECT_EQ(refusal_of([](Graph& /*graph*/) {}), "");
}

TEST_F(PackTest, RefusesEveryTruncation) {
  const Bytes bytes = Packed(EveryKind());
  for (size_t size = 0; size < bytes.size(); size += size < 256 ? 1 : 61) {
    EXPECT_NE(Refusal(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size))), "")
        << size << " bytes";
  }
}

// No flipped bit goes unseen.
TEST_F(PackTest, TheChecksumSeesEveryBit) {
  ModelBuilder b;
  const ValueId x = b.Input({8});
  Bytes bytes = Packed(b.Finish({b.Add(x, b.Random({8}))}));
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte(1 << bit % 8);
    EXPECT_NE(Refusal(bytes), "") << "bit " << bit;
    bytes[bit / 8] ^= std::byte(1 << bit % 8);
  }
  EXPECT_EQ(Refusal(bytes), "");
}

}  // namespace
}  // namespace cacheinf
