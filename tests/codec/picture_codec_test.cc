// Read this first: a stream of pictures is encoded and decoded. Lossless codecs return the same
// bytes; damaged or missing pictures are refused.

#include "common/codec/picture_codec.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/source/frame_source.h"
#include "tests/codec/pictures.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

constexpr size_t kHeaderBytes = 13;
constexpr PictureFormat kFormat = {161, 95, 3, true};

// Which blocks of `side` pixels differ, row by row.
std::vector<bool> ChangedBlocks(const Bytes& a, const Bytes& b, const PictureFormat& format,
                                int side) {
  const int columns = (format.width + side - 1) / side;
  std::vector<bool> changed(static_cast<size_t>(columns) * ((format.height + side - 1) / side));
  for (size_t i = 0; i < a.size(); ++i) {
    const int pixel = static_cast<int>(i) / format.channels;
    const int block = pixel / format.width / side * columns + pixel % format.width / side;
    if (a[i] != b[i]) changed[static_cast<size_t>(block)] = true;
  }
  return changed;
}

std::string ParseError(const std::string& text) {
  return RefusalOf([&] { ParsePictureCodec(text); });
}

std::string EncoderError(const std::string& text) {
  return RefusalOf([&] {
    PictureEncoder encoder(ParsePictureCodec(text), kFormat);
    Encode(encoder, Bytes(kFormat.byte_count()), kFormat);
  });
}

TEST(PictureCodecTest, ATextNamesACodec) {
  EXPECT_EQ(ParsePictureCodec("raw").kind, PictureCodecKind::kRaw);
  EXPECT_EQ(ParsePictureCodec("jpeg").jpeg_quality, 85);
  EXPECT_EQ(ParsePictureCodec("jpeg:1").jpeg_quality, 1);
  EXPECT_EQ(ParsePictureCodec("jpeg:100").jpeg_quality, 100);
  EXPECT_EQ(ParsePictureCodec("blocks").jpeg_quality, 90);
  EXPECT_FALSE(ParsePictureCodec("blocks:50").is_lossless());
  EXPECT_TRUE(ParsePictureCodec("blocks:raw").is_lossless());
  EXPECT_TRUE(ParsePictureCodec("png").is_lossless());
  EXPECT_FALSE(ParsePictureCodec("video").is_lossless());
  const PictureCodec video = ParsePictureCodec("video:crf=18");
  EXPECT_EQ(video.video_encoder, "libx264");
  EXPECT_EQ(video.video_options.back(), std::pair(std::string("crf"), std::string("18")));
  const auto has_own_subpixels = [](const char* text) {
    const auto options = ParsePictureCodec(text).video_options;
    return std::ranges::count(options, std::pair(std::string("subq"), std::string("1"))) == 1;
  };
  EXPECT_TRUE(has_own_subpixels("video:crf=18"));
  EXPECT_FALSE(has_own_subpixels("video:preset=veryfast"));
  const PictureCodec other = ParsePictureCodec("video:libvpx:deadline=realtime:lag-in-frames=0");
  EXPECT_EQ(other.video_encoder, "libvpx");
  EXPECT_EQ(other.video_options.size(), 2U);
}

