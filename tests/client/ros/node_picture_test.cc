#include "client/ros/node_picture.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "common/source/opencv_picture.h"
#include "tests/testing/peak_memory.h"
#include "tests/testing/refusal.h"

// How a camera's bytes become pictures.

namespace cacheinf {
namespace {

constexpr int kSceneWidth = 24;
constexpr int kSceneHeight = 10;

// A smooth picture, so that what was left out can be filled in again.
cv::Mat Scene() {
  cv::Mat scene(kSceneHeight, kSceneWidth, CV_8UC3);
  for (int y = 0; y < kSceneHeight; ++y) {
    for (int x = 0; x < kSceneWidth; ++x) {
      scene.at<cv::Vec3b>(y, x) =
          cv::Vec3b(static_cast<uint8_t>(60 + 5 * x), static_cast<uint8_t>(200 - 12 * y),
                    static_cast<uint8_t>(30 + 3 * x + 6 * y));
    }
  }
  return scene;
}

NodeImage ImageOver(const cv::Mat& pixels, std::string_view encoding) {
  NodeImage image;
  image.encoding = encoding;
  image.width = pixels.cols;
  image.height = pixels.rows;
  image.row_bytes = static_cast<int64_t>(pixels.step[0]);
  image.bytes = {pixels.data, pixels.step[0] * static_cast<size_t>(pixels.rows)};
  return image;
}

NodeImage CompressedOver(const std::vector<uint8_t>& file) {
  NodeImage image;
  image.is_compressed = true;
  image.bytes = file;
  return image;
}

cv::Mat Converted(const cv::Mat& scene, int conversion) {
  cv::Mat converted;
  cv::cvtColor(scene, converted, conversion);
  return converted;
}

double FurthestFrom(const cv::Mat& scene, const Picture& picture) {
  return cv::norm(scene, ImageOf(picture), cv::NORM_INF);
}

std::string WhyRefused(const NodeImage& image) {
  return RefusalOf([&] { (void)PictureOf(image); });
}

// As cameras send them: U Y V Y, or Y U Y V.
cv::Mat Packed(const cv::Mat& scene, bool luma_first) {
  // Levels of 16 to 235, as video has them.
  cv::Mat packed(scene.rows, scene.cols, CV_8UC2);
  for (int y = 0; y < scene.rows; ++y) {
    for (int x = 0; x < scene.cols; x += 2) {
      const auto& of = scene.at<cv::Vec3b>(y, x);
      const double blue = of[0];
      const double green = of[1];
      const double red = of[2];
      const auto luma = [&](const cv::Vec3b& at) {
        return cv::saturate_cast<uint8_t>(16 + 0.257 * at[2] + 0.504 * at[1] + 0.098 * at[0]);
      };
      const auto u = cv::saturate_cast<uint8_t>(128 - 0.148 * red - 0.291 * green + 0.439 * blue);
      const auto v = cv::saturate_cast<uint8_t>(128 + 0.439 * red - 0.368 * green - 0.071 * blue);
      const uint8_t first = luma(of);
      const uint8_t second = luma(scene.at<cv::Vec3b>(y, x + 1));
      packed.at<cv::Vec2b>(y, x) = luma_first ? cv::Vec2b(first, u) : cv::Vec2b(u, first);
      packed.at<cv::Vec2b>(y, x + 1) = luma_first ? cv::Vec2b(second, v) : cv::Vec2b(v, second);
    }
  }
  return packed;
}

// `pattern` names the colours of a cell of 2 x 2 pixels, row by row.
cv::Mat Mosaic(const cv::Mat& scene, const std::string& pattern) {
  cv::Mat mosaic(scene.rows, scene.cols, CV_8UC1);
  for (int y = 0; y < scene.rows; ++y) {
    for (int x = 0; x < scene.cols; ++x) {
      const char colour = pattern[static_cast<size_t>(2 * (y % 2) + x % 2)];
      mosaic.at<uint8_t>(y, x) = scene.at<cv::Vec3b>(y, x)[colour == 'b'   ? 0
                                                           : colour == 'g' ? 1
                                                                           : 2];
    }
  }
  return mosaic;
}

TEST(NodePictureTest, EncodingsWithoutLossGiveThePicture) {
  const cv::Mat scene = Scene();
  EXPECT_EQ(FurthestFrom(scene, PictureOf(ImageOver(scene, "bgr8"))), 0);
  EXPECT_EQ(FurthestFrom(scene, PictureOf(ImageOver(Converted(scene, cv::COLOR_BGR2RGB), "rgb8"))),
            0);
  EXPECT_EQ(
      FurthestFrom(scene, PictureOf(ImageOver(Converted(scene, cv::COLOR_BGR2BGRA), "bgra8"))), 0);
  EXPECT_EQ(
      FurthestFrom(scene, PictureOf(ImageOver(Converted(scene, cv::COLOR_BGR2RGBA), "rgba8"))), 0);
  const cv::Mat grey = Converted(scene, cv::COLOR_BGR2GRAY);
  const Picture picture = PictureOf(ImageOver(grey, "mono8"));
  EXPECT_EQ(picture.channels, 1);
  EXPECT_EQ(FurthestFrom(grey, picture), 0);
}

TEST(NodePictureTest, EncodingsWithLossGiveNearlyThePicture) {
  const cv::Mat scene = Scene();
  constexpr double kNear = 12;  // colours of two pixels are one
  for (const char* name : {"yuv422", "uyvy"}) {
    EXPECT_LE(FurthestFrom(scene, PictureOf(ImageOver(Packed(scene, false), name))), kNear) << name;
  }
  for (const char* name : {"yuv422_yuy2", "yuyv"}) {
    EXPECT_LE(FurthestFrom(scene, PictureOf(ImageOver(Packed(scene, true), name))), kNear) << name;
  }
  for (const char* pattern : {"rggb", "bggr", "gbrg", "grbg"}) {
    const std::string name = std::string("bayer_") + pattern + "8";
    const Picture picture = PictureOf(ImageOver(Mosaic(scene, pattern), name));
    EXPECT_LE(FurthestFrom(scene, picture), 2 * kNear) << name;
  }
}

TEST(NodePictureTest, APictureIsACopyWithoutThePaddingOfRows) {
  cv::Mat wide(kSceneHeight, kSceneWidth + 5, CV_8UC3, cv::Scalar::all(255));
  Scene().copyTo(wide.colRange(0, kSceneWidth));
  NodeImage image = ImageOver(wide, "bgr8");
  image.width = kSceneWidth;
  const Picture picture = PictureOf(image);
  wide.setTo(0);
  EXPECT_EQ(FurthestFrom(Scene(), picture), 0);
}

TEST(NodePictureTest, WhatDoesNotFitIsRefusedByName) {
  const cv::Mat scene = Scene();
  const NodeImage good = ImageOver(scene, "bgr8");
  NodeImage image = good;
  for (const char* encoding : {"", "32FC1", "16UC1", "BGR8", "bayer_rggb16", "nv12"}) {
    image.encoding = encoding;
    EXPECT_NE(WhyRefused(image).find(std::string("'") + encoding + "'"), std::string::npos);
  }
  const std::string long_name(1 << 20, 'x');
  image.encoding = long_name;
  EXPECT_LT(WhyRefused(image).size(), 400U);

  image.encoding = "mono8\n12:00 error a line of its own \xff";
  EXPECT_NE(WhyRefused(image).find("'mono8?12:00 error a line of its own ?'"), std::string::npos);

  const auto refusal = [&](const auto& change) {
    NodeImage changed = good;
    change(changed);
    return WhyRefused(changed);
  };
  EXPECT_NE(refusal([](NodeImage& of) { of.width = 0; }).find("0x10"), std::string::npos);
  EXPECT_NE(refusal([](NodeImage& of) { of.height = -1; }).find("24x-1"), std::string::npos);
  EXPECT_NE(refusal([](NodeImage& of) { of.width = INT64_MAX; }).find("too large"),
            std::string::npos);
  EXPECT_NE(refusal([](NodeImage& of) { of.row_bytes = 71; }).find("rows of 71 bytes"),
            std::string::npos);
  EXPECT_NE(refusal([](NodeImage& of) { of.row_bytes = INT64_MAX; }).find("720 bytes"),
            std::string::npos);
  EXPECT_NE(refusal([](NodeImage& of) { of.bytes = of.bytes.first(719); }).find("719 bytes"),
            std::string::npos);
  EXPECT_NE(refusal([](NodeImage& of) { ++of.row_bytes; }).find("10 rows of 73"),
            std::string::npos);
  EXPECT_NE(refusal([](NodeImage& of) { of.bytes = {}; }).find("0 bytes"), std::string::npos);
  EXPECT_NE(refusal([](NodeImage& of) {
              of.encoding = "yuv422";
              of.width = 23;
            }).find("23x10"),
            std::string::npos);
  EXPECT_NE(refusal([](NodeImage& of) {
              of.encoding = "bayer_rggb8";
              of.height = 9;
            }).find("24x9"),
            std::string::npos);
}

TEST(NodePictureTest, CompressedImagesGiveWhatOpenCvReads) {
  const cv::Mat scene = Scene();
  for (const char* ending : {".jpg", ".png"}) {
    for (const bool is_grey : {false, true}) {
      std::vector<uint8_t> file;
      cv::imencode(ending, is_grey ? Converted(scene, cv::COLOR_BGR2GRAY) : scene, file);
      const Picture picture = PictureOf(CompressedOver(file));
      EXPECT_EQ(picture.channels, is_grey ? 1 : 3);
      EXPECT_EQ(FurthestFrom(cv::imdecode(file, cv::IMREAD_UNCHANGED), picture), 0) << ending;
    }
  }
  std::vector<uint8_t> file;
  cv::imencode(".png", Converted(scene, cv::COLOR_BGR2BGRA), file);
  EXPECT_EQ(FurthestFrom(scene, PictureOf(CompressedOver(file))), 0) << "without its opacity";
  cv::imencode(".png", cv::Mat(8, 8, CV_16UC1, cv::Scalar(700)), file);
  EXPECT_NE(WhyRefused(CompressedOver(file)).find("16 bits"), std::string::npos);
}

TEST(NodePictureTest, DamagedFilesAreRefused) {
  cv::Mat scene(64, 64, CV_8UC3);
  cv::randu(scene, 0, 256);
  for (const char* ending : {".jpg", ".png"}) {
    std::vector<uint8_t> file;
    cv::imencode(ending, scene, file);
    for (const size_t size : {size_t{0}, size_t{1}, size_t{8}, size_t{30}, file.size() / 2}) {
      EXPECT_NE(WhyRefused(CompressedOver(
                    {file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)})),
                "")
          << ending << size;
    }
    std::mt19937 random(7);
    for (int i = 0; i < 200; ++i) {
      std::vector<uint8_t> damaged = file;
      for (int j = 0; j < 3; ++j) damaged[random() % damaged.size()] ^= 1U << random() % 8;
      (void)WhyRefused(CompressedOver(damaged));  // or a picture
    }
  }
  EXPECT_NE(WhyRefused(CompressedOver({'G', 'I', 'F', '8', '9', 'a', 0, 0})), "");
}

// Two numbers in its head are all that is huge.
TEST(NodePictureTest, AFileThatPromisesAHugePictureIsRefusedBeforeMemoryIsTaken) {
  std::vector<uint8_t> png;
  cv::imencode(".png", cv::Mat(4, 4, CV_8UC1, cv::Scalar(9)), png);
  const uint8_t side[4] = {0, 1, 0x86, 0xa0};  // 100,000
  std::memcpy(png.data() + 16, side, 4);
  std::memcpy(png.data() + 20, side, 4);
  // The head's checksum, of the 17 bytes from byte 12 on.
  uint32_t sum = ~uint32_t{0};
  for (size_t i = 12; i < 29; ++i) {
    sum ^= png[i];
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xedb88320U : 0);
  }
  sum = ~sum;
  for (size_t i = 0; i < 4; ++i) png[29 + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));

  std::vector<uint8_t> jpeg;
  cv::imencode(".jpg", cv::Mat(16, 16, CV_8UC3, cv::Scalar::all(9)), jpeg);
  size_t head = 0;  // of the frame: FF C0, length, 8 bits, height, width
  while (jpeg[head] != 0xff || jpeg[head + 1] != 0xc0) ++head;
  for (size_t i = 5; i < 9; ++i) jpeg[head + i] = 0xfa;

  const int64_t before = PeakMebibytes();
  EXPECT_NE(WhyRefused(CompressedOver(png)), "");
  EXPECT_NE(WhyRefused(CompressedOver(jpeg)).find("64250x64250"), std::string::npos);
  EXPECT_LT(PeakMebibytes() - before, 64);
}

TEST(NodePictureTest, TenThousandByTenThousandPixelsAreRefused) {
  const cv::Mat pixels(10000, 10000, CV_8UC1, cv::Scalar(7));
  EXPECT_NE(WhyRefused(ImageOver(pixels, "mono8")).find("10000x10000"), std::string::npos);
  const Picture most = PictureOf(ImageOver(pixels.rowRange(0, 6710), "mono8"));
  EXPECT_EQ(most.height, 6710);
}

}  // namespace
}  // namespace cacheinf
