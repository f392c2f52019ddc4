#ifndef CACHEINF_SPARSE_OPS_CUDA_EMULATED_FIBER_H_
#define CACHEINF_SPARSE_OPS_CUDA_EMULATED_FIBER_H_

#include <cstddef>

namespace cacheinf::cuda {

// Runs a function on a stack of its own, which can stop midway and go on later. For x86-64 and
// ARM64.
class Fiber {
 public:
  // Throws std::bad_alloc if there is no memory for the stack.
  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  // Makes the next Resume() call entry(argument), which must never return or throw. Abandons what
  // ran here before where it stopped: nothing on its stack is destroyed.
  void Start(void (*entry)(void*), void* argument);

  // Runs the fiber until it calls Suspend(). REQUIRES: Start() was called.
  void Resume();

  // Returns to where Resume() was called. REQUIRES: called on the fiber.
  void Suspend();

 private:
  static void Enter(void* fiber);

  void* stack_;
  void* own_stack_pointer_ = nullptr;
  void* resumer_stack_pointer_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  // For sanitizers.
  [[maybe_unused]] void* own_fake_stack_ = nullptr;
  [[maybe_unused]] const void* resumer_stack_ = nullptr;
  [[maybe_unused]] size_t resumer_stack_bytes_ = 0;
  [[maybe_unused]] void* own_tsan_fiber_ = nullptr;
  [[maybe_unused]] void* resumer_tsan_fiber_ = nullptr;
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_EMULATED_FIBER_H_
