#include "common/exec/cache_choice.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "common/exec/layout.h"
#include "common/exec/stages.h"
#include "common/model/graph/cost.h"
#include "common/model/graph/geometry.h"

namespace cacheinf {
namespace {

constexpr double kChangedShare = 0.1;

// Pixels of a map.
struct Rectangle {
  Range rows;
  Range columns;

  bool empty() const { return rows.empty() || columns.empty(); }
  double area() const { return empty() ? 0.0 : static_cast<double>(rows.size()) * columns.size(); }
};

Rectangle Hull(const Rectangle& a, const Rectangle& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {cacheinf::Hull(a.rows, b.rows), cacheinf::Hull(a.columns, b.columns)};
}

Range Middle(int size) {
  const double half = 0.5 * std::sqrt(kChangedShare);
  return {static_cast<int>(std::floor(size * (0.5 - half))),
          static_cast<int>(std::ceil(size * (0.5 + half)))};
}

// Remembers the ranges that one axis of a window gives: a search asks for the same ones over and
// over.
class RangeMemory {
 public:
  using Way = Range (AxisWindow::*)(Range) const;

  RangeMemory(const AxisWindow& axis, Way way) : axis_(axis), way_(way) {}

  Range Of(Range range) {
    const auto [found, is_new] = known_.try_emplace({range.begin, range.end});
    if (is_new) found->second = (axis_.*way_)(range);
    return found->second;
  }

 private:
  AxisWindow axis_;
  Way way_;
  std::map<std::pair<int, int>, Range> known_;
};

class WorkModel {
 public:
  explicit WorkModel(const Graph& graph) : graph_(graph), steps_(graph.operators.size()) {
    for (size_t id = 0; id < graph.operators.size(); ++id) {
      const Operator& op = graph.operators[id];
      if (!IsLocal(graph, op)) continue;
      Step& step = steps_[id];
      const Value& output = graph.value(op.outputs[0]);
      const double operations = static_cast<double>(CostOf(graph, op).operations);
      const double numbers = static_cast<double>(ElementCount(output.shape));
      step.work_of_pixel =
          (operations + numbers) / (static_cast<double>(HeightOf(output)) * WidthOf(output));
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (graph.value(op.inputs[i]).is_constant()) continue;
        step.reads.emplace_back(op.inputs[i], InputWindow(graph, op, static_cast<int>(i)));
      }
    }
  }

  double WorkOf(const std::vector<bool>& is_kept) {
    changed_.assign(graph_.values.size(), {});
    needed_.assign(graph_.values.size(), {});
    computed_.assign(graph_.values.size(), {});
    for (size_t id = 0; id < graph_.values.size(); ++id) {
      const Value& value = graph_.values[id];
      const bool is_kept_map = value.producer == kNone || is_kept[id];
      if (is_kept_map && !value.is_constant()) changed_[id] = MiddleOf(value);
    }
    for (size_t op = 0; op < steps_.size(); ++op) {
      const ValueId output = OutputOf(static_cast<OpId>(op));
      if (!is_kept[output]) changed_[output] = Touched(static_cast<OpId>(op));
    }
    double work = 0.0;
    for (const Stage& stage : FindStages(graph_, is_kept)) work += WorkOf(stage);
    return work;
  }

 private:
  // A map that an operator reads.
  struct Read {
    Read(ValueId read, const Window& window)
        : map(read),
          touched_rows(window.rows, &AxisWindow::Touched),
          touched_columns(window.columns, &AxisWindow::Touched),
          needed_rows(window.rows, &AxisWindow::Needed),
          needed_columns(window.columns, &AxisWindow::Needed) {}

    ValueId map;
    RangeMemory touched_rows;
    RangeMemory touched_columns;
    RangeMemory needed_rows;
    RangeMemory needed_columns;
  };
  struct Step {
    double work_of_pixel = 0.0;
    std::vector<Read> reads;  // none if the operator is not local
  };

  // A map of one pixel (a gate) changes too little to count.
  static Rectangle MiddleOf(const Value& value) {
    if (HeightOf(value) == 1 && WidthOf(value) == 1) return {};
    return {Middle(HeightOf(value)), Middle(WidthOf(value))};
  }

