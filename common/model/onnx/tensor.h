#ifndef CACHEINF_COMMON_MODEL_ONNX_TENSOR_H_
#define CACHEINF_COMMON_MODEL_ONNX_TENSOR_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/model/graph/graph.h"

// Numbers that an ONNX importer knows: weights, and shapes on their way to a Reshape.

namespace cacheinf {

// The product of the dimensions. Throws InputError, naming `what`, if a dimension is negative or
// the product exceeds kMaxElements.
int64_t CheckedCount(const Shape& shape, const std::string& what);

// Limits the bytes that an import allocates for numbers, so that a small file cannot ask for much
// memory. Call Take before allocating; it throws InputError once the bytes are used up.
class ByteBudget {
 public:
  explicit ByteBudget(int64_t bytes) : total_(bytes), left_(bytes) {}
  void Take(int64_t count, int64_t bytes_each);

 private:
  int64_t total_;
  int64_t left_;
};

// A tensor in the importer's memory. Integers of every width, and truth values, are exact 64-bit
// integers; floating-point numbers of every width are 32-bit floats. Copies share the numbers.
class HostTensor {
 public:
  enum class Type : uint8_t { kFloat, kInteger, kBool };

  // REQUIRES: as many values as the shape has.
  HostTensor(Shape shape, std::vector<float> values);
  HostTensor(Shape shape, std::vector<int64_t> values, Type type = Type::kInteger);

  Type type() const { return type_; }
  // ONNX's number of the element type that the file gives; 0 for computed numbers.
  int element_type() const { return element_type_; }
  HostTensor WithElementType(int element_type) &&;
  // Numbers that DequantizeLinear gave: as Value::step_sizes, but one for all, or one per entry of
  // dimension `step_axis`.
  const std::vector<float>& step_sizes() const { return step_sizes_; }
  int step_axis() const { return step_axis_; }
  HostTensor WithStepSizes(std::vector<float> step_sizes, int step_axis) &&;
  bool is_float() const { return type_ == Type::kFloat; }
  const Shape& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t count() const { return count_; }

  const std::vector<float>& floats() const { return *floats_; }        // REQUIRES: is_float()
  const std::vector<int64_t>& integers() const { return *integers_; }  // REQUIRES: !is_float()

  // Calls visit(numbers) with the floats or the integers.
  template <typename Visitor>
  auto Visit(Visitor visit) const {
    return is_float() ? visit(floats()) : visit(integers());
  }

  // A tensor of this type with the numbers that `make` returns for this one's.
  template <typename Make>
  HostTensor Map(Shape shape, Make make) const {
    if (is_float()) return HostTensor(std::move(shape), make(floats()));
    return HostTensor(std::move(shape), make(integers()), type_);
  }

  // REQUIRES: this tensor holds such numbers.
  const std::vector<float>& NumbersLike(const std::vector<float>&) const { return floats(); }
  const std::vector<int64_t>& NumbersLike(const std::vector<int64_t>&) const { return integers(); }

  // The same numbers under another shape with as many elements.
  HostTensor Reshaped(Shape shape) const;

  // REQUIRES: is_float().
  Tensor ToTensor() const;

 private:
  Type type_;
  int element_type_ = 0;
  Shape shape_;
  std::vector<float> step_sizes_;
  int step_axis_ = 0;
  int64_t count_;
  std::shared_ptr<const std::vector<float>> floats_;
  std::shared_ptr<const std::vector<int64_t>> integers_;
};

// Reads a tensor and frees the numbers that `proto` holds. Numbers in a file beside the model are
// read from `folder`; if that is empty they are refused. Throws InputError if the declared shape
// does not match the bytes, the element type is not one of the usual numbers, or the other file
// lies outside `folder`.
HostTensor ReadTensor(onnx::TensorProto& proto, const std::filesystem::path& folder,
                      ByteBudget& budget);

// "FLOAT16", …
std::string ElementTypeName(int onnx_type);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_ONNX_TENSOR_H_
