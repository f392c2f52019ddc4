#include "common/model/onnx/size.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <onnx/onnx_pb.h>

#include <cstdint>

#include "common/base/error.h"

namespace cacheinf {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr int kDeepest = 100;  // protobuf refuses to parse deeper nesting

// The most that one part of each sort takes, given that arrays double as they grow.
constexpr int64_t kMessageBytes = 1024;  // and what the import makes of it
constexpr int64_t kStringBytes = 96;     // beside its characters
constexpr int64_t kNumberBytes = 48;
constexpr int64_t kPackedNumberBytes = 24;

// Adds up parts, which the messages' definitions tell apart.
class PartCounter {
 public:
  explicit PartCounter(std::string_view bytes)
      : input_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())),
        limit_(kFreeBytes + 2 * static_cast<int64_t>(bytes.size())) {}

  // Returns false if the bytes are not such a message.
  bool AddMessage(const Descriptor& message, int depth = 0) {
    if (depth > kDeepest) return false;
    while (const uint32_t tag = input_.ReadTag()) {
      switch (WireFormatLite::GetTagWireType(tag)) {
        case WireFormatLite::WIRETYPE_VARINT:
        case WireFormatLite::WIRETYPE_FIXED32:
        case WireFormatLite::WIRETYPE_FIXED64:
          Take(kNumberBytes);
          if (!WireFormatLite::SkipField(&input_, tag)) return false;
          break;
        case WireFormatLite::WIRETYPE_LENGTH_DELIMITED: {
          const int number = WireFormatLite::GetTagFieldNumber(tag);
          if (!AddDelimited(message.FindFieldByNumber(number), depth)) return false;
          break;
        }
        default:  // groups, which ONNX does not use
          return false;
      }
    }
    return input_.ConsumedEntireMessage();
  }

 private:
  // `field` is null if the definitions do not know it; then its bytes are kept as they are.
  bool AddDelimited(const FieldDescriptor* field, int depth) {
    int length = 0;
    if (!input_.ReadVarintSizeAsInt(&length)) return false;
    if (field != nullptr && field->type() == FieldDescriptor::TYPE_MESSAGE) {
      Take(kMessageBytes);
      const CodedInputStream::Limit outer = input_.PushLimit(length);
      const bool is_whole =
          AddMessage(*field->message_type(), depth + 1) && input_.BytesUntilLimit() == 0;
      input_.PopLimit(outer);
      return is_whole;
    }
    if (field != nullptr && IsVarint(*field)) return AddVarints(length);
    Take(kStringBytes + length);
    return input_.Skip(length);
  }

  static bool IsVarint(const FieldDescriptor& field) {
    return WireFormatLite::WireTypeForFieldType(static_cast<WireFormatLite::FieldType>(
               field.type())) == WireFormatLite::WIRETYPE_VARINT;
  }

  bool AddVarints(int length) {
    const CodedInputStream::Limit outer = input_.PushLimit(length);
    uint64_t value = 0;
    while (input_.BytesUntilLimit() > 0) {
      if (!input_.ReadVarint64(&value)) return false;
      Take(kPackedNumberBytes);
    }
    input_.PopLimit(outer);
    return true;
  }

  void Take(int64_t bytes) {
    taken_ += bytes;
    if (taken_ > limit_) {
      throw InputError("its parts are so many that they would take more than ", limit_ >> 20,
                       " MiB");
    }
  }

  CodedInputStream input_;
  int64_t limit_;
  int64_t taken_ = 0;
};

}  // namespace

void CheckParsedSize(std::string_view bytes) {
  if (!PartCounter(bytes).AddMessage(*onnx::ModelProto::descriptor())) {
    throw InputError("is not an ONNX model, or is damaged");
  }
}

}  // namespace cacheinf
