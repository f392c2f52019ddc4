#include "profiler/obtain_profile.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/plan/profile.h"
#include "tests/testing/by_winograd.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {
namespace {

// Two convolutions of a picture, one after the other; only the largest channel comes out.
Graph Convolutions(std::optional<float> last_weight = std::nullopt) {
  Graph graph;
  graph.picture = {64, 48};
  std::mt19937 random(3);
  std::uniform_real_distribution<float> any(-1.0f, 1.0f);
  ValueId value = graph.AddInput("image", {1, 3, 48, 64});
  for (const int64_t channels : {3, 8}) {
    op::Conv conv;
    conv.spec.rows = conv.spec.columns = {3, 1, 1, 1, 1};
    const Shape shape = {8, channels, 3, 3};
    std::vector<float> weights(static_cast<size_t>(ElementCount(shape)));
    for (float& weight : weights) weight = any(random);
    if (channels == 8 && last_weight) weights.back() = *last_weight;
    const ValueId constant =
        graph.AddConstant(fmt::format("weights{}", channels), {shape, std::move(weights)});
    value = graph.AddOne(fmt::format("conv{}", channels), conv, {value, constant});
  }
  graph.outputs = {graph.AddOne("class", op::ArgMax{1}, {value})};
  graph.Validate();
  return graph;
}

class ObtainProfileTest : public FolderTest {
 protected:
  static ProfileRequest RequestFor(Graph graph) {
    ProfileRequest request;
    request.graph = std::make_shared<const Graph>(std::move(graph));
    request.make_backend = [] { return std::make_unique<CpuBackend>(); };
    request.frames = 16;
    request.codecs = {"raw"};
    request.seconds = 0.1;
    return request;
  }

  Profile Obtain(Graph graph, CacheConfig::Policy policy = CacheConfig::Policy::kChange) const {
    ProfileRequest request = RequestFor(std::move(graph));
    request.settings.cache.policy = policy;
    const ObtainedProfile obtained =
        ObtainProfile(request, Path("profile.json"), /*measure_again=*/false, SteadyClock(),
                      [](double, double) { return true; });
    if (!obtained.is_in_file) WriteText("profile.json", ToJsonText(obtained.profile));
    return obtained.profile;
  }
};

TEST_F(ObtainProfileTest, SaysWhatWinogradChanges) {
  const Graph direct = Convolutions();
  const auto by_winograd = [&](size_t op) {
    Schemes schemes(direct.operators.size(), Scheme::kDirect);
    schemes[op] = Scheme::kWinograd;
    Graph graph = direct;
    SetSchemes(graph, schemes);
    return graph;
  };

  const Profile of_direct = Obtain(direct);
  EXPECT_TRUE(of_direct.winograd_layers.empty());
  EXPECT_EQ(of_direct.winograd_difference, 0.0);
  for (const int op : {0, 1}) {
    const Profile profile = Obtain(by_winograd(op));
    EXPECT_EQ(profile.winograd_layers, std::vector{op}) << "not taken for the profile before";
    EXPECT_GT(profile.winograd_difference, 0.0);
    EXPECT_LT(profile.winograd_difference, 1e-4);
    EXPECT_EQ(profile.settings, of_direct.settings);
  }

  // Where bits matter, both sides need the same schemes.
  const auto exact = CacheConfig::Policy::kExact;
  EXPECT_NE(Obtain(direct, exact).settings, Obtain(by_winograd(0), exact).settings);
}

TEST_F(ObtainProfileTest, SaysThatNobodyKnowsWhatWinogradChanges) {
  Graph graph = Convolutions(std::numeric_limits<float>::infinity());
  SetSchemes(graph, WinogradWhereItApplies(graph));
  for (const char* const how : {"measured", "read"}) {
    const Profile profile = Obtain(graph);
    EXPECT_EQ(profile.winograd_difference, std::nullopt) << how;
    EXPECT_EQ(WinogradText(profile), "2 convolutions by Winograd, relative error unknown") << how;
  }
}

TEST_F(ObtainProfileTest, MeasuresAgainForOtherFramesMoreSecondsAndChangedFiles) {
  WriteText("clip.mp4", "1 frame");
  std::filesystem::create_directory(folder_ / "pictures");
  WriteText("pictures/1.png", "1 frame");
  ProfileRequest request = RequestFor(Convolutions());
  request.clips = {"generated", Path("clip.mp4"), Path("pictures")};
  Profile measured = Heading(request);
  measured.operators.resize(1);
  WriteText("profile.json", ToJsonText(measured));
  const auto is_known = [this](const ProfileRequest& asked) {
    return KnownProfile(asked, Path("profile.json")).has_value();
  };

  WriteText("pictures/notes.txt", "no frame");
  ProfileRequest other = request;
  other.seconds = 0.05;
  EXPECT_TRUE(is_known(other)) << "a longer measurement is as good";
  other.seconds = 0.2;
  EXPECT_FALSE(is_known(other));
  other = request;
  other.frames = 17;
  EXPECT_FALSE(is_known(other));

  WriteText("pictures/2.png", "2 frames");
  EXPECT_FALSE(is_known(request)) << "a picture came";
  std::filesystem::remove(folder_ / "pictures/2.png");
  WriteText("clip.mp4", "2 frame");
  EXPECT_FALSE(is_known(request)) << "another film of the same length";

  // As imported, and as a former version wrote it.
  for (const char* const sampled : {"", R"({"clips":[],"codecs":["raw"]})"}) {
    measured.sampled = sampled;
    WriteText("profile.json", ToJsonText(measured));
    EXPECT_EQ(LoadProfile(Path("profile.json")).sampled, sampled);
    EXPECT_FALSE(is_known(request));
  }
}

}  // namespace
}  // namespace cacheinf
