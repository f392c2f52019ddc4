#ifndef CACHEINF_SPARSE_OPS_CPU_THREAD_POOL_H_
#define CACHEINF_SPARSE_OPS_CPU_THREAD_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace cacheinf {

// Threads that run the items of one loop at a time; between loops they spin for a moment, then
// sleep. On Linux each is pinned to a core from the affinity mask of the thread that makes the
// pool, if there are enough. Pools of one process take different cores while some are free
// (core_claims.h); pools of two processes only if their masks differ. The caller of ParallelFor
// works too; if it runs on a worker's core, it moves to the one left for it. With one thread the
// pool is a plain loop.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // REQUIRES: threads >= 1, the caller included
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls fn(item, thread) once for every item in [0, items), in any order; thread is below
  // threads(). Returns when all calls have. Each thread begins with its share of the items, the
  // same part in every loop, so that its caches still hold what it wrote in the last one; then it
  // helps the others. Does not allocate. REQUIRES: `fn` neither throws nor calls ParallelFor of
  // this pool; there is one caller at a time, unless threads() is 1.
  template <typename Fn>
  void ParallelFor(int items, Fn&& fn) {
    if (workers_.empty() || items <= 1) {
      for (int item = 0; item < items; ++item) fn(item, 0);
      return;
    }
    using Callable = std::remove_reference_t<Fn>;
    const Loop loop = {[](const void* callable, int item, int thread) {
                         (*static_cast<Callable*>(const_cast<void*>(callable)))(item, thread);
                       },
                       &fn, items};
    Run(loop);
  }

 private:
  struct Loop {
    void (*call)(const void* callable, int item, int thread) = nullptr;
    const void* callable = nullptr;
    int items = 0;
  };

  // The share of one thread, from which all may take.
  struct alignas(64) Share {
    std::atomic<int> next{0};
  };

  void Run(const Loop& loop);
  void LeaveCoresOfWorkers() const;
  void Work(int thread);
  int ShareBegin(int items, int thread) const;
  void TakeItems(int thread);
  bool MayEnter(uint64_t gate, uint64_t last_round) const;

  // The gate says whether a loop is open, which round it is, and how many workers are inside.
  // Workers enter only through an open gate, so the caller need not wait for those still asleep.
  static constexpr uint64_t kInside = 0xffff;
  static constexpr uint64_t kOpen = uint64_t{1} << 16;
  static constexpr uint64_t kRound = uint64_t{1} << 17;

  alignas(64) std::atomic<uint64_t> gate_{0};
  alignas(64) std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  Loop loop_;
  std::vector<Share> shares_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<int> cores_;  // claimed, the caller's first; empty if nothing is pinned
  std::vector<std::thread> workers_;
};

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_THREAD_POOL_H_
