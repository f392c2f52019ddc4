#include "common/codec/picture_codec.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "common/base/error.h"
#include "common/base/little_endian.h"
#include "common/base/number_text.h"
#include "common/codec/block_codec.h"
#include "common/codec/gst_encoder.h"
#include "common/codec/still_picture.h"
#include "common/codec/video_codec.h"

namespace cacheinf {
namespace {

constexpr size_t kPictureHeaderBytes = 13;
constexpr uint8_t kPictureMagic = 'P';
constexpr uint8_t kPictureVersion = 1;

constexpr int kUsualJpegQuality = 85;
constexpr int kUsualBlockQuality = 90;
constexpr const char* kUsualVideoEncoder = "libx264";
constexpr std::string_view kGst = "video:gst:";

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(':', begin);
    parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return parts;
}

int ReadQuality(const std::string& text) {
  const auto quality = NumberIn<int>(text);
  if (!quality || *quality < 1 || *quality > 100) {
    throw InputError("codec: \"", text, "\" is not a JPEG quality from 1 to 100");
  }
  return *quality;
}

// x264 accepts any number, but takes the nearest of these.
void CheckCrf(const std::string& text) {
  constexpr double kWorst = 51;
  const std::optional<double> crf = NumberIn<double>(text);
  if (crf && !(*crf >= 0 && *crf <= kWorst)) {
    throw InputError("codec: \"", text, "\" is not a crf from 0 to 51");
  }
}

void ReadVideo(const std::vector<std::string>& parts, PictureCodec* codec) {
  size_t next = 1;
  const bool is_named = next < parts.size() && parts[next].find('=') == std::string::npos;
  codec->video_encoder = is_named ? parts[next++] : kUsualVideoEncoder;
  if (codec->video_encoder == kUsualVideoEncoder) {
    codec->video_options = {
        {"preset", "ultrafast"}, {"tune", "zerolatency"}, {"crf", "23"}, {"sc_threshold", "0"}};
    // Ultrafast only finds motion by whole pixels. Other presets have their own subq.
    const bool has_preset = std::ranges::any_of(
        parts, [](const std::string& part) { return part.starts_with("preset="); });
    if (!has_preset) codec->video_options.emplace_back("subq", "1");
  }
  for (; next < parts.size(); ++next) {
    const size_t equals = parts[next].find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw InputError("codec: \"", parts[next], "\" is not an option=value of a video encoder");
    }
    const std::string option = parts[next].substr(0, equals);
    const std::string value = parts[next].substr(equals + 1);
    if (option == "crf" && codec->video_encoder == kUsualVideoEncoder) CheckCrf(value);
    codec->video_options.emplace_back(option, value);
  }
}

bool StandsAlone(PictureCodecKind kind) {
  return kind != PictureCodecKind::kBlocks && kind != PictureCodecKind::kVideo;
}

}  // namespace

bool PictureCodec::is_lossless() const {
  return kind == PictureCodecKind::kRaw || kind == PictureCodecKind::kPng ||
         (kind == PictureCodecKind::kBlocks && jpeg_quality == 0);
}

bool PictureCodec::stands_alone() const { return StandsAlone(kind); }

PictureCodec ParsePictureCodec(const std::string& text) {
  if (text.starts_with(kGst)) {
    std::string pipeline = text.substr(kGst.size());
    if (pipeline.find_first_not_of(' ') == pipeline.npos) {
      throw InputError("codec \"", text, "\" names no element of GStreamer");
    }
    return {.kind = PictureCodecKind::kVideo, .gst_pipeline = std::move(pipeline)};
  }
  const std::vector<std::string> parts = Split(text);
  const std::optional<PictureCodecKind> kind = ValueOf<PictureCodecKind>(parts[0]);
  if (!kind) throw InputError("codec \"", text, "\" is not raw, png, jpeg, blocks or video");
  PictureCodec codec;
  codec.kind = *kind;
  if (codec.kind == PictureCodecKind::kVideo) {
    ReadVideo(parts, &codec);
    return codec;
  }
  const bool is_jpeg = codec.kind == PictureCodecKind::kJpeg;
  const bool is_blocks = codec.kind == PictureCodecKind::kBlocks;
  if (parts.size() > (is_jpeg || is_blocks ? 2 : 1)) {
    throw InputError("codec \"", text, "\" says more than ", parts[0], " knows");
  }
  if (is_jpeg || is_blocks) {
    codec.jpeg_quality = is_jpeg ? kUsualJpegQuality : kUsualBlockQuality;
    if (parts.size() == 2) {
      codec.jpeg_quality = is_blocks && parts[1] == "raw" ? 0 : ReadQuality(parts[1]);
    }
  }
  return codec;
}

class PictureEncoder::Impl {
 public:
  Impl(const PictureCodec& codec, const PictureFormat& format) : codec_(codec), format_(format) {
    if (codec.kind == PictureCodecKind::kBlocks) blocks_.emplace(format, codec.jpeg_quality);
    if (!codec.gst_pipeline.empty()) {
      gst_.emplace(format, codec.gst_pipeline);
    } else if (codec.kind == PictureCodecKind::kVideo) {
      video_.emplace(format, codec);
    }
  }

