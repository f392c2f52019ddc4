#ifndef CACHEINF_SPARSE_OPS_CUDA_RECORDING_H_
#define CACHEINF_SPARSE_OPS_CUDA_RECORDING_H_

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

#include "sparse_ops/cuda/device.h"

namespace cacheinf::cuda {

// Zeroes a value's padding, where the compiler can. GCC 12 misplaces what follows an array of
// structs.
template <typename T>
void ClearPadding(T* value) {
#ifdef __has_builtin
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(value);
#endif
#endif
  static_cast<void>(value);
}

// Launches, fills and copies that a device was asked for but has not done, in order, with their
// arguments. Equal recordings do the same; two that do the same may still differ, in their
// arguments' padding.
class Recording {
 public:
  // Does one piece of work. `device` and `stream` point to a Device and its Stream.
  using Do = void (*)(void* device, void* stream, const Blocks& blocks, size_t shared_bytes,
                      const void* arguments);

  template <class Arguments>
  void Note(Do work, const Arguments& arguments, const Blocks& blocks = {},
            size_t shared_bytes = 0) {
    static_assert(std::is_trivially_copyable<Arguments>::value, "arguments are copied");
    const size_t at = arguments_.size();
    arguments_.resize(at + (sizeof(Arguments) + sizeof(Unit) - 1) / sizeof(Unit));
    ClearPadding(new (&arguments_[at]) Arguments(arguments));
    work_.push_back({work, blocks, shared_bytes, at});
  }

  size_t size() const { return work_.size(); }
  void Clear() {
    work_.clear();
    arguments_.clear();
  }

  void DoAll(void* device, void* stream) const {
    for (const Work& each : work_) {
      each.work(device, stream, each.blocks, each.shared_bytes, &arguments_[each.arguments]);
    }
  }

  friend bool operator==(const Recording& a, const Recording& b) {
    if (a.work_.size() != b.work_.size() || a.arguments_.size() != b.arguments_.size()) {
      return false;
    }
    for (size_t i = 0; i < a.work_.size(); ++i) {
      if (!a.work_[i].IsLike(b.work_[i])) return false;
    }
    return a.arguments_.empty() || std::memcmp(a.arguments_.data(), b.arguments_.data(),
                                               a.arguments_.size() * sizeof(Unit)) == 0;
  }

 private:
  struct alignas(16) Unit {
    unsigned char bytes[16];
  };

  struct Work {
    Do work;
    Blocks blocks;
    size_t shared_bytes;
    size_t arguments;  // the first unit

    bool IsLike(const Work& other) const {
      return work == other.work && blocks.x == other.blocks.x && blocks.y == other.blocks.y &&
             blocks.z == other.blocks.z && shared_bytes == other.shared_bytes &&
             arguments == other.arguments;
    }
  };

  std::vector<Work> work_;
  std::vector<Unit> arguments_;
};

// Record a device's CopyOnDevice and Fill.
template <class Device>
void NoteCopy(Recording& recording, void* to, const void* from, size_t bytes) {
  struct Copy {
    void* to;
    const void* from;
    size_t bytes;
  };
  recording.Note(
      [](void* device, void* stream, const Blocks&, size_t, const void* arguments) {
        const auto& copy = *static_cast<const Copy*>(arguments);
        static_cast<Device*>(device)->CopyOnDevice(*static_cast<typename Device::Stream*>(stream),
                                                   copy.to, copy.from, copy.bytes);
      },
      Copy{to, from, bytes});
}
template <class Device>
void NoteFill(Recording& recording, void* to, unsigned char byte, size_t bytes) {
  struct Fill {
    void* to;
    size_t bytes;
    size_t byte;  // wide, so that there is no padding
  };
  recording.Note(
      [](void* device, void* stream, const Blocks&, size_t, const void* arguments) {
        const auto& fill = *static_cast<const Fill*>(arguments);
        static_cast<Device*>(device)->Fill(*static_cast<typename Device::Stream*>(stream), fill.to,
                                           static_cast<unsigned char>(fill.byte), fill.bytes);
      },
      Fill{to, bytes, byte});
}

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_RECORDING_H_
