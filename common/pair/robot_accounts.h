#ifndef CACHEINF_COMMON_PAIR_ROBOT_ACCOUNTS_H_
#define CACHEINF_COMMON_PAIR_ROBOT_ACCOUNTS_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "common/base/clock.h"

namespace cacheinf {

// What all robots with one key may take of a server together.
struct Quotas {
  uint64_t memory_bytes = 0;             // for models in use and their states
  uint64_t disk_bytes = 0;               // for models that are kept (ModelStore::MakeRoom)
  std::chrono::nanoseconds measuring{};  // and solving, in an hour
};

// What each key takes. Robots without a key (on the server's own machine, or over MPI) are not
// counted. Any thread may call it.
class RobotAccounts {
  struct Account;

 public:
  // The clock must outlive this.
  RobotAccounts(const Quotas& quotas, const Clock& clock) : quotas_(quotas), clock_(clock) {}

  const Quotas& quotas() const { return quotas_; }

  // Gives back what it holds when it ends. The accounts must outlive it.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept { *this = std::move(other); }
    Share& operator=(Share&& other) noexcept;
    ~Share();

    // Throws InputError, and takes nothing more, if that would exceed the quota.
    void Take(uint64_t bytes);

   private:
    friend class RobotAccounts;
    RobotAccounts* accounts_ = nullptr;  // null: not counted
    std::string key_;
    uint64_t Account::*account_ = nullptr;
    uint64_t bytes_ = 0;
  };
  Share MemoryOf(const std::string& key);
  // Room on the disk, for models that are on their way to it.
  Share ArrivingOf(const std::string& key);

  // Throws InputError if the key has used its time of the last hour.
  void CheckMeasuring(const std::string& key);
  void NoteMeasuring(const std::string& key, std::chrono::nanoseconds took);

 private:
  using Time = std::chrono::nanoseconds;
  struct Account {
    uint64_t memory_bytes = 0;
    uint64_t arriving_bytes = 0;
    std::deque<std::pair<Time, Time>> measured;  // when, how long
  };

  Share ShareOf(const std::string& key, uint64_t Account::*account);

  const Quotas quotas_;
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Account> accounts_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_ROBOT_ACCOUNTS_H_