  void Append(const PictureView& picture, std::vector<uint8_t>* bytes) {
    const bool alone = begins_ || StandsAlone(codec_.kind);
    const size_t begin = bytes->size();
    bytes->resize(begin + kPictureHeaderBytes);
    uint8_t* const header = bytes->data() + begin;
    header[0] = kPictureMagic;
    header[1] = kPictureVersion;
    header[2] = static_cast<uint8_t>(codec_.kind);
    header[3] = alone ? 1 : 0;
    PutLittleEndian(static_cast<uint16_t>(format_.width), header + 4);
    PutLittleEndian(static_cast<uint16_t>(format_.height), header + 6);
    header[8] = static_cast<uint8_t>(format_.channels);
    PutLittleEndian(number_++, header + 9);
    begins_ = true;  // unless this one succeeds
    switch (codec_.kind) {
      case PictureCodecKind::kRaw:
        bytes->insert(bytes->end(), picture.pixels, picture.pixels + picture.byte_count());
        break;
      case PictureCodecKind::kPng:
        AppendPng(picture.pixels, format_, bytes);
        break;
      case PictureCodecKind::kJpeg:
        AppendJpeg(picture.pixels, format_, codec_.jpeg_quality, bytes);
        break;
      case PictureCodecKind::kBlocks:
        blocks_->Append(picture.pixels, alone, bytes);
        break;
      case PictureCodecKind::kVideo:
        if (gst_) {
          gst_->Append(picture.pixels, alone, bytes);
        } else {
          video_->Append(picture.pixels, alone, bytes);
        }
        break;
    }
    begins_ = false;
  }

  void Reset() { begins_ = true; }

 private:
  PictureCodec codec_;
  PictureFormat format_;
  uint32_t number_ = 0;
  bool begins_ = true;
  std::optional<BlockEncoder> blocks_;
  std::optional<VideoEncoder> video_;
  std::optional<GstEncoder> gst_;
};

PictureEncoder::PictureEncoder(const PictureCodec& codec, const PictureFormat& format)
    : impl_(std::make_unique<Impl>(codec, format)) {}
PictureEncoder::~PictureEncoder() = default;
PictureEncoder::PictureEncoder(PictureEncoder&&) noexcept = default;
PictureEncoder& PictureEncoder::operator=(PictureEncoder&&) noexcept = default;

void PictureEncoder::Append(const PictureView& picture, std::vector<uint8_t>* bytes) {
  impl_->Append(picture, bytes);
}

void PictureEncoder::Reset() { impl_->Reset(); }

class PictureDecoder::Impl {
 public:
  explicit Impl(const PictureFormat& format)
      : format_(format), pixels_(format.byte_count()), blocks_(format), video_(format) {}

  const char* Decode(std::span<const uint8_t> bytes) {
    const bool waited = std::exchange(waits_, true);  // unless this one succeeds
    if (bytes.size() < kPictureHeaderBytes || bytes[0] != kPictureMagic)
      return "these bytes are not a picture";
    if (bytes[1] != kPictureVersion) return "a picture has another version";
    const auto kind = static_cast<PictureCodecKind>(bytes[2]);
    const bool alone = bytes[3] == 1;
    if (bytes[2] >= WordsOf(kind).size()) return "a picture's codec is unknown";
    if (bytes[3] > 1 || (StandsAlone(kind) && !alone)) {
      return "a picture's header has bits that mean nothing";
    }
    if (LittleEndianAt<uint16_t>(&bytes[4]) != format_.width ||
        LittleEndianAt<uint16_t>(&bytes[6]) != format_.height || bytes[8] != format_.channels) {
      return "a picture has another size than the model's";
    }
    const auto number = LittleEndianAt<uint32_t>(&bytes[9]);
    if (!alone && (waited || kind != kind_ || number != number_ + 1)) {
      return "a picture depends on one that did not arrive";
    }
    kind_ = kind;
    number_ = number;
    const char* error = Read(kind, alone, bytes.subspan(kPictureHeaderBytes));
    waits_ = error != nullptr;
    return error;
  }

  PictureView picture() const {
    return {pixels_.data(), format_.width, format_.height, format_.channels};
  }

 private:
  const char* Read(PictureCodecKind kind, bool alone, std::span<const uint8_t> bytes) {
    switch (kind) {
      case PictureCodecKind::kRaw:
        if (bytes.size() != pixels_.size()) return "a raw picture has another size than it says";
        std::memcpy(pixels_.data(), bytes.data(), bytes.size());
        return nullptr;
      case PictureCodecKind::kPng:
        return ReadPng(bytes, format_, pixels_.data());
      case PictureCodecKind::kJpeg:
        return ReadJpeg(bytes, format_, JpegColours::kSmooth, pixels_.data());
      case PictureCodecKind::kBlocks:
        return blocks_.Decode(bytes, alone, pixels_.data());
      case PictureCodecKind::kVideo:
        return video_.Decode(bytes, alone, pixels_.data());
    }
    return "a picture's codec is unknown";
  }

  PictureFormat format_;
  std::vector<uint8_t> pixels_;
  BlockDecoder blocks_;
  VideoDecoder video_;
  PictureCodecKind kind_ = PictureCodecKind::kRaw;
  uint32_t number_ = 0;
  bool waits_ = true;
};

PictureDecoder::PictureDecoder(const PictureFormat& format)
    : impl_(std::make_unique<Impl>(format)) {}
PictureDecoder::~PictureDecoder() = default;

const char* PictureDecoder::Decode(std::span<const uint8_t> bytes) { return impl_->Decode(bytes); }

PictureView PictureDecoder::picture() const { return impl_->picture(); }

}  // namespace cacheinf
