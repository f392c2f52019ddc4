#ifndef CACHEINF_COMMON_PAIR_SLOW_WORK_H_
#define CACHEINF_COMMON_PAIR_SLOW_WORK_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <utility>
#include <vector>

namespace cacheinf {

// Runs work that takes too long for the thread that asks for it, each piece on its own thread. Work
// may outlive whoever asked for it, but not this: the destructor waits for all of it.
class SlowWork {
 public:
  // Destroying the future does not wait.
  template <typename Result>
  std::future<Result> Begin(std::function<Result()> work) {
    std::erase_if(begun_, [](const std::future<void>& begun) {
      return begun.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    std::packaged_task<Result()> task(std::move(work));
    std::future<Result> result = task.get_future();
    begun_.push_back(std::async(std::launch::async, std::move(task)));
    return result;
  }

  // Whether any of it goes on.
  bool is_busy() const {
    return std::ranges::any_of(begun_, [](const std::future<void>& begun) {
      return begun.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
    });
  }

 private:
  std::vector<std::future<void>> begun_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_SLOW_WORK_H_
