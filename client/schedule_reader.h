#ifndef CACHEINF_CLIENT_SCHEDULE_READER_H_
#define CACHEINF_CLIENT_SCHEDULE_READER_H_

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/exec/layout.h"
#include "common/model/graph/graph.h"
#include "common/plan/plan.h"
#include "common/plan/plan_chooser.h"

namespace cacheinf {

// Reads schedules for a robot's model (common/plan/schedule.h), checks that the robot can follow
// them, and makes the object that chooses among their plans. That takes longer than a frame may, so
// a server's schedule is read on another thread.
class ScheduleReader {
 public:
  struct Rules {
    // Returns why the robot must not follow a plan that it could follow; empty if it may.
    std::function<std::string(const Plan& plan)> why_not;
    // Throws InputError if the robot cannot follow a plan that it may follow.
    std::function<void(const Plan& plan)> check;
  };

  // Any thread may call the rules. Graph and layout must outlive this.
  ScheduleReader(const Graph& graph, const Layout& layout, Rules rules);

  // Reads at once. The chooser knows only plans that the robot may follow; logs a warning if none
  // of them is with the server. Throws InputError naming the schedule.
  std::unique_ptr<PlanChooser> Read(const std::string& text, const std::string& name) const;

  // Reads a server's schedule, compressed as in compressed_text.h, on another thread. Never waits:
  // a schedule that arrives during a read is read next.
  void Begin(std::vector<uint8_t> compressed);

  // Returns the result of Begin once, when ready; null before. Throws InputError as Read does.
  std::unique_ptr<PlanChooser> Take();

 private:
  void BeginNext();

  const Graph& graph_;
  const Layout& layout_;
  const Rules rules_;
  std::optional<std::vector<uint8_t>> next_;
  std::future<std::unique_ptr<PlanChooser>> reading_;  // last member: the thread uses all others
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_SCHEDULE_READER_H_
