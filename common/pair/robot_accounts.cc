#include "common/pair/robot_accounts.h"

#include <fmt/core.h>

#include "common/base/error.h"

namespace cacheinf {
namespace {

constexpr std::chrono::hours kWindow(1);
constexpr double kMegabyte = 1 << 20;

}  // namespace

RobotAccounts::Share& RobotAccounts::Share::operator=(Share&& other) noexcept {
  std::swap(accounts_, other.accounts_);
  std::swap(key_, other.key_);
  std::swap(account_, other.account_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

RobotAccounts::Share::~Share() {
  if (accounts_ == nullptr) return;
  const std::lock_guard lock(accounts_->mutex_);
  accounts_->accounts_[key_].*account_ -= bytes_;
}

void RobotAccounts::Share::Take(uint64_t bytes) {
  if (accounts_ == nullptr) return;
  const std::lock_guard lock(accounts_->mutex_);
  uint64_t& all = accounts_->accounts_[key_].*account_;
  const bool is_memory = account_ == &Account::memory_bytes;
  const Quotas& quotas = accounts_->quotas_;
  const uint64_t most = is_memory ? quotas.memory_bytes : quotas.disk_bytes;
  if (all > most || bytes > most - all) {
    throw InputError(fmt::format(
        "with this model the robots of its key take {:.1f} MB of the server's {}, and may take "
        "{:.1f} MB: start the server with a larger --robot-{}-mb, or fewer robots",
        static_cast<double>(all + bytes) / kMegabyte, is_memory ? "memory" : "disk",
        static_cast<double>(most) / kMegabyte, is_memory ? "memory" : "disk"));
  }
  all += bytes;
  bytes_ += bytes;
}

RobotAccounts::Share RobotAccounts::ShareOf(const std::string& key, uint64_t Account::*account) {
  Share share;
  if (key.empty()) return share;
  share.accounts_ = this;
  share.key_ = key;
  share.account_ = account;
  return share;
}

RobotAccounts::Share RobotAccounts::MemoryOf(const std::string& key) {
  return ShareOf(key, &Account::memory_bytes);
}

RobotAccounts::Share RobotAccounts::ArrivingOf(const std::string& key) {
  return ShareOf(key, &Account::arriving_bytes);
}

void RobotAccounts::CheckMeasuring(const std::string& key) {
  if (key.empty()) return;
  const std::lock_guard lock(mutex_);
  auto& measured = accounts_[key].measured;
  while (!measured.empty() && measured.front().first + kWindow <= clock_.Now()) {
    measured.pop_front();
  }
  Time sum{};
  for (const auto& [when, took] : measured) sum += took;
  if (sum < quotas_.measuring) return;
  throw InputError(fmt::format(
      "robots with this key have had the server measure and solve for {:.0f} s within an hour, "
      "their share of it: wait, or start it with a larger --robot-measuring-s",
      std::chrono::duration<double>(sum).count()));
}

void RobotAccounts::NoteMeasuring(const std::string& key, std::chrono::nanoseconds took) {
  if (key.empty()) return;
  const std::lock_guard lock(mutex_);
  accounts_[key].measured.emplace_back(clock_.Now(), took);
}

}  // namespace cacheinf
