#include "common/model/graph/pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/model/passes/passes.h"
#include "tests/model/expect_same_values.h"
#include "tests/model/model_builder.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

using Bytes = std::vector<std::byte>;

constexpr size_t kChecksumOffset = 32;

class PackTest : public FolderTest {
 protected:
  Bytes Packed(const Graph& graph) {
    WritePack(graph, path_);
    const std::string text = ReadFile(path_);
    Bytes bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  }

  const std::filesystem::path path_ = folder_ / "model.cinf";
};

Graph FromMemory(const Bytes& bytes) {
  auto* memory = static_cast<std::byte*>(::operator new (bytes.size(), std::align_val_t{64}));
  std::copy(bytes.begin(), bytes.end(), memory);
  std::shared_ptr<const std::byte> owner(memory, [](const std::byte* data) {
    ::operator delete (const_cast<std::byte*>(data), std::align_val_t{64});
  });
  return ReadPack(owner, bytes.size(), "memory");
}

// Gives a changed file the checksum that hides the change, so that later checks are tested.
void Reseal(Bytes& bytes) {
  const uint64_t checksum = PackChecksum(bytes);
  std::memcpy(bytes.data() + kChecksumOffset, &checksum, sizeof(checksum));
}

std::string DescriptionOf(const Bytes& file) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, file.data() + 16, sizeof(bytes));
  return {reinterpret_cast<const char*>(file.data()) + 64, bytes};
}

// The file with another description, sealed.
Bytes WithDescription(const Bytes& file, const std::string& text) {
  const size_t blobs = 64 + (DescriptionOf(file).size() + 63) / 64 * 64;
  Bytes bytes(file.begin(), file.begin() + 64);
  bytes.resize(64 + (text.size() + 63) / 64 * 64);
  std::memcpy(bytes.data() + 64, text.data(), text.size());
  bytes.insert(bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(blobs), file.end());
  const uint64_t sizes[2] = {text.size(), bytes.size()};
  std::memcpy(bytes.data() + 16, sizes, sizeof(sizes));
  Reseal(bytes);
  return bytes;
}

std::string Refusal(const Bytes& bytes) {
  return RefusalOf([&] { FromMemory(bytes); });
}

