#include "common/exec/picture_levels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include "common/base/error.h"
#include "sparse_ops/eight_bits.h"

namespace cacheinf {
namespace {

uint32_t WordOf(int number, int byte) {
  return uint32_t{static_cast<uint8_t>(number)} << (8 * byte);
}

bool IsLevel(float number) {
  return number >= 0.0f && number < static_cast<float>(kLevels) && number == std::floor(number);
}

}  // namespace

PictureLevels::PictureLevels(const Graph& graph)
    : input_(graph.value(graph.inputs[0])), shape_(input_.shape_of_numbers()) {
  for (int c = 0; c < input_.channels; ++c) {
    std::array<uint32_t, kLevels> words;
    for (int level = 0; level < kLevels; ++level) {
      words[static_cast<size_t>(level)] =
          WordOf(graph.levels[static_cast<size_t>(c * kLevels + level)], c);
    }
    words_of_levels_.push_back(words);
  }
  for (int c = input_.channels; c < kBytesOfWord; ++c) {
    spare_ |= WordOf(input_.steps.zero_point, c);
  }
}

ConstTensorView PictureLevels::WordsOf(const PictureView& picture) {
  if (Shape{1, picture.channels, picture.height, picture.width} != shape_) {
    throw std::invalid_argument("'" + input_.name + "' is a picture of another size");
  }
  const int64_t pixels = int64_t{picture.height} * picture.width;
  words_.resize(static_cast<size_t>(pixels));
  const uint8_t* level = picture.pixels;
  for (float& number : words_) {
    uint32_t word = spare_;
    for (const auto& words : words_of_levels_) word |= words[*level++];
    std::memcpy(&number, &word, sizeof(word));
  }
  return {words_.data(), 4, {1, 1, picture.height, picture.width}, {pixels, 1, picture.width, 1}};
}

PictureView PictureLevels::Read(const ConstTensorView& numbers) {
  if (!std::ranges::equal(std::span(numbers.dims).first(static_cast<size_t>(numbers.rank)),
                          shape_)) {
    throw std::invalid_argument("'" + input_.name + "' has shape " + ToString(shape_) +
                                ", not that of the given tensor");
  }
  const auto& strides = numbers.strides;
  levels_.clear();
  for (int64_t y = 0; y < shape_[2]; ++y) {
    for (int64_t x = 0; x < shape_[3]; ++x) {
      for (int64_t c = 0; c < shape_[1]; ++c) {
        const float number = numbers.data[c * strides[1] + y * strides[2] + x * strides[3]];
        if (!IsLevel(number)) {
          throw InputError("'" + input_.name +
                           "' takes the levels of a picture: whole numbers from 0 to 255");
        }
        levels_.push_back(static_cast<uint8_t>(number));
      }
    }
  }
  return {levels_.data(), static_cast<int>(shape_[3]), static_cast<int>(shape_[2]),
          static_cast<int>(shape_[1])};
}

}  // namespace cacheinf
