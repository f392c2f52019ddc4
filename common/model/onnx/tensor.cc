#include "common/model/onnx/tensor.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "common/base/error.h"
#include "common/base/number_text.h"

namespace cacheinf {
namespace {

using onnx::TensorProto;

static_assert(std::endian::native == std::endian::little, "ONNX stores numbers little-endian");

float Float16ToFloat(uint16_t half) {
  const bool negative = (half >> 15) != 0;
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  float value = 0.0f;
  if (exponent == 31) {
    value = mantissa == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    value = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  }
  return negative ? -value : value;
}

float BFloat16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

bool IsFloating(int type) {
  return type == TensorProto::FLOAT || type == TensorProto::DOUBLE ||
         type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16;
}

// Returns 0 for a type that is not understood.
int BytesPerElement(int type) {
  switch (type) {
    case TensorProto::BOOL:
    case TensorProto::INT8:
    case TensorProto::UINT8:
      return 1;
    case TensorProto::INT16:
    case TensorProto::UINT16:
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
      return 2;
    case TensorProto::INT32:
    case TensorProto::UINT32:
    case TensorProto::FLOAT:
      return 4;
    case TensorProto::INT64:
    case TensorProto::DOUBLE:
      return 8;
    default:
      return 0;
  }
}

template <typename Stored, typename Kept, typename Convert>
std::vector<Kept> Decode(const std::string& bytes, Convert convert) {
  std::vector<Kept> values(bytes.size() / sizeof(Stored));
  for (size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = convert(stored);
  }
  return values;
}

std::vector<float> DecodeFloats(const std::string& bytes, int type) {
  switch (type) {
    case TensorProto::FLOAT:
      return Decode<float, float>(bytes, [](float x) { return x; });
    case TensorProto::DOUBLE:
      return Decode<double, float>(bytes, [](double x) { return static_cast<float>(x); });
    case TensorProto::FLOAT16:
      return Decode<uint16_t, float>(bytes, Float16ToFloat);
    default:
      return Decode<uint16_t, float>(bytes, BFloat16ToFloat);
  }
}

std::vector<int64_t> DecodeIntegers(const std::string& bytes, int type) {
  const auto widen = [](auto x) { return static_cast<int64_t>(x); };
  switch (type) {
    case TensorProto::BOOL:
      return Decode<uint8_t, int64_t>(bytes, [](uint8_t x) { return int64_t{x != 0}; });
    case TensorProto::INT8:
      return Decode<int8_t, int64_t>(bytes, widen);
    case TensorProto::UINT8:
      return Decode<uint8_t, int64_t>(bytes, widen);
    case TensorProto::INT16:
      return Decode<int16_t, int64_t>(bytes, widen);
    case TensorProto::UINT16:
      return Decode<uint16_t, int64_t>(bytes, widen);
    case TensorProto::INT32:
      return Decode<int32_t, int64_t>(bytes, widen);
    case TensorProto::UINT32:
      return Decode<uint32_t, int64_t>(bytes, widen);
    default:
      return Decode<int64_t, int64_t>(bytes, widen);
  }
}

// The numbers in the typed field for the element type; empty if there are none.
std::vector<float> TypedFloats(const TensorProto& proto) {
  std::vector<float> values;
  switch (proto.data_type()) {
    case TensorProto::FLOAT:
      values.assign(proto.float_data().begin(), proto.float_data().end());
      break;
    case TensorProto::DOUBLE:
      values.reserve(static_cast<size_t>(proto.double_data_size()));
      for (double x : proto.double_data()) values.push_back(static_cast<float>(x));
      break;
    default: {
      const bool is_half = proto.data_type() == TensorProto::FLOAT16;
      values.reserve(static_cast<size_t>(proto.int32_data_size()));
      for (int32_t x : proto.int32_data()) {
        const auto bits = static_cast<uint16_t>(x);
        values.push_back(is_half ? Float16ToFloat(bits) : BFloat16ToFloat(bits));
      }
    }
  }
  return values;
}

std::vector<int64_t> TypedIntegers(const TensorProto& proto) {
  std::vector<int64_t> values;
  switch (proto.data_type()) {
    case TensorProto::INT64:
      values.assign(proto.int64_data().begin(), proto.int64_data().end());
      break;
    case TensorProto::UINT32:
      for (uint64_t x : proto.uint64_data()) {
        values.push_back(static_cast<int64_t>(static_cast<uint32_t>(x)));
      }
      break;
    default:
      values.assign(proto.int32_data().begin(), proto.int32_data().end());
      if (proto.data_type() == TensorProto::BOOL) {
        for (int64_t& x : values) x = x != 0;
      }
  }
  return values;
}

int64_t TypedCount(const TensorProto& proto) {
  switch (proto.data_type()) {
    case TensorProto::FLOAT:
      return proto.float_data_size();
    case TensorProto::DOUBLE:
      return proto.double_data_size();
    case TensorProto::INT64:
      return proto.int64_data_size();
    case TensorProto::UINT32:
      return proto.uint64_data_size();
    default:
      return proto.int32_data_size();
  }
}

int64_t ParseOffset(const std::string& text, const std::string& what) {
  const auto value = NumberIn<int64_t>(text);
  if (!value || *value < 0) {
    throw InputError(what, " has '", text, "' where a file offset or length belongs");
  }
  return *value;
}

std::string ReadExternalBytes(const TensorProto& proto, const std::filesystem::path& folder,
                              int64_t expected, const std::string& what) {
  std::string location;
  int64_t offset = 0;
  int64_t length = expected;
  for (const onnx::StringStringEntryProto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = ParseOffset(entry.value(), what);
    if (entry.key() == "length") length = ParseOffset(entry.value(), what);
  }
  if (location.empty() || folder.empty()) {
    throw InputError(what, " lies in another file, which cannot be found");
  }
  if (length != expected) {
    throw InputError(what, " needs ", expected, " bytes, but its length is ", length);
  }

  std::error_code error;
  const std::filesystem::path inside = std::filesystem::weakly_canonical(folder, error);
  const std::filesystem::path file = std::filesystem::weakly_canonical(folder / location, error);
  const std::filesystem::path relative = file.lexically_relative(inside);
  if (error || relative.empty() || *relative.begin() == "..") {
    throw InputError(what, " lies in '", location, "', which is outside the model's folder");
  }
  if (!std::filesystem::is_regular_file(file, error)) {
    throw InputError(what, " lies in '", location, "', which is not there");
  }
  const auto size = static_cast<int64_t>(std::filesystem::file_size(file, error));
  if (error || offset > size || expected > size - offset) {
    throw InputError(what, " needs ", expected, " bytes at offset ", offset, " of '", location,
                     "', which has ", size);
  }

  std::string bytes(static_cast<size_t>(expected), '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(offset);
  stream.read(bytes.data(), expected);
  if (!stream) throw InputError(what, ": '", location, "' cannot be read");
  return bytes;
}

}  // namespace

int64_t CheckedCount(const Shape& shape, const std::string& what) {
  int64_t count = 1;  // without zeros, so that no part of the shape overflows either
  bool has_zero = false;
  for (int64_t dim : shape) {
    if (dim < 0 || dim > kMaxElements) throw InputError(what, " has a dimension of ", dim);
    if (dim == 0) {
      has_zero = true;
      continue;
    }
    count *= dim;  // both at most 2^31: no overflow
    if (count > kMaxElements) throw InputError(what, " has more than ", kMaxElements, " elements");
  }
  return has_zero ? 0 : count;
}

void ByteBudget::Take(int64_t count, int64_t bytes_each) {
  if (count > left_ / bytes_each) {
    throw InputError("the constants of the model take more than ", total_ >> 20, " MiB");
  }
  left_ -= count * bytes_each;
}

HostTensor::HostTensor(Shape shape, std::vector<float> values)
    : type_(Type::kFloat), shape_(std::move(shape)), count_(ElementCount(shape_)) {
  if (count_ != static_cast<int64_t>(values.size())) {
    throw std::logic_error("HostTensor: wrong number of values");
  }
  floats_ = std::make_shared<const std::vector<float>>(std::move(values));
}

HostTensor::HostTensor(Shape shape, std::vector<int64_t> values, Type type)
    : type_(type), shape_(std::move(shape)), count_(ElementCount(shape_)) {
  if (count_ != static_cast<int64_t>(values.size())) {
    throw std::logic_error("HostTensor: wrong number of values");
  }
  integers_ = std::make_shared<const std::vector<int64_t>>(std::move(values));
}

HostTensor HostTensor::WithElementType(int element_type) && {
  element_type_ = element_type;
  return std::move(*this);
}

HostTensor HostTensor::WithStepSizes(std::vector<float> step_sizes, int step_axis) && {
  step_sizes_ = std::move(step_sizes);
  step_axis_ = step_axis;
  return std::move(*this);
}

HostTensor HostTensor::Reshaped(Shape shape) const {
  if (ElementCount(shape) != count_) throw std::logic_error("HostTensor: wrong shape");
  HostTensor reshaped = *this;
  reshaped.shape_ = std::move(shape);
  reshaped.step_sizes_.clear();
  return reshaped;
}

Tensor HostTensor::ToTensor() const {
  // An empty vector may have no storage, but a tensor must have some.
  static constexpr float kNothing = 0.0f;
  const float* data = count_ == 0 ? &kNothing : floats_->data();
  return Tensor(shape_, std::shared_ptr<const float>(floats_, data));
}

HostTensor ReadTensor(TensorProto& proto, const std::filesystem::path& folder, ByteBudget& budget) {
  const std::string what = "tensor '" + proto.name() + "'";
  const int element_bytes = BytesPerElement(proto.data_type());
  if (element_bytes == 0) {
    throw InputError(what, " has elements of type ", ElementTypeName(proto.data_type()),
                     ", which is not supported");
  }
  if (proto.has_segment()) throw InputError(what, " is stored in segments, which is not supported");
  Shape shape(proto.dims().begin(), proto.dims().end());
  const int64_t count = CheckedCount(shape, what);
  const bool is_floating = IsFloating(proto.data_type());
  const int64_t kept_bytes = is_floating ? sizeof(float) : sizeof(int64_t);

  const bool is_external = proto.data_location() == TensorProto::EXTERNAL;
  const bool is_raw = is_external || proto.has_raw_data();
  if (!is_raw && TypedCount(proto) != count) {
    throw InputError(what, " of shape ", ToString(shape), " has ", TypedCount(proto), " values");
  }
  std::string bytes;
  if (is_external) {
    budget.Take(count, element_bytes);
    bytes = ReadExternalBytes(proto, folder, count * element_bytes, what);
  } else if (is_raw) {
    bytes.swap(*proto.mutable_raw_data());
    proto.clear_raw_data();
  }
  if (is_raw && static_cast<int64_t>(bytes.size()) != count * element_bytes) {
    throw InputError(what, " of shape ", ToString(shape), " needs ", count * element_bytes,
                     " bytes, but has ", bytes.size());
  }

  budget.Take(count, kept_bytes);
  if (is_floating) {
    std::vector<float> values =
        is_raw ? DecodeFloats(bytes, proto.data_type()) : TypedFloats(proto);
    return HostTensor(std::move(shape), std::move(values));
  }
  std::vector<int64_t> values =
      is_raw ? DecodeIntegers(bytes, proto.data_type()) : TypedIntegers(proto);
  const bool is_bool = proto.data_type() == TensorProto::BOOL;
  return HostTensor(std::move(shape), std::move(values),
                    is_bool ? HostTensor::Type::kBool : HostTensor::Type::kInteger)
      .WithElementType(proto.data_type());
}

std::string ElementTypeName(int onnx_type) {
  // Types that are younger than the library.
  static constexpr std::array<const char*, 7> kYoung = {
      "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
      "UINT4",        "INT4",           "FLOAT4E2M1"};
  constexpr int kFirstYoung = 17;
  const int young = onnx_type - kFirstYoung;
  if (young >= 0 && young < static_cast<int>(kYoung.size())) return kYoung[young];
  if (!onnx::TensorProto_DataType_IsValid(onnx_type)) return "number " + std::to_string(onnx_type);
  return onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(onnx_type));
}

}  // namespace cacheinf
