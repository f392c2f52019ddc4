#include "tests/bench/changed_bytes.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <opencv2/core.hpp>
#include <utility>

#include "sparse_ops/mask/mask.h"
#include "sparse_ops/mask/wire.h"
#include "tests/bench/timing.h"

namespace cacheinf {
namespace {

// A value as pixels whose numbers lie together.
struct Pixels {
  ConstImageView image;

  explicit Pixels(const ConstTensorView& tensor) {
    const int count = static_cast<int>(tensor.Count());
    image = tensor.rank == 4 ? AsImage(tensor)
                             : ConstImageView{tensor.data, 1, 1, 1, count, count, count, count};
  }

  size_t pixel_bytes() const { return static_cast<size_t>(image.channels) * sizeof(float); }
  size_t count() const {
    return static_cast<size_t>(image.batch) * static_cast<size_t>(image.height) *
           static_cast<size_t>(image.width) * static_cast<size_t>(image.channels);
  }

  // Calls visit(y, x, numbers) in row order.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (int n = 0; n < image.batch; ++n) {
      for (int y = 0; y < image.height; ++y) {
        for (int x = 0; x < image.width; ++x) visit(y, x, image.Pixel(n, y, x));
      }
    }
  }
};

}  // namespace

// Number formats, and zstd with its memory.
struct ChangedBytes::Codecs {
  struct Packed {
    cv::Mat numbers;
    double encode_ms = 0;
    double decode_ms = 0;
  };

  static Packed Convert(const cv::Mat& numbers, int type, double scale) {
    Packed packed;
    cv::Mat back;
    packed.encode_ms += TimeOnce([&] { numbers.convertTo(packed.numbers, type, scale); });
    packed.decode_ms += TimeOnce([&] { packed.numbers.convertTo(back, CV_32F, 1 / scale); });
    return packed;
  }

  static Packed ToInt8(const cv::Mat& numbers, bool is_picture) {
    if (is_picture) return Convert(numbers, CV_8U, 1.0);
    double largest = 0;
    const double ms = TimeOnce([&] { largest = cv::norm(numbers, cv::NORM_INF); });
    constexpr double kLargestByte = 127.0;
    Packed packed = Convert(numbers, CV_8S, largest == 0 ? 1.0 : kLargestByte / largest);
    packed.encode_ms += ms;
    return packed;
  }

  static CodedValue Raw(const Packed& packed) {
    return {static_cast<int64_t>(packed.numbers.total() * packed.numbers.elemSize()),
            packed.encode_ms, packed.decode_ms};
  }

  CodedValue Compress(const Packed& packed) {
    const size_t bytes = packed.numbers.total() * packed.numbers.elemSize();
    compressed.resize(std::max(compressed.size(), ZSTD_compressBound(bytes)));
    again.resize(std::max(again.size(), bytes));
    CodedValue coded = {0, packed.encode_ms, packed.decode_ms};
    size_t size = 0;
    coded.encode_ms += TimeOnce([&] {
      size = ZSTD_compressCCtx(compressor.get(), compressed.data(), compressed.size(),
                               packed.numbers.data, bytes, /*compressionLevel=*/1);
    });
    coded.decode_ms += TimeOnce([&] {
      ZSTD_decompressDCtx(decompressor.get(), again.data(), again.size(), compressed.data(), size);
    });
    coded.bytes = static_cast<int64_t>(size);
    return coded;
  }

  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> compressor{ZSTD_createCCtx(), ZSTD_freeCCtx};
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> decompressor{ZSTD_createDCtx(), ZSTD_freeDCtx};
  std::vector<char> compressed;
  std::vector<char> again;
};

ChangedBytes::ChangedBytes(const ModelState& state, std::vector<ValueId> values)
    : state_(state),
      values_(std::move(values)),
      remembered_(state.graph().values.size()),
      codecs_(std::make_unique<Codecs>()) {}

ChangedBytes::~ChangedBytes() = default;

void ChangedBytes::Remember() {
  for (const ValueId value : values_) {
    const Pixels pixels(state_.view(value));
    std::vector<float>& numbers = remembered_[value];
    numbers.resize(pixels.count());
    float* next = numbers.data();
    pixels.ForEach([&](int, int, const float* pixel) {
      std::memcpy(next, pixel, pixels.pixel_bytes());
      next += pixels.image.channels;
    });
  }
}

std::vector<CodedForms> ChangedBytes::Encode() {
  std::vector<CodedForms> forms(remembered_.size());
  for (const ValueId value : values_) forms[value] = EncodeValue(value);
  return forms;
}

CodedForms ChangedBytes::EncodeValue(ValueId value) {
  const Pixels pixels(state_.view(value));
  Mask mask(pixels.image.height, pixels.image.width);
  const MaskView bits = mask;
  const float* old = remembered_[value].data();
  pixels.ForEach([&](int y, int x, const float* pixel) {
    if (std::memcmp(old, pixel, pixels.pixel_bytes()) != 0) bits.Set(y, x);
    old += pixels.image.channels;
  });
  if (IsEmpty(mask)) return {};
  std::vector<uint8_t> mask_bytes(MaxEncodedMaskBytes(mask.view().height, mask.view().width));
  changed_.resize(std::max(changed_.size(), pixels.count()));
  int64_t mask_size = 0;
  int count = 0;
  const double gather_ms = TimeOnce([&] {
    mask_size = static_cast<int64_t>(EncodeMask(mask, mask_bytes.data()));
    pixels.ForEach([&](int y, int x, const float* pixel) {
      if (!bits.Test(y, x)) return;
      std::memcpy(changed_.data() + count, pixel, pixels.pixel_bytes());
      count += pixels.image.channels;
    });
  });
  const cv::Mat numbers(1, count, CV_32F, changed_.data());
  const Codecs::Packed fp32 = {numbers};
  const bool is_picture = state_.graph().value(value).producer == kNone;
  // The words of an 8-bit map cross as they are.
  const bool converts = !state_.graph().value(value).is_eight_bit();
  const Codecs::Packed fp16 = converts ? Codecs::Convert(numbers, CV_16F, 1.0) : fp32;
  const Codecs::Packed int8 = converts ? Codecs::ToInt8(numbers, is_picture) : fp32;
  CodedForms forms = {Codecs::Raw(fp32),       Codecs::Raw(fp16),       Codecs::Raw(int8),
                      codecs_->Compress(fp32), codecs_->Compress(fp16), codecs_->Compress(int8)};
  for (CodedValue& form : forms) {
    form.bytes += mask_size;
    form.encode_ms += gather_ms;
    form.decode_ms += gather_ms;  // scattering them takes about as long
  }
  return forms;
}

}  // namespace cacheinf
