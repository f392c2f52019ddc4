#include "common/link/emulated_link.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/number_text.h"

namespace cacheinf {
namespace {

constexpr double kMostSlowdown = 1000;

// Parses "5x"; nothing if it is something else.
std::optional<double> Times(const std::string& text) {
  if (!text.ends_with('x')) return std::nullopt;
  return NumberIn<double>(std::string_view(text).substr(0, text.size() - 1));
}

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
      // A packet that is already due waits for room in the link beneath.
      const std::chrono::nanoseconds left = *arrival - clock_.Now();
      if (left > std::chrono::nanoseconds(0)) at_most = std::min(at_most, left);
    }
    link_->Wait(at_most);
    PassOn();
  }

  void Rest(std::chrono::nanoseconds interval) override { link_->Rest(interval); }

  Peer peer() const override { return link_->peer(); }
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

Emulation ParseEmulation(const std::string& text) {
  Emulation emulation;
  std::string link = text;
  const size_t end = std::min(text.find(','), text.size());
  if (const auto times = Times(text.substr(0, end))) {
    if (!(*times >= 1 && *times <= kMostSlowdown)) {
      throw InputError("emulate \"", text, "\": work takes 1x to 1000x as long");
    }
    emulation.slowdown = *times;
    link = text.substr(std::min(end + 1, text.size()));
    if (link.empty() && end < text.size()) {
      throw InputError("emulate \"", text, "\": no link such as 93mbit,3ms follows the comma");
    }
  }
  if (!link.empty()) emulation.link = ParseLinkShape(link);
  return emulation;
}

std::unique_ptr<Link> EmulateLink(std::unique_ptr<Link> link, const LinkShape& shape,
                                  const Clock& clock) {
  return std::make_unique<EmulatedLink>(std::move(link), shape, clock);
}

}  // namespace cacheinf