// One operator of every kind with attributes that are not the defaults, an archive, infinities, a
// picture, shared constants.
Graph EveryKind() {
  ModelBuilder b;
  const ValueId x = b.Input({1, 4, 8, 8}, "picture \"x\" \\ µ");
  const ValueId weights = b.Random({4, 4, 1, 1});
  std::vector<ValueId> outputs;
  const auto keep = [&outputs](ValueId id) { outputs.push_back(id); };
  op::Conv conv;
  conv.has_residual = conv.activation_before_residual = true;
  conv.activation = {Function::Kind::kLeakyRelu, 0.1f, 0.0f};
  keep(b.Op(conv, {x, weights, x}));
  keep(b.TransposedConv(x, 4, 4, 2, 2));
  keep(b.Linear(x, 3));
  keep(b.Op(op::MatMul{}, {x, x}));
  keep(b.Op(op::ScaleShift{{Function::Kind::kRelu, 0.0f, 0.0f}, {3, 2, 1, 0}},
            {x, b.Random({4}), b.Random({4})}));
  keep(b.Op(op::LayerNorm{2, 2, 1e-6f, false}, {x}));
  keep(b.Op(op::GroupNorm{2, 1e-3f, false}, {x}));
  keep(b.Apply(Function::Kind::kClip, x, 0.1f, std::numeric_limits<float>::infinity()));
  keep(b.Binary(BinaryKind::kMinimum, x, b.Number(-std::numeric_limits<float>::infinity())));
  keep(b.Op(op::Concat{3}, {x, x}));
  keep(b.Op(op::Slice{{0, 1, 0, 2}, {1, 2, 4, 3}, {1, 1, 2, 1}}, {x}));
  keep(b.Op(op::Gather{2, {3, 1, 1}, false}, {x}));
  const ValueId top = b.Op(op::TopK{2, 3}, {x});
  keep(top);
  keep(b.Op(op::GatherElements{2}, {x, top}));
  op::Pool pool;
  pool.spec.rows = pool.spec.columns = {3, 2, 1, 1, 1};
  pool.spec.kind = PoolSpec::Kind::kAverage;
  pool.spec.ceil_mode = pool.spec.count_padding = true;
  keep(b.Op(pool, {x}));
  keep(b.Op(op::AdaptivePool{PoolSpec::Kind::kMax, 3, 5}, {x}));
  op::Resize resize;
  resize.spec = {ResizeSpec::Kind::kCubic,
                 ResizeSpec::Coordinates::kAlignCorners,
                 ResizeSpec::Rounding::kCeil,
                 -0.5f,
                 11,
                 5,
                 1.4f,
                 0.7f};
  keep(b.Op(resize, {x}));
  keep(b.Op(op::DepthToSpace{2, op::DepthToSpace::Order::kRowsFirst}, {x}));
  keep(b.Op(op::SpaceToDepth{4, op::DepthToSpace::Order::kChannelsFirst}, {x}));
  keep(b.Op(op::Pad{PadMode::kEdge, 2.0f, {0, 0, 1, 2}, {0, 1, 0, 3}}, {x}));
  keep(b.Reshape(x, {4, 64}));
  keep(b.Permute(x, {3, 0, 2, 1}));
  keep(b.Op(op::Expand{{2, 4, 8, 8}}, {x}));
  keep(b.Op(op::Softmax{3, true}, {x}));
  keep(b.Op(op::ArgMax{2, false}, {x}));
  keep(b.Op(op::Reduce{ReduceKind::kMin, {3, 1}, false}, {x}));
  const ValueId head = b.Input({1, 12, 2, 2}, "head");
  const ValueId boxes = b.Op(op::DecodeBoxes{{{16, {10.0f, 13.5f, 16.0f, 30.0f}}}, false}, {head});
  keep(boxes);
  keep(b.Op(op::NonMaxSuppression{0.3f, 0.6f, 7, {}}, {boxes}));
  keep(b.Op(op::NonMaxSuppression{0.3f, 0.6f, 7, {{16, {10.0f, 13.5f, 16.0f, 30.0f}}}}, {head}));
  op::Foreign foreign;
  foreign.type = "aten::cumsum";
  foreign.archive = std::make_shared<const std::string>(std::string("PK\0\1binary", 10));
  foreign.output_shapes = {{1, 4, 8, 8}, {3}};
  foreign.output_types = {DataType::kFloat32, DataType::kInt64};
  keep(b.Op(foreign, {x}));
  Graph graph = b.Finish(outputs);
  graph.picture = {640,
                   384,
                   PictureSpec::Fit::kLetterbox,
                   PictureSpec::Channels::kBgr,
                   7,
                   PictureSpec::Resize::kAntialias,
                   700};
  graph.head = {HeadKind::kYolov8Pose, 3, 17, 3, 0, false, true};
  graph.notes = {"pose", {"person", "it's"}, 32, {384, 640}, {17, 3}, true, true, "a model"};
  return graph;
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

// Behind a right checksum, any damage to the description gives one clear error or a valid graph:
// bytes changed, numbers replaced, parts cut out or doubled.
TEST_F(PackTest, DamagedDescriptionsAreRefusedOrValid) {
  const Bytes whole = Packed(EveryKind());
  const std::string description = DescriptionOf(whole);
  constexpr uint32_t kSeed = 20;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  const std::vector<int64_t> numbers = {-1,
                                        0,
                                        1,
                                        3,
                                        255,
                                        int64_t{1} << 31,
                                        int64_t{1} << 32,
                                        std::numeric_limits<int64_t>::max(),
                                        std::numeric_limits<int64_t>::min()};
  int refused = 0;
  constexpr int kMutations = 4000;
  for (int i = 0; i < kMutations; ++i) {
    std::string text = description;
    const size_t at = random() % text.size();
    switch (random() % 4) {
      case 0:
        text[at] = static_cast<char>(random() % 256);
        break;
      case 1: {
        const int64_t number = numbers[random() % numbers.size()];
        std::memcpy(text.data() + at, &number, std::min(sizeof(number), text.size() - at));
        break;
      }
      case 2:
        text.erase(at, 1 + random() % 40);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), 1 + random() % 40));
        break;
    }
    const Bytes bytes = WithDescription(whole, text);
    try {
      FromMemory(bytes).Validate();
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, kMutations / 2);
}

}  // namespace
}  // namespace cacheinf
