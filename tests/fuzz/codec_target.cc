// A coded picture or slice; what a slice holds fits into a value, or is refused.

#include <string>
#include <utility>
#include <vector>

#include "tests/codec/pictures.h"
#include "tests/codec/slices.h"
#include "tests/fuzz/target.h"

namespace cacheinf::fuzz {
namespace {

std::vector<std::string> PicturesAndSlices() {
  std::vector<std::string> all = PictureSeeds();
  for (std::string& slice : CodedSliceSeeds()) all.push_back(std::move(slice));
  return all;
}

bool ReadsPictureOrSlice(Bytes bytes) {
  constexpr size_t kMostBytes = 1 << 16;
  std::vector<uint8_t> slice;
  const bool is_slice = DecodeSlice(bytes, kMostBytes, &slice) == nullptr;
  Promise(slice.size() <= kMostBytes, "a slice is larger than allowed");
  if (is_slice) TakeSeedSlice(slice);
  return DecodesAsPicture(bytes) || is_slice;
}

}  // namespace

const Target kCodec = {"codec", PicturesAndSlices, {}, ReadsPictureOrSlice};

}  // namespace cacheinf::fuzz