  ValueId OutputOf(OpId op) const { return graph_.operators[op].outputs[0]; }

  Rectangle Touched(OpId op) {
    Rectangle touched;
    for (Read& read : steps_[op].reads) {
      const Rectangle& changed = changed_[read.map];
      if (changed.empty()) continue;
      touched = Hull(
          touched, {read.touched_rows.Of(changed.rows), read.touched_columns.Of(changed.columns)});
    }
    return touched;
  }

  void AddNeeded(OpId op, const Rectangle& pixels) {
    if (pixels.empty()) return;
    for (Read& read : steps_[op].reads) {
      needed_[read.map] = Hull(needed_[read.map], {read.needed_rows.Of(pixels.rows),
                                                   read.needed_columns.Of(pixels.columns)});
    }
  }

  double WorkOf(const Stage& stage) {
    for (const OpId op : stage.inner) needed_[OutputOf(op)] = {};
    const Rectangle active = Touched(stage.root);
    double work = steps_[stage.root].work_of_pixel * active.area();
    AddNeeded(stage.root, active);
    for (size_t i = stage.inner.size(); i-- > 0;) {
      const OpId op = stage.inner[i];
      Rectangle& computed = computed_[OutputOf(op)];
      const Rectangle both = Hull(computed, needed_[OutputOf(op)]);
      if (both.area() <= computed.area()) continue;
      work += steps_[op].work_of_pixel * (both.area() - computed.area());
      AddNeeded(op, needed_[OutputOf(op)]);
      computed = both;
    }
    return work;
  }

  const Graph& graph_;
  std::vector<Step> steps_;
  // One per value.
  std::vector<Rectangle> changed_;
  std::vector<Rectangle> needed_;    // by the current stage
  std::vector<Rectangle> computed_;  // by earlier stages
};

std::vector<ValueId> Listed(const std::vector<bool>& is_in) {
  std::vector<ValueId> values;
  for (size_t id = 0; id < is_in.size(); ++id) {
    if (is_in[id]) values.push_back(static_cast<ValueId>(id));
  }
  return values;
}

// How much shared memory a search may use for values that it gives up, in units of what a dense run
// shares. Even a few such values need room, and those that live from stage to stage need much.
constexpr std::array kScratchLimits = {0.25, 0.5, 1.0, 2.0,
                                       std::numeric_limits<double>::infinity()};

// Gives up one value after the other.
class Search {
 public:
  Search(const Graph& graph, std::span<const ValueId> required, bool held_twice)
      : graph_(graph),
        held_twice_(held_twice),
        model_(graph),
        must_keep_(AlwaysKept(graph)),
        chosen_(graph.values.size(), true),
        layout_(MakeLayout(graph, Listed(chosen_), Keep::kChosen)),
        kept_(FindKept(graph, Listed(chosen_))),
        work_(model_.WorkOf(kept_.is_kept)),
        work_of_all_(work_) {
    for (const ValueId value : required) must_keep_[value] = true;
    for (ValueId id = 0; id < static_cast<ValueId>(graph.values.size()); ++id) {
      if (!must_keep_[id]) Queue(id);
    }
  }

  // Goes on until activations fit the budget. Returns the smallest set seen.
  CacheChoice Run(size_t budget_bytes, double most_scratch_floats) {
    CacheChoice smallest = Current();
    while (smallest.bytes > budget_bytes && GiveUpOne(most_scratch_floats)) {
      CacheChoice current = Current();
      if (current.bytes < smallest.bytes) smallest = std::move(current);
    }
    return smallest;
  }

 private:
  // What giving up a value would cost.
  struct Offer {
    double work_per_byte;
    size_t bytes;
    ValueId value;
    size_t round;  // when it was found

    // A queue gives the best first.
    bool operator<(const Offer& other) const {
      return std::tuple(-work_per_byte, bytes, -value) <
             std::tuple(-other.work_per_byte, other.bytes, -other.value);
    }
  };

