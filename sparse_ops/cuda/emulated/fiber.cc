#include "sparse_ops/cuda/emulated/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

// cacheinf_switch_stack(save, to) saves the registers that a call must keep, stores the stack
// pointer at `save` and continues on stack `to`. A new stack starts at cacheinf_start_stack, which
// calls the function in one saved register with the argument in another.
extern "C" void cacheinf_switch_stack(void** save, void* to);
extern "C" void cacheinf_start_stack();

#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.globl cacheinf_switch_stack
.hidden cacheinf_switch_stack
.type cacheinf_switch_stack, @function
cacheinf_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cacheinf_switch_stack, . - cacheinf_switch_stack
.p2align 4
.globl cacheinf_start_stack
.hidden cacheinf_start_stack
.type cacheinf_start_stack, @function
cacheinf_start_stack:
  .cfi_startproc
  .cfi_undefined rip
  movq %r12, %rdi
  callq *%r13
  ud2
  .cfi_endproc
.size cacheinf_start_stack, . - cacheinf_start_stack
)");
#elif defined(__aarch64__)
asm(R"(
.text
.p2align 4
.globl cacheinf_switch_stack
.hidden cacheinf_switch_stack
.type cacheinf_switch_stack, @function
cacheinf_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size cacheinf_switch_stack, . - cacheinf_switch_stack
.p2align 4
.globl cacheinf_start_stack
.hidden cacheinf_start_stack
.type cacheinf_start_stack, @function
cacheinf_start_stack:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x19
  blr x20
  brk #1
  .cfi_endproc
.size cacheinf_start_stack, . - cacheinf_start_stack
)");
#else
#error "Fibers are written for x86-64 and ARM64."
#endif

namespace cacheinf::cuda {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr size_t kStackBytes = 512 * 1024;
#else
constexpr size_t kStackBytes = 128 * 1024;
#endif

// Guards every stack's end, so that an overflow stops the program.
size_t GuardBytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Where the first frame begins below a stack's end: elsewhere in each, or all fibers' frames would
// share the same few lines of the cache.
size_t BytesAbove(const void* stack) {
  constexpr size_t kLine = 64;
  const size_t lines = GuardBytes() / kLine;
  return reinterpret_cast<uintptr_t>(stack) / GuardBytes() % lines * kLine;
}

// Prepares a new stack for cacheinf_switch_stack, with function and argument for
// cacheinf_start_stack. Returns the stack pointer.
void* FirstFrame(void* stack_end, void (*function)(void*), void* argument) {
  // Aligned as calls require.
  const auto address = reinterpret_cast<uintptr_t>(stack_end);
  void** const end = static_cast<void**>(stack_end) - address % 16 / sizeof(void*);
#if defined(__x86_64__)
  constexpr int kSlots = 9;  // r15, r14, r13, r12, rbx, rbp, the return address, two to align
  void** const slots = end - kSlots;
  for (int i = 0; i < kSlots; ++i) slots[i] = nullptr;
  slots[2] = reinterpret_cast<void*>(function);
  slots[3] = argument;
  slots[6] = reinterpret_cast<void*>(&cacheinf_start_stack);
#else
  constexpr int kSlots = 20;  // x19 to x30, d8 to d15
  void** const slots = end - kSlots;
  for (int i = 0; i < kSlots; ++i) slots[i] = nullptr;
  slots[0] = argument;
  slots[1] = reinterpret_cast<void*>(function);
  slots[11] = reinterpret_cast<void*>(&cacheinf_start_stack);
#endif
  return slots;
}

}  // namespace

Fiber::Fiber()
    : stack_(mmap(nullptr, GuardBytes() + kStackBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  if (stack_ == MAP_FAILED) throw std::bad_alloc();
  mprotect(stack_, GuardBytes(), PROT_NONE);
}

Fiber::~Fiber() {
#ifdef __SANITIZE_THREAD__
  if (own_tsan_fiber_ != nullptr) __tsan_destroy_fiber(own_tsan_fiber_);
#endif
  munmap(stack_, GuardBytes() + kStackBytes);
}

void Fiber::Start(void (*entry)(void*), void* argument) {
  entry_ = entry;
  argument_ = argument;
  char* const lowest = static_cast<char*>(stack_) + GuardBytes();
#ifdef __SANITIZE_ADDRESS__
  ASAN_UNPOISON_MEMORY_REGION(lowest, kStackBytes);
  own_fake_stack_ = nullptr;
#endif
#ifdef __SANITIZE_THREAD__
  if (own_tsan_fiber_ != nullptr) __tsan_destroy_fiber(own_tsan_fiber_);
  own_tsan_fiber_ = __tsan_create_fiber(0);
#endif
  own_stack_pointer_ = FirstFrame(lowest + kStackBytes - BytesAbove(stack_), &Fiber::Enter, this);
}

void Fiber::Enter(void* fiber) {
  auto* const self = static_cast<Fiber*>(fiber);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &self->resumer_stack_, &self->resumer_stack_bytes_);
#endif
  self->entry_(self->argument_);
}

void Fiber::Resume() {
#ifdef __SANITIZE_ADDRESS__
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, static_cast<char*>(stack_) + GuardBytes(),
                                 kStackBytes);
#endif
#ifdef __SANITIZE_THREAD__
  resumer_tsan_fiber_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(own_tsan_fiber_, 0);
#endif
  cacheinf_switch_stack(&resumer_stack_pointer_, own_stack_pointer_);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void Fiber::Suspend() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&own_fake_stack_, resumer_stack_, resumer_stack_bytes_);
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_switch_to_fiber(resumer_tsan_fiber_, 0);
#endif
  cacheinf_switch_stack(&own_stack_pointer_, resumer_stack_pointer_);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(own_fake_stack_, &resumer_stack_, &resumer_stack_bytes_);
#endif
}

}  // namespace cacheinf::cuda