TEST(PictureCodecTest, OtherTextsAreRefusedInASentence) {
  EXPECT_EQ(ParseError("jpg"), "codec \"jpg\" is not raw, png, jpeg, blocks or video");
  EXPECT_EQ(ParseError("jpeg:0"), "codec: \"0\" is not a JPEG quality from 1 to 100");
  EXPECT_EQ(ParseError("jpeg:raw"), "codec: \"raw\" is not a JPEG quality from 1 to 100");
  EXPECT_EQ(ParseError("blocks:9x"), "codec: \"9x\" is not a JPEG quality from 1 to 100");
  EXPECT_EQ(ParseError("raw:1"), "codec \"raw:1\" says more than raw knows");
  EXPECT_EQ(ParseError("jpeg:1:2"), "codec \"jpeg:1:2\" says more than jpeg knows");
  EXPECT_EQ(ParseError("video:libx264:fast"),
            "codec: \"fast\" is not an option=value of a video encoder");
  EXPECT_EQ(ParseError("video:crf=52"), "codec: \"52\" is not a crf from 0 to 51");
  EXPECT_EQ(ParseError("video:crf=-1"), "codec: \"-1\" is not a crf from 0 to 51");
  EXPECT_EQ(EncoderError("video:libx26"),
            "video encoder libx26 is not in this machine's libavcodec");
  EXPECT_EQ(EncoderError("video:mjpeg"),
            "video encoder mjpeg makes neither H.264 nor HEVC, VP8 or VP9");
  EXPECT_EQ(EncoderError("video:cfr=20"), "video encoder libx264 has no option \"cfr\"");
  testing::internal::CaptureStderr();
  for (const char* const option : {"preset=nonsense", "tune=nonsense", "crf=nonsense"}) {
    EXPECT_EQ(EncoderError(std::string("video:libx264:") + option),
              "video encoder libx264 does not start with these options");
  }
  std::fputs("ours\n", stderr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "ours\n") << "libraries print nothing";
  EXPECT_EQ(EncoderError("video:preset=quick"),
            "video encoder libx264 does not start with these options");
  EXPECT_EQ(EncoderError("video:preset=medium:tune=film"),
            "video encoder libx264 keeps pictures back unless its options say otherwise");
}

TEST(PictureCodecTest, LosslessCodecsGiveEveryByteBack) {
  std::mt19937 random(1);
  for (const char* codec : {"raw", "png", "blocks:raw"}) {
    for (const auto& [width, height] :
         {std::pair{1, 1}, {3, 1}, {3, 50}, {16, 16}, {17, 33}, {160, 15}}) {
      for (const int channels : {1, 3}) {
        const PictureFormat format = {width, height, channels};
        PictureEncoder encoder(ParsePictureCodec(codec), format);
        PictureDecoder decoder(format);
        Bytes pixels = Noise(format, random);
        for (int frame = 0; frame < 4; ++frame) {
          ASSERT_EQ(Decode(decoder, Encode(encoder, pixels, format)), "") << codec;
          ASSERT_EQ(PixelsOf(decoder), pixels) << codec << ' ' << width << " × " << height;
          pixels[random() % pixels.size()] ^= 1;
        }
      }
    }
  }
}

