#include "common/link/emulated_link.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cacheinf {
namespace {

class EmulatedLink final : public Link {
 public:
  EmulatedLink(std::unique_ptr<Link> link, const LinkShape& shape, const Clock& clock)
      : link_(std::move(link)), clock_(clock), line_(shape, clock.Now()) {}

  bool Send(std::span<const uint8_t> packet) override {
    const std::chrono::nanoseconds now = clock_.Now();
    if (!line_.HasRoom(now)) return false;
    line_.Push(packet, now);
    PassOn();
    return true;
  }

  bool Receive(std::vector<uint8_t>* packet) override {
    PassOn();
    return link_->Receive(packet);
  }

  void Wait(std::chrono::nanoseconds at_most) override {
    PassOn();
    if (const auto arrival = line_.first_arrival()) {
      // If it is due, the link beneath has no room for it.
      const std::chrono::nanoseconds left = *arrival - clock_.Now();
      if (left > std::chrono::nanoseconds(0)) at_most = std::min(at_most, left);
    }
    link_->Wait(at_most);
    PassOn();
  }

  std::string fault() const override { return link_->fault(); }

 private:
  void PassOn() {
    while (line_.first_arrival() && *line_.first_arrival() <= clock_.Now() &&
           link_->Send(line_.first())) {
      line_.Pop();
    }
  }

  const std::unique_ptr<Link> link_;
  const Clock& clock_;
  DelayLine line_;
};

}  // namespace

std::unique_ptr<Link> EmulateLink(std::unique_ptr<Link> link, const LinkShape& shape,
                                  const Clock& clock) {
  return std::make_unique<EmulatedLink>(std::move(link), shape, clock);
}

}  // namespace cacheinf