  CacheChoice Current() const {
    CacheChoice choice;
    for (const ValueId value : Listed(layout_.is_kept)) {
      if (!graph_.value(value).is_constant()) choice.kept.push_back(value);
    }
    size_t floats = layout_.arena_floats - layout_.constant_floats;
    if (held_twice_) floats += layout_.kept_floats - layout_.constant_floats;
    choice.bytes = floats * sizeof(float);
    choice.extra_work = work_of_all_ > 0.0 ? work_ / work_of_all_ - 1.0 : 0.0;
    return choice;
  }

  // Costs nearly always grow as more is given up, so an old offer is only renewed when it comes out
  // first.
  bool GiveUpOne(double most_scratch_floats) {
    while (!offers_.empty()) {
      const Offer best = offers_.top();
      offers_.pop();
      if (best.round < round_) {
        Queue(best.value);
        continue;
      }
      std::vector<bool> without = *Without(best.value);
      Layout layout = MakeLayout(graph_, Listed(without), Keep::kChosen);
      const size_t scratch_floats = layout.arena_floats - layout.kept_floats;
      if (static_cast<double>(scratch_floats) > most_scratch_floats) continue;
      chosen_ = std::move(without);
      layout_ = std::move(layout);
      kept_ = FindKept(graph_, Listed(chosen_));
      work_ = model_.WorkOf(kept_.is_kept);
      ++round_;
      return true;
    }
    return false;
  }

  // Makes no offer if the value saves nothing now; giving up others can change that.
  void Queue(ValueId value) {
    const std::optional<std::vector<bool>> without = Without(value);
    if (!without) return;
    const KeptValues kept = FindKept(graph_, Listed(*without));
    if (kept.floats >= kept_.floats) return;
    const size_t bytes = (kept_.floats - kept.floats) * sizeof(float);
    const double work = model_.WorkOf(kept.is_kept) - work_;
    offers_.push({work / static_cast<double>(bytes), bytes, value, round_});
  }

  // The chosen values, without this one and those in the place of which it would be kept anyway.
  std::optional<std::vector<bool>> Without(ValueId value) const {
    std::vector<bool> without = chosen_;
    if (!kept_.is_kept[value]) return std::nullopt;
    for (ValueId id = value; id != kNone; id = kept_.viewed[id]) {
      if (must_keep_[id]) return std::nullopt;
      without[id] = false;
    }
    return without;
  }

  const Graph& graph_;
  bool held_twice_;
  WorkModel model_;
  std::vector<bool> must_keep_;
  std::vector<bool> chosen_;
  Layout layout_;
  KeptValues kept_;
  double work_;
  double work_of_all_;
  size_t round_ = 0;
  std::priority_queue<Offer> offers_;
};

bool IsBetter(const CacheChoice& a, const CacheChoice& b, size_t budget_bytes) {
  const bool fits = a.bytes <= budget_bytes;
  if (fits != (b.bytes <= budget_bytes)) return fits;
  return fits ? a.extra_work < b.extra_work : a.bytes < b.bytes;
}

}  // namespace

CacheChoice ChooseCaches(const Graph& graph, size_t budget_bytes, std::span<const ValueId> required,
                         bool held_twice) {
  const Search start(graph, required, held_twice);
  CacheChoice best = Search(start).Run(budget_bytes, 0.0);
  if (best.bytes <= budget_bytes) return best;
  const Layout dense = MakeLayout(graph, {}, Keep::kListed);
  const auto shared_floats = static_cast<double>(dense.arena_floats - dense.kept_floats);
  for (const double limit : kScratchLimits) {
    CacheChoice choice = Search(start).Run(budget_bytes, limit * shared_floats);
    if (IsBetter(choice, best, budget_bytes)) best = std::move(choice);
  }
  return best;
}

double ExpectedWork(const Graph& graph, const std::vector<bool>& is_kept) {
  return WorkModel(graph).WorkOf(is_kept);
}

CacheMemory MemoryOfExtremes(const Graph& graph) {
  const auto bytes_of = [&](Keep keep) {
    const Layout layout = MakeLayout(graph, {}, keep);
    return (layout.arena_floats - layout.constant_floats) * sizeof(float);
  };
  return {bytes_of(Keep::kListed), bytes_of(Keep::kAll)};
}

}  // namespace cacheinf
