#include "common/source/fitting_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "common/model/picture.h"

namespace cacheinf {
namespace {

// Pictures of these sizes; an empty frame where one is 0.
class Pictures final : public FrameSource {
 public:
  Pictures(std::vector<std::pair<int, int>> sizes, uint32_t seed)
      : sizes_(std::move(sizes)), random_(seed) {}

  std::optional<Frame> Next() override {
    if (next_ == sizes_.size()) return std::nullopt;
    const auto [width, height] = sizes_[next_];
    Frame frame;
    frame.index = static_cast<int64_t>(next_++);
    if (width == 0) {
      frame.tensor = Tensor({1}, {1.0f});
      return frame;
    }
    std::vector<uint8_t> pixels(static_cast<size_t>(width * height * 3));
    std::generate(pixels.begin(), pixels.end(),
                  [this] { return static_cast<uint8_t>(random_() & 255); });
    frame.picture = MakePicture(width, height, 3, std::move(pixels));
    return frame;
  }
  int64_t skipped() const override { return 5; }
  bool is_live() const override { return true; }
  bool has_tensors() const override { return false; }
  double frame_rate() const override { return 12.5; }
  int truth_class_count() const override { return 3; }

 private:
  std::vector<std::pair<int, int>> sizes_;
  std::mt19937 random_;
  size_t next_ = 0;
};

PictureSpec Spec() {
  PictureSpec spec;
  spec.width = 32;
  spec.height = 24;
  spec.fit = PictureSpec::Fit::kLetterbox;
  return spec;
}

TEST(FittingSourceTest, GivesThePictureThatTheModelTakes) {
  const auto seed = static_cast<uint32_t>(std::random_device()());
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const ManualClock clock;
  const std::vector<std::pair<int, int>> sizes = {{64, 48}, {64, 48}, {33, 57}, {64, 48}};
  FittingSource source(std::make_unique<Pictures>(sizes, seed), Spec(), clock);
  Pictures expected(sizes, seed);
  std::shared_ptr<const PictureFit> last;
  for (const auto& [width, height] : sizes) {
    const std::optional<Frame> frame = source.Next();
    ASSERT_TRUE(frame);
    ASSERT_TRUE(frame->fitted);
    const Frame plain = *expected.Next();
    EXPECT_EQ(frame->index, plain.index);
    std::vector<uint8_t> pixels(32 * 24 * 3);
    PictureFit(Spec(), width, height).Resize(plain.picture, {0, 24}, pixels.data());
    EXPECT_EQ(frame->fitted->pixels, pixels);
    EXPECT_EQ(frame->fitted->fit->columns().frame_size, width);
    EXPECT_EQ(frame->fitted->fit->rows().frame_size, height);
    if (frame->index == 1) {
      EXPECT_EQ(frame->fitted->fit, last) << "the same for one size";
    }
    last = frame->fitted->fit;
  }
  EXPECT_FALSE(source.Next());
}

TEST(FittingSourceTest, GivesWhatItCannotFitAsItIs) {
  const ManualClock clock;
  PictureSpec spec = Spec();
  FittingSource source(std::make_unique<Pictures>(std::vector<std::pair<int, int>>{{0, 0}}, 1),
                       spec, clock);
  const std::optional<Frame> frame = source.Next();
  ASSERT_TRUE(frame);
  EXPECT_FALSE(frame->fitted);
  EXPECT_EQ(frame->tensor.count(), 1);
}

TEST(FittingSourceTest, SaysOfItsSourceWhatTheSourceSays) {
  const ManualClock clock;
  const FittingSource source(std::make_unique<Pictures>(std::vector<std::pair<int, int>>{}, 1),
                             Spec(), clock);
  EXPECT_EQ(source.skipped(), 5);
  EXPECT_TRUE(source.is_live());
  EXPECT_FALSE(source.has_tensors());
  EXPECT_EQ(source.frame_rate(), 12.5);
  EXPECT_EQ(source.truth_class_count(), 3);
}

}  // namespace
}  // namespace cacheinf