// Readers of files do not mind what follows, but a link does.
TEST(PictureCodecTest, AFileIsFollowedByNothing) {
  const auto end_of = [](const char* codec, size_t size) {
    PictureEncoder encoder(ParsePictureCodec(codec), kFormat);
    const Bytes bytes = Encode(encoder, Bytes(kFormat.byte_count(), 90), kFormat);
    return Bytes(bytes.end() - static_cast<std::ptrdiff_t>(size), bytes.end());
  };
  EXPECT_EQ(end_of("png", 8), (Bytes{'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82}));
  EXPECT_EQ(end_of("jpeg", 2), (Bytes{0xff, 0xd9}));
}

TEST(PictureCodecTest, LossyCodecsStayCloseToThePicture) {
  for (const char* codec : {"jpeg", "jpeg:95", "blocks", "video", "video:crf=18"}) {
    for (const int channels : {1, 3}) {
      PictureFormat format = kFormat;
      format.channels = channels;
      const SceneClip clip(format);
      PictureEncoder encoder(ParsePictureCodec(codec), format);
      PictureDecoder decoder(format);
      for (int frame = 0; frame < 3; ++frame) {
        const Bytes pixels = clip.Picture(frame);
        const Bytes bytes = Encode(encoder, pixels, format);
        EXPECT_LT(bytes.size(), pixels.size() / 2) << codec;
        ASSERT_EQ(Decode(decoder, bytes), "") << codec;
        EXPECT_LT(MeanError(PixelsOf(decoder), pixels), 5.0) << codec << ' ' << channels;
      }
    }
  }
}

// What OpenCV reads, blue first, from a file of these bytes.
Bytes ReadByOpenCv(const Bytes& file_bytes, const std::string& extension) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() /
                                     ("cacheinf_codec_" + std::to_string(getpid()) + extension);
  WriteFile(file, {reinterpret_cast<const char*>(file_bytes.data()), file_bytes.size()});
  const SteadyClock clock;
  const std::optional<Frame> frame = OpenSource(file.string(), clock)->Next();
  std::filesystem::remove(file);
  Bytes pixels;
  for (int y = 0; frame && y < frame->picture.height; ++y) {
    const uint8_t* const row = frame->picture.Row(y);
    pixels.insert(pixels.end(), row, row + static_cast<ptrdiff_t>(frame->picture.width) * 3);
  }
  return pixels;
}

// The picture as in a file. A video's picture begins with a byte that names the standard.
Bytes WithoutHeader(const Bytes& coded, size_t more_bytes = 0) {
  return {coded.begin() + static_cast<ptrdiff_t>(kHeaderBytes + more_bytes), coded.end()};
}

// Quick decoding would differ from machine to machine.
TEST(PictureCodecTest, JpegsAreDecodedAccuratelyAsOpenCvDoes) {
  std::mt19937 random(2);
  PictureEncoder encoder(ParsePictureCodec("jpeg"), kFormat);
  PictureDecoder decoder(kFormat);
  const Bytes bytes = Encode(encoder, Noise(kFormat, random), kFormat);
  ASSERT_EQ(Decode(decoder, bytes), "");
  EXPECT_EQ(PixelsOf(decoder), ReadByOpenCv(WithoutHeader(bytes), ".jpg"));
}

// If both ends mistook red for blue, the colours would come back right, but coarser.
TEST(PictureCodecTest, ARedPictureIsRedToEverybody) {
  for (const bool is_blue_first : {true, false}) {
    const PictureFormat format = {160, 96, 3, is_blue_first};
    Bytes red(format.byte_count(), 20);
    for (size_t i = is_blue_first ? 2 : 0; i < red.size(); i += 3) red[i] = 220;
    for (const std::string codec : {"jpeg", "blocks", "video"}) {
      SCOPED_TRACE(codec + (is_blue_first ? ", blue first" : ", red first"));
      PictureEncoder encoder(ParsePictureCodec(codec), format);
      PictureDecoder decoder(format);
      Bytes stream;
      for (int i = 0; i < 3; ++i) {
        const Bytes coded = Encode(encoder, red, format);
        ASSERT_EQ(Decode(decoder, coded), "");
        EXPECT_LT(MeanError(PixelsOf(decoder), red), 4.0);
        const Bytes bytes = WithoutHeader(coded, codec == "video" ? 1 : 0);
        stream.insert(stream.end(), bytes.begin(), bytes.end());
      }
      if (codec == "blocks") continue;  // only we read that
      const Bytes others = ReadByOpenCv(stream, codec == "jpeg" ? ".jpg" : ".h264");
      ASSERT_EQ(others.size(), red.size());
      for (size_t i = 0; i < others.size(); i += 3) {
        ASSERT_LT(others[i], 50) << "blue of pixel " << i / 3;
        ASSERT_GT(others[i + 2], 190) << "red of pixel " << i / 3;
      }
    }
  }
}

TEST(PictureCodecTest, TinyPicturesAreCodedToo) {
  for (const char* codec : {"jpeg", "blocks", "video"}) {
    for (const auto& [width, height] : {std::pair{1, 1}, {3, 2}, {3, 50}}) {
      const PictureFormat format = {width, height, 3};
      const Bytes pixels(format.byte_count(), 77);
      PictureEncoder encoder(ParsePictureCodec(codec), format);
      PictureDecoder decoder(format);
      for (int frame = 0; frame < 2; ++frame) {
        ASSERT_EQ(Decode(decoder, Encode(encoder, pixels, format)), "") << codec;
        EXPECT_LT(MeanError(PixelsOf(decoder), pixels), 3.0) << codec;
      }
    }
  }
}

TEST(PictureCodecTest, RedStaysRedWhicheverColourIsFirst) {
  for (const char* codec : {"jpeg", "blocks", "video"}) {
    for (const bool is_blue_first : {false, true}) {
      const PictureFormat format = {32, 32, 3, is_blue_first};
      const size_t red = is_blue_first ? 2 : 0;
      Bytes pixels(format.byte_count(), 20);
      for (size_t i = red; i < pixels.size(); i += 3) pixels[i] = 230;
      PictureEncoder encoder(ParsePictureCodec(codec), format);
      PictureDecoder decoder(format);
      ASSERT_EQ(Decode(decoder, Encode(encoder, pixels, format)), "");
      EXPECT_LT(MeanError(PixelsOf(decoder), pixels), 3.0) << codec << ' ' << is_blue_first;
    }
  }
}

TEST(PictureCodecTest, OnlyChangedBlocksCross) {
  PictureEncoder encoder(ParsePictureCodec("blocks:raw"), kFormat);
  Bytes pixels(kFormat.byte_count(), 50);
  const auto blocks_sent = [&] {
    const size_t bytes = Encode(encoder, pixels, kFormat).size();
    return bytes / (16 * 16 * 3);  // headers and mask are smaller than a block
  };
  EXPECT_EQ(blocks_sent(), 11U * 6U);
  EXPECT_EQ(blocks_sent(), 0U);
  pixels.back() = 51;
  EXPECT_EQ(blocks_sent(), 1U);
  pixels[15 * 3] = 51;  // the last column of a block, and the first of the next
  pixels[16 * 3] = 51;
  EXPECT_EQ(blocks_sent(), 2U);
  encoder.Reset();
  EXPECT_EQ(blocks_sent(), 11U * 6U);
}

// A stream with gaps gives the same pictures as without them, or none.
TEST(PictureCodecTest, GapsLeaveNoWrongPicture) {
  for (const char* codec : {"blocks", "blocks:raw", "video"}) {
    std::mt19937 random(3);
    const SceneClip clip(kFormat);
    PictureEncoder encoder(ParsePictureCodec(codec), kFormat);
    PictureDecoder all(kFormat);
    PictureDecoder some(kFormat);
    bool is_refusing = true;
    int gaps = 0;
    int refused = 0;
    for (int frame = 0; frame < 50; ++frame) {
      // The encoder hears of a gap some frames later.
      if (is_refusing && random() % 3 == 0) encoder.Reset();
      const Bytes bytes = Encode(encoder, clip.Picture(frame), kFormat);
      ASSERT_EQ(Decode(all, bytes), "") << codec << ' ' << frame;
      if (random() % 6 == 0) {
        ++gaps;
        continue;
      }
      const std::string error = Decode(some, bytes);
      is_refusing = !error.empty();
      if (error.empty()) {
        ASSERT_EQ(PixelsOf(some), PixelsOf(all)) << codec << ' ' << frame;
      } else {
        EXPECT_EQ(error, "a picture depends on one that did not arrive");
        ++refused;
      }
    }
    EXPECT_GT(gaps, 3) << codec;
    EXPECT_GT(refused, 3) << codec;
  }
}

TEST(PictureCodecTest, ADamagedPictureIsAGapToo) {
  for (const char* codec : {"blocks", "blocks:raw", "video"}) {
    const SceneClip clip(kFormat);
    PictureEncoder encoder(ParsePictureCodec(codec), kFormat);
    PictureDecoder decoder(kFormat);
    ASSERT_EQ(Decode(decoder, Encode(encoder, clip.Picture(0), kFormat)), "") << codec;
    Bytes header = Encode(encoder, clip.Picture(1), kFormat);
    header.resize(13);
    EXPECT_NE(Decode(decoder, header), "") << codec;
    EXPECT_EQ(Decode(decoder, Encode(encoder, clip.Picture(2), kFormat)),
              "a picture depends on one that did not arrive")
        << codec;
    encoder.Reset();
    EXPECT_EQ(Decode(decoder, Encode(encoder, clip.Picture(3), kFormat)), "") << codec;
  }
}

TEST(PictureCodecTest, APictureOfBlocksThatStandsAloneHasThemAll) {
  const SceneClip clip(kFormat);
  PictureEncoder encoder(ParsePictureCodec("blocks:raw"), kFormat);
  PictureDecoder decoder(kFormat);
  ASSERT_EQ(Decode(decoder, Encode(encoder, clip.Picture(0), kFormat)), "");
  Bytes some = Encode(encoder, clip.Picture(1), kFormat);
  some[3] = 1;  // claims to stand alone
  EXPECT_EQ(Decode(decoder, some), "a whole picture lacks blocks");
}

TEST(PictureCodecTest, BlocksThatDoNotChangeKeepTheirBytes) {
  const SceneClip clip(kFormat);
  PictureEncoder encoder(ParsePictureCodec("blocks"), kFormat);
  PictureDecoder decoder(kFormat);
  Bytes before = clip.Picture(0);
  ASSERT_EQ(Decode(decoder, Encode(encoder, before, kFormat)), "");
  Bytes decoded_before = PixelsOf(decoder);
  int kept = 0;
  for (int frame = 1; frame < 10; ++frame) {
    const Bytes pixels = clip.Picture(frame);
    ASSERT_EQ(Decode(decoder, Encode(encoder, pixels, kFormat)), "");
    const Bytes decoded = PixelsOf(decoder);
    const std::vector<bool> changed = ChangedBlocks(before, pixels, kFormat, 16);
    const std::vector<bool> rewritten = ChangedBlocks(decoded_before, decoded, kFormat, 16);
    for (size_t i = 0; i < changed.size(); ++i) {
      if (changed[i]) continue;
      ++kept;
      ASSERT_FALSE(rewritten[i]) << frame << ' ' << i;
    }
    before = pixels;
    decoded_before = decoded;
  }
  EXPECT_GT(kept, 100);
}

TEST(PictureCodecTest, WhatAVideoSkipsKeepsItsBytes) {
  const PictureFormat format = {160, 96, 3, true};
  for (const double moving_share : {0.0, 0.3}) {
    const SceneClip clip(format, moving_share);
    PictureEncoder encoder(ParsePictureCodec("video"), format);
    PictureDecoder decoder(format);
    PictureDecoder other(format);
    Bytes before;
    size_t blocks = 0;
    size_t rewritten = 0;
    for (int frame = 0; frame < 60; ++frame) {
      const Bytes bytes = Encode(encoder, clip.Picture(frame), format);
      ASSERT_EQ(Decode(decoder, bytes), "");
      ASSERT_EQ(Decode(other, bytes), "");
      Bytes decoded = PixelsOf(decoder);
      ASSERT_EQ(PixelsOf(other), decoded);
      if (frame >= 30) {
        const std::vector<bool> changed = ChangedBlocks(before, decoded, format, 8);
        blocks += changed.size();
        rewritten += static_cast<size_t>(std::count(changed.begin(), changed.end(), true));
      }
      before = std::move(decoded);
    }
    // x264 goes on improving a few blocks of a picture that stands still.
    EXPECT_LT(rewritten, moving_share == 0.0 ? blocks / 8 : blocks / 2);
  }
}

TEST(PictureCodecTest, AnotherStandardOfVideoWorksAsWell) {
  const PictureCodec codec = ParsePictureCodec("video:libvpx:deadline=realtime:lag-in-frames=0");
  const SceneClip clip(kFormat);
  std::unique_ptr<PictureEncoder> encoder;
  try {
    encoder = std::make_unique<PictureEncoder>(codec, kFormat);
  } catch (const InputError&) {
    GTEST_SKIP() << "libavcodec has no libvpx";
  }
  PictureDecoder decoder(kFormat);
  for (int frame = 0; frame < 5; ++frame) {
    const Bytes pixels = clip.Picture(frame);
    ASSERT_EQ(Decode(decoder, Encode(*encoder, pixels, kFormat)), "");
    EXPECT_LT(MeanError(PixelsOf(decoder), pixels), 12.0);
  }
}

TEST(PictureCodecTest, AStreamMayChangeItsCodec) {
  const SceneClip clip(kFormat);
  PictureDecoder decoder(kFormat);
  PictureEncoder blocks(ParsePictureCodec("blocks"), kFormat);
  PictureEncoder video(ParsePictureCodec("video"), kFormat);
  ASSERT_EQ(Decode(decoder, Encode(blocks, clip.Picture(0), kFormat)), "");
  ASSERT_EQ(Decode(decoder, Encode(video, clip.Picture(0), kFormat)), "");
  // Its number fits, but the picture that it needs is another codec's.
  EXPECT_NE(Decode(decoder, Encode(blocks, clip.Picture(1), kFormat)), "");
}

TEST(PictureCodecTest, AHeaderThatIsNotAsAgreedIsRefused) {
  const PictureFormat format = {20, 10, 3};
  const Bytes pixels(format.byte_count(), 9);
  PictureEncoder encoder(ParsePictureCodec("raw"), format);
  const Bytes good = Encode(encoder, pixels, format);
  const auto error_with = [&](size_t at, uint8_t byte) {
    Bytes bytes = good;
    bytes[at] = byte;
    PictureDecoder decoder(format);
    return Decode(decoder, bytes);
  };
  EXPECT_EQ(error_with(0, 'P'), "");
  EXPECT_EQ(error_with(0, 'Q'), "these bytes are not a picture");
  EXPECT_EQ(error_with(1, 2), "a picture has another version");
  EXPECT_EQ(error_with(2, 5), "a picture's codec is unknown");
  EXPECT_EQ(error_with(3, 0), "a picture's header has bits that mean nothing");
  EXPECT_EQ(error_with(3, 3), "a picture's header has bits that mean nothing");
  for (const size_t at : {4, 5, 6, 7, 8}) {
    EXPECT_EQ(error_with(at, 200), "a picture has another size than the model's");
  }
  EXPECT_EQ(error_with(2, 1), "a picture is not a PNG");
  EXPECT_EQ(error_with(2, 2), "a picture is not a JPEG");
  PictureDecoder decoder(format);
  for (size_t size = 0; size < good.size(); ++size) {
    ASSERT_NE(Decode(decoder, Bytes(good.begin(), good.begin() + static_cast<ptrdiff_t>(size))),
              "");
  }
}

// A file's own size counts, not only the header's before it.
TEST(PictureCodecTest, AFileOfAnotherSizeIsRefused) {
  const PictureFormat small = {20, 10, 3};
  const PictureFormat large = {40, 20, 3};
  for (const auto& [codec, sentence] :
       {std::pair{"png", "a PNG has another size"},
        {"jpeg", "a JPEG has another size"},
        {"blocks", "The mask has not the size that it must have."},
        {"video", "a video's picture has another size or format"}}) {
    PictureEncoder of_small(ParsePictureCodec(codec), small);
    PictureEncoder of_large(ParsePictureCodec(codec), large);
    const Bytes header = Encode(of_small, Bytes(small.byte_count(), 9), small);
    Bytes bytes = Encode(of_large, Bytes(large.byte_count(), 9), large);
    std::copy_n(header.begin(), kHeaderBytes, bytes.begin());
    PictureDecoder decoder(small);
    EXPECT_EQ(Decode(decoder, bytes), sentence) << codec;
  }
}

}  // namespace
}  // namespace cacheinf
