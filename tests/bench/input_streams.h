#ifndef CACHEINF_TESTS_BENCH_INPUT_STREAMS_H_
#define CACHEINF_TESTS_BENCH_INPUT_STREAMS_H_

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/codec/picture_codec.h"
#include "tests/bench/timing.h"

namespace cacheinf {

// A picture on its way, measured with both ends on one thread of this machine.
struct SentPicture {
  double bytes = 0;
  double encode_ms = 0;
  double decode_ms = 0;
};

// A network's pictures, as mode remote sends them. Each is decoded before the next is encoded.
class PictureStream {
 public:
  // As for PictureEncoder.
  PictureStream(const std::string& codec, const PictureFormat& format)
      : encoder_(ParsePictureCodec(codec), format), decoder_(format) {}

  SentPicture Send(const PictureView& picture) {
    bytes_.clear();
    const char* fault = nullptr;
    SentPicture sent;
    sent.encode_ms = TimeOnce([&] { encoder_.Append(picture, &bytes_); });
    sent.decode_ms = TimeOnce([&] { fault = decoder_.Decode(bytes_); });
    sent.bytes = static_cast<double>(bytes_.size());
    if (fault != nullptr) throw std::runtime_error(fault);
    return sent;
  }

 private:
  PictureEncoder encoder_;
  PictureDecoder decoder_;
  std::vector<uint8_t> bytes_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_INPUT_STREAMS_H_
