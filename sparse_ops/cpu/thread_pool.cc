#include "sparse_ops/cpu/thread_pool.h"

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>

#include "sparse_ops/cpu/core_claims.h"

namespace cacheinf {
namespace {

// About thirty microseconds: longer than the gap between two operators of a network.
constexpr int kSpins = 1000;

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// The cores that this thread may use, in order; empty if the system does not say.
std::vector<int> AllowedCores() {
  std::vector<int> cores;
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
#endif
  return cores;
}

void Pin([[maybe_unused]] std::thread& thread, [[maybe_unused]] int core) {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(thread.native_handle(), sizeof(set), &set);
#endif
}

// The claims of all pools in this process.
struct ProcessClaims {
  std::mutex mutex;
  CoreClaims claims;
};

ProcessClaims& AllClaims() {
  static ProcessClaims all;
  return all;
}

// Empty if there is nothing to pin, or if there are too few cores.
std::vector<int> ClaimCores(int threads) {
  const std::vector<int> allowed = AllowedCores();
  if (threads == 1 || static_cast<size_t>(threads) > allowed.size()) return {};
  ProcessClaims& all = AllClaims();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.claims.Claim(allowed, threads);
}

void ReleaseCores(const std::vector<int>& cores) {
  ProcessClaims& all = AllClaims();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.claims.Release(cores);
}

void End(std::vector<std::thread>& workers, std::atomic<bool>& stop, std::mutex& mutex,
         std::condition_variable& wake) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    stop.store(true);
  }
  wake.notify_all();
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

ThreadPool::ThreadPool(int threads)
    : shares_(static_cast<size_t>(threads)), cores_(ClaimCores(threads)) {
  try {
    for (int thread = 1; thread < threads; ++thread) {
      workers_.emplace_back([this, thread] { Work(thread); });
      if (!cores_.empty()) Pin(workers_.back(), cores_[static_cast<size_t>(thread)]);
    }
  } catch (...) {  // there may be no further thread
    End(workers_, stop_, mutex_, wake_);
    ReleaseCores(cores_);
    throw;
  }
}

ThreadPool::~ThreadPool() {
  End(workers_, stop_, mutex_, wake_);
  ReleaseCores(cores_);
}

bool ThreadPool::MayEnter(uint64_t gate, uint64_t last_round) const {
  return (gate & kOpen) != 0 && gate / kRound != last_round;
}

void ThreadPool::Run(const Loop& loop) {
  LeaveCoresOfWorkers();
  loop_ = loop;
  for (int thread = 0; thread < threads(); ++thread) {
    shares_[static_cast<size_t>(thread)].next.store(ShareBegin(loop.items, thread),
                                                    std::memory_order_relaxed);
  }
  const uint64_t round = gate_.load(std::memory_order_relaxed) / kRound + 1;
  gate_.store(round * kRound | kOpen);
  if (sleepers_.load() > 0) {
    // A worker that is about to sleep holds the mutex until it sleeps.
    { const std::lock_guard<std::mutex> lock(mutex_); }
    wake_.notify_all();
  }
  TakeItems(0);
  gate_.fetch_and(~kOpen);
  for (int spin = 0; (gate_.load(std::memory_order_acquire) & kInside) != 0; ++spin) {
    if (spin < kSpins) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
}

// A worker has no other core, and the scheduler does not move a running thread, so the worker would
// wait for the end of the caller's time slice. Afterwards the caller may run anywhere, as before,
// but has no reason to move.
void ThreadPool::LeaveCoresOfWorkers() const {
#if defined(__linux__)
  if (cores_.empty()) return;
  const int core = sched_getcpu();
  if (std::find(cores_.begin() + 1, cores_.end(), core) == cores_.end()) return;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  const int own_core = cores_.front();
  if (!CPU_ISSET(own_core, &allowed)) return;
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(own_core, &own);
  sched_setaffinity(0, sizeof(own), &own);
  sched_setaffinity(0, sizeof(allowed), &allowed);
#endif
}

int ThreadPool::ShareBegin(int items, int thread) const {
  return static_cast<int>(int64_t{items} * thread / threads());
}

void ThreadPool::TakeItems(int thread) {
  const Loop loop = loop_;
  for (int i = 0; i < threads(); ++i) {
    const int owner = (thread + i) % threads();
    const int end = ShareBegin(loop.items, owner + 1);
    std::atomic<int>& next = shares_[static_cast<size_t>(owner)].next;
    for (int item = next.fetch_add(1, std::memory_order_relaxed); item < end;
         item = next.fetch_add(1, std::memory_order_relaxed)) {
      loop.call(loop.callable, item, thread);
    }
  }
}

void ThreadPool::Work(int thread) {
  uint64_t last_round = 0;
  for (;;) {
    uint64_t gate = gate_.load();
    for (int spin = 0; spin < kSpins && !MayEnter(gate, last_round) && !stop_.load(); ++spin) {
      Pause();
      gate = gate_.load();
    }
    if (!MayEnter(gate, last_round)) {
      std::unique_lock<std::mutex> lock(mutex_);
      sleepers_.fetch_add(1);
      wake_.wait(lock, [&] {
        gate = gate_.load();
        return stop_.load() || MayEnter(gate, last_round);
      });
      sleepers_.fetch_sub(1);
      if (stop_.load()) return;
    }
    if (!gate_.compare_exchange_strong(gate, gate + 1)) continue;
    last_round = gate / kRound;
    TakeItems(thread);
    gate_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace cacheinf
