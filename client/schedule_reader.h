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

// Reads schedules of a robot's model (common/plan/schedule.h), checks that they can be followed
// here, and makes what chooses among their plans. That takes longer than a frame may, so a server's
// is read beside the frames.
class ScheduleReader {
 public:
  // `check` throws InputError on a plan that cannot be followed, and may be called from any thread.
  // Without `may_split` plans that split are left out. Graph and layout outlive this.
  ScheduleReader(const Graph& graph, const Layout& layout, bool may_split,
                 std::function<void(const Plan& plan)> check);

  // At once. Throws InputError, which names the schedule.
  std::unique_ptr<PlanChooser> Read(const std::string& text, const std::string& name) const;

  // On a thread of its own. The server's text is as compressed_text.h has it. Never waits: one that
  // comes while another is read is next.
  void Begin(std::vector<uint8_t> compressed);

  // What was begun, once, when it is ready; null before that. Throws InputError as Read does.
  std::unique_ptr<PlanChooser> Take();

 private:
  void BeginNext();

  const Graph& graph_;
  const Layout& layout_;
  const bool may_split_;
  const std::function<void(const Plan& plan)> check_;
  std::optional<std::vector<uint8_t>> next_;
  std::future<std::unique_ptr<PlanChooser>> reading_;  // the last member: it uses all others
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_SCHEDULE_READER_H_
