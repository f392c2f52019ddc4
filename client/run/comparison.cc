#include "client/run/comparison.h"

#include <opencv2/core.hpp>
#include <vector>

#include "common/answer/overlay.h"
#include "common/base/file.h"
#include "common/source/opencv_picture.h"

namespace cacheinf {
namespace {

constexpr int kGap = 4;  // between the pictures, in pixels

// The truth as an answer of the frame's size.
ClassMap TruthOf(const Picture& truth) {
  ClassMap map{truth.width, truth.height, {}};
  map.classes.reserve(static_cast<size_t>(truth.width) * static_cast<size_t>(truth.height));
  for (int y = 0; y < truth.height; ++y) {
    map.classes.insert(map.classes.end(), truth.Row(y), truth.Row(y) + truth.width);
  }
  return map;
}

}  // namespace

void WriteComparison(const std::string& path, const Frame& frame, const PictureFit& fit,
                     const AnswerContent& content, const AnswerReader& reader,
                     const ClassMap* recomputed) {
  std::vector<Picture> pictures = {frame.picture, DrawAnswer(frame.picture, fit, content, reader)};
  if (!frame.truth.empty()) {
    PictureSpec whole;
    whole.width = frame.truth.width;
    whole.height = frame.truth.height;
    const PictureFit identity(whole, frame.truth.width, frame.truth.height);
    pictures.push_back(DrawAnswer(frame.picture, identity, TruthOf(frame.truth), reader));
  }
  if (recomputed != nullptr) {
    pictures.push_back(DrawRecomputed(frame.picture, fit, *recomputed));
  }
  std::vector<cv::Mat> row;
  for (const Picture& picture : pictures) {
    if (!row.empty()) row.emplace_back(picture.height, kGap, CV_8UC3, cv::Scalar::all(255));
    row.push_back(ColourCopy(picture));
  }
  cv::Mat sheet;
  cv::hconcat(row, sheet);
  WriteWhole(path, PngOf(sheet));
}

}  // namespace cacheinf
