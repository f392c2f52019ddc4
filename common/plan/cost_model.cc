#include "common/plan/cost_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <climits>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "common/base/error.h"
#include "common/model/graph/geometry.h"

namespace cacheinf {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kPicture = -1;
constexpr double kNothing = -1;

// AxisWindow::Needed in two look-ups.
class NeededRows {
 public:
  explicit NeededRows(const AxisWindow& window) : window_(window) {
    const auto rows = static_cast<size_t>(window.out_size);
    begin_.resize(rows);
    end_.resize(rows);
    is_identity_ = window.in_size == window.out_size;
    Range last;
    for (int row = 0; row < window.out_size; ++row) {
      const Range needed = window.Needed({row, row + 1});
      is_identity_ &= needed == Range{row, row + 1};
      is_rising_ &= needed.empty() || (needed.begin >= last.begin && needed.end >= last.end);
      if (!needed.empty()) last = needed;
      begin_[row] = needed.empty() ? INT_MAX : needed.begin;
      end_[row] = needed.empty() ? 0 : needed.end;
    }
    for (size_t row = rows; row-- > 1;) begin_[row - 1] = std::min(begin_[row - 1], begin_[row]);
    for (size_t row = 1; row < rows; ++row) end_[row] = std::max(end_[row - 1], end_[row]);
  }

  Range Of(Range rows) const {
    if (is_identity_) return rows;
    if (!is_rising_) return window_.Needed(rows);
    const Range needed = {begin_[rows.begin], end_[rows.end - 1]};
    return needed.empty() ? Range{} : needed;
  }

 private:
  AxisWindow window_;
  bool is_identity_ = true;
  bool is_rising_ = true;
  std::vector<int> begin_;  // of this row and all after it
  std::vector<int> end_;    // of this row and all before it
};

// The curves of all operators in one place.
class Curves {
 public:
  void Add(const Curve& curve) {
    for (size_t i = 0; i < curve.points.size(); ++i) {
      const Curve::Point& point = curve.points[i];
      const bool is_last = i + 1 == curve.points.size();
      const Curve::Point next = is_last ? point : curve.points[i + 1];
      pieces_.push_back({is_last ? kNever : next.x, point.x, point.y,
                         is_last ? 0.0 : (next.y - point.y) / (next.x - point.x)});
    }
    if (curve.points.empty()) pieces_.push_back({kNever, 0, 0, 0});
    first_.push_back(pieces_.size());
  }

  double At(size_t curve, double x) const {
    const Piece* piece = &pieces_[first_[curve]];
    while (x >= piece->end) ++piece;
    return piece->y + piece->slope * std::max(0.0, x - piece->begin);
  }

 private:
  struct Piece {
    double end, begin, y, slope;
  };
  std::vector<Piece> pieces_;
  std::vector<size_t> first_ = {0};
};

}  // namespace

void CheckArePair(const Profile& robot, const Profile& server, const std::string& name) {
  const auto refuse = [&](const std::string& what) {
    throw InputError((name.empty() ? "" : name + ": ") + what +
                     "; measure both sides again (cacheinf-profile measure)");
  };
  if (robot.side != Side::kRobot || server.side != Side::kServer) {
    refuse("the profiles are not one of a robot and one of a server");
  }
  if (robot.operators.size() != server.operators.size() ||
      robot.model_checksum != server.model_checksum) {
    refuse(fmt::format("the profiles are of different models, \"{}\" and \"{}\"", robot.model,
                       server.model));
  }
  if (robot.settings != server.settings) {
    refuse(fmt::format("the profiles are of different settings, {} and {}", robot.settings,
                       server.settings));
  }
  for (size_t id = 0; id < robot.operators.size(); ++id) {
    const ProfiledOperator& op = robot.operators[id];
    if (op.rows != server.operators[id].rows || op.name != server.operators[id].name) {
      refuse(fmt::format("the profiles do not agree on the operator \"{}\"", op.name));
    }
    if (op.is_view && op.inputs.empty()) {
      refuse(fmt::format("\"{}\" of the robot's profile is a view of nothing", op.name));
    }
  }
}

// Everything that does not depend on the situation.
struct CostModel::Network {
  struct Input {
    int from = kPicture;
    const NeededRows* rows = nullptr;
  };
  struct Node {
    int rows = 1;
    int first_input = 0;
    int inputs_end = 0;
    bool is_local = true;
    bool is_kept = true;
    bool is_output = false;
  };

  BySide<Profile> profiles;
  int picture_rows = 1;
  std::vector<Node> nodes;
  std::vector<Input> inputs;
  std::vector<int> views;  // operators, last first
  std::vector<int> outputs;
  std::vector<int> last_reader;  // count() for an output
  std::vector<int> cut_places;
  BySide<Curves> ms;
  Curves active;
  std::vector<Range> wanted;  // rows that outputs need at all
  std::vector<std::unique_ptr<NeededRows>> windows;

  Network(const Profile& robot_profile, const Profile& server_profile)
      : profiles{robot_profile, server_profile} {
    const std::vector<ProfiledOperator>& operators = profiles.robot.operators;
    CheckArePair(robot_profile, server_profile);
    std::map<std::tuple<int, int, int, int, int, int, int, int>, const NeededRows*> known;
    for (size_t id = 0; id < operators.size(); ++id) {
      const ProfiledOperator& op = operators[id];
      Node node = {op.rows,     static_cast<int>(inputs.size()), 0, op.is_local, op.is_kept,
                   op.is_output};
      for (const ProfiledOperator::Input& input : op.inputs) {
        const AxisWindow& axis = input.rows;
        const WindowAxis& window = axis.window;
        const NeededRows*& rows =
            known[{static_cast<int>(axis.kind), axis.in_size, axis.out_size, window.kernel,
                   window.stride, window.pad_begin, window.dilation, axis.tile}];
        if (rows == nullptr || axis.kind == AxisWindow::Kind::kResize) {
          rows = windows.emplace_back(std::make_unique<NeededRows>(axis)).get();
        }
        inputs.push_back({input.from, rows});
        if (input.from == kPicture) picture_rows = axis.in_size;
      }
      node.inputs_end = static_cast<int>(inputs.size());
      nodes.push_back(node);
      if (op.is_view) views.insert(views.begin(), static_cast<int>(id));
      if (op.is_output) outputs.push_back(static_cast<int>(id));
      active.Add(op.active);
      for (const Side side : kSides) ms[side].Add(profiles[side].operators[id].ms);
    }
    FindReaders();
    FindWanted();
  }

  int count() const { return static_cast<int>(nodes.size()); }

  // Time of all operators for a frame of this much work.
  double ServerMs(double work) const {
    double sum = 0;
    for (size_t id = 0; id < nodes.size(); ++id) {
      sum += ms.server.At(id, active.At(id, work));
    }
    return sum;
  }

  void FindReaders() {
    last_reader.assign(nodes.size(), 0);
    for (int id = 0; id < count(); ++id) {
      const Node& node = nodes[id];
      if (node.is_output) last_reader[id] = count();
      for (int i = node.first_input; i < node.inputs_end; ++i) {
        const int from = inputs[i].from;
        if (from == kPicture) continue;
        int& last = last_reader[from];
        last = std::max(last, id);
      }
    }
    int unkept_until = kPicture;
    for (int place = kPicture; place + 1 < count(); ++place) {
      if (place != kPicture && !nodes[place].is_kept) {
        unkept_until = std::max(unkept_until, last_reader[place]);
      }
      if (unkept_until <= place) cut_places.push_back(place);
    }
  }

  void FindWanted() {
    wanted.resize(nodes.size());
    for (const int id : outputs) wanted[id] = {0, nodes[id].rows};
    for (size_t id = nodes.size(); id-- > 0;) {
      const Node& node = nodes[id];
      if (wanted[id].empty()) continue;
      for (int i = node.first_input; i < node.inputs_end; ++i) {
        const Input& input = inputs[i];
        if (input.from == kPicture) continue;
        Range& of_input = wanted[input.from];
        of_input = Hull(of_input, input.rows->Of(node.is_local ? wanted[id] : Range{0, node.rows}));
      }
    }
  }
};

// What things cost in a situation, for all rows of an operator.
class CostModel::Costs {
 public:
  struct Crossing {
    double bytes = kNothing;  // not computed yet
    double encode_ms = 0;
    double decode_ms = 0;
  };

  Costs(const Network& network, const Situation& situation, bool keeps)
      : factor{situation.robot_factor, situation.server_factor},
        network_(network),
        keeps_(keeps),
        work_{keeps ? situation.robot_work : 1.0, keeps ? situation.server_work : 1.0} {
    for (const Side side : kSides) {
      ms[side].reserve(network.nodes.size());
      share[side].reserve(network.nodes.size());
      crossing_[side].resize(network.nodes.size());
      for (size_t id = 0; id < network.nodes.size(); ++id) {
        const double active = keeps ? network.active.At(id, work_[side]) : 1.0;
        share[side].push_back(active);
        ms[side].push_back(factor[side] * (keeps ? network.ms[side].At(id, active)
                                                 : network.profiles[side].operators[id].dense_ms));
        whole_ms[side] += ms[side].back();
      }
    }
    const Profile& robot = network.profiles.robot;
    const bool may_cross = !robot.picture_slice_bytes.points.empty();
    const double work = work_.server;
    picture_ = {may_cross ? robot.picture_slice_bytes.At(work) : kNever,
                factor.robot * robot.picture_encode_ms.At(work),
                factor.server * network.profiles.server.picture_decode_ms.At(work)};
  }

  // Cost of moving an operator's output, or the picture, to `receiver`.
  const Crossing& CrossingTo(Side receiver, int id) const {
    if (id == kPicture) return picture_;
    const auto op = static_cast<size_t>(id);
    Crossing& crossing = crossing_[receiver][op];
    if (crossing.bytes != kNothing) return crossing;
    const Side sender = PeerOf(receiver);
    const double work = work_[receiver];
    const ProfiledOperator& like = network_.profiles.robot.operators[op];
    const ProfiledOperator& from = network_.profiles[sender].operators[op];
    const ProfiledOperator& to = network_.profiles[receiver].operators[op];
    crossing.bytes = keeps_ ? like.slice_bytes.At(work) : like.whole_bytes;
    crossing.encode_ms = factor[sender] * (keeps_ ? from.encode_ms.At(work) : from.whole_encode_ms);
    crossing.decode_ms = factor[receiver] * (keeps_ ? to.decode_ms.At(work) : to.whole_decode_ms);
    // A profile without slices: as floats.
    if (keeps_ ? like.slice_bytes.points.empty() : like.whole_bytes == 0) {
      crossing.bytes = share[receiver][op] * static_cast<double>(like.row_bytes) * like.rows;
    }
    return crossing;
  }

  BySide<double> factor;
  BySide<std::vector<double>> ms;
  BySide<std::vector<double>> share;  // of computed pixels
  BySide<double> whole_ms;            // all operators

 private:
  const Network& network_;
  bool keeps_;
  BySide<double> work_;
  mutable BySide<std::vector<Crossing>> crossing_;  // by receiver
  Crossing picture_;
};

// One entry per operator.
struct CostModel::Scratch {
  struct Entry {
    int run = 0;
    int boundary = 0;
    bool is_exchanged = false;
    BySide<Range> needed;
    BySide<Range> computed;
    BySide<Range> missing;      // what the side gets from the other
    BySide<double> arrival_ms;  // of what it has yet to take in; or kNothing
  };
  std::vector<Entry> entries;
  std::vector<int> run_rows;  // rows of the picture, by run
};

// Follows a frame through a split: finds its rows backwards, then its times forwards.
class CostModel::Walk {
 public:
  // Follows the first `count` operators.
  Walk(const CostModel& model, const Plan& plan, int count, Timeline* timeline = nullptr)
      : network_(*model.network_),
        situation_(model.situation_),
        costs_(model.CostsOf(plan.keeps)),
        entries_(model.scratch_->entries),
        run_rows_(model.scratch_->run_rows),
        keeps_(plan.keeps),
        count_(count),
        timeline_(timeline) {
    FindOwners(plan.cuts);
    FindRows();
  }

  BySide<PlannedRows> Rows() const {
    BySide<PlannedRows> rows;
    for (const Side side : kSides) {
      for (size_t id = 0; id < entries_.size(); ++id) {
        rows[side].computed.push_back(entries_[id].computed[side]);
        rows[side].sent.push_back(entries_[id].missing[PeerOf(side)]);
      }
    }
    rows.robot.sent_picture = picture_.server;
    return rows;
  }

  // The recursion of CacheInf's section 4.3.2 over the rows that a side computes, halo included:
  //
  //   t_i^c = t_{i-1}^c + T_c(o_i, x_i, r_c - R(o_i))                                  x_i <= x'_i
  //   t_i^c = max(t_{i-1}^c, t_i^s + D(o_i, x'_i - x_i, r) / b) + T_c(o_i, x_i, …)     x_i > x'_i
  //
  // and t_i^s likewise. Unlike in the paper, t^s on the right is the time at which the sender has
  // the rows, not the time of the same operator. What crosses waits for coding, for half a round
  // trip, and for the link, which carries one slice after the other each way. The receiver begins
  // the operator only then, since it reads those rows.
  void Run(double begin_ms) {
    now_ms_ = {begin_ms, 0.0};
    busy_ms_ = {begin_ms, 0.0};
    Note(Timeline::Lane::kRobot, "decide", 0, begin_ms);
    if (!picture_.server.empty()) {
      picture_arrival_ms_ = Send(Side::kServer, kPicture, picture_.server.size(),
                                 network_.picture_rows, costs_.CrossingTo(Side::kServer, kPicture));
    }
    for (int id = 0; id < count_; ++id) {
      for (const Side side : kSides) Compute(side, id);
      for (const Side side : kSides) {
        Scratch::Entry& entry = entries_[id];
        entry.arrival_ms[side] = kNothing;
        if (entry.missing[side].empty()) continue;
        entry.arrival_ms[side] =
            Send(side, id, entry.missing[side].size(), RowsOf(id), costs_.CrossingTo(side, id));
      }
    }
  }

  // x_n = 1: the answer ends on the robot.
  void TakeOutputs() {
    for (const int id : network_.outputs) Take(Side::kRobot, id);
  }

  double now_ms(Side side) const { return now_ms_[side]; }
  double busy_ms(Side side) const { return busy_ms_[side]; }
  double bytes(Side receiver) const { return bytes_[receiver]; }
  double link_ms() const { return link_ms_; }

 private:
  int RowsOf(int id) const { return network_.nodes[id].rows; }

  void FindOwners(const std::vector<Cut>& cuts) {
    run_rows_.assign(1, network_.picture_rows);
    int id = 0;
    const auto own = [&](int end) {
      const int run = static_cast<int>(run_rows_.size()) - 1;
      for (; id < end; ++id) {
        Scratch::Entry& entry = entries_[id];
        entry.run = run;
        entry.boundary = MapRowsOf(run_rows_.back(), network_.picture_rows, RowsOf(id));
        entry.is_exchanged = network_.nodes[id].is_output;
        entry.needed = entry.computed = entry.missing = {};
      }
    };
    for (const Cut& cut : cuts) {
      own(std::min(count_, cut.after + 1));
      run_rows_.push_back(PictureRowsOf(cut.robot_thousandths, network_.picture_rows));
    }
    own(count_);
    for (id = 0; id < count_; ++id) {
      const Network::Node& node = network_.nodes[id];
      for (int i = node.first_input; i < node.inputs_end; ++i) {
        const int from = network_.inputs[i].from;
        if (from == kPicture || !network_.nodes[from].is_kept) continue;
        Scratch::Entry& read = entries_[from];
        if (read.run != entries_[id].run) read.is_exchanged = true;
      }
      if (network_.last_reader[id] >= count_) {
        entries_[id].is_exchanged = node.is_kept;
      }
    }
    // A view's rows cross as those of the value it shows.
    for (const int view : network_.views) {
      if (view >= count_ || !entries_[view].is_exchanged) continue;
      entries_[view].is_exchanged = false;
      const Network::Node& node = network_.nodes[view];
      const int from = network_.inputs[node.first_input].from;
      if (from != kPicture) entries_[from].is_exchanged = true;
    }
  }

  // Mirrors CompileRows of split.h.
  void FindRows() {
    for (int id = count_; id-- > 0;) {
      const Network::Node& node = network_.nodes[id];
      Scratch::Entry& entry = entries_[id];
      const Range all = {0, node.rows};
      if (node.is_output) entry.needed.robot = all;
      if (node.is_local && !entry.is_exchanged) {
        for (const Side side : kSides) SetComputed(side, id, entry.needed[side]);
        continue;
      }
      int boundary = std::clamp(entry.boundary, 0, node.rows);
      if (!node.is_local) boundary = 2 * boundary >= node.rows ? node.rows : 0;
      Range wanted = Hull(entry.needed.robot, entry.needed.server);
      if (network_.last_reader[id] >= count_) {
        wanted = Hull(wanted, network_.wanted[id]);
      }
      const BySide<Range> owned = {{0, boundary}, {boundary, node.rows}};
      for (const Side side : kSides) {
        const Range mine = Intersect(owned[side], wanted);
        SetComputed(side, id, node.is_local || mine.empty() ? mine : all);
        entry.missing[side] = node.is_local ? Intersect(entry.needed[side], owned[PeerOf(side)])
                              : owned[side].empty() ? entry.needed[side]
                                                    : Range{};
      }
    }
  }

  void SetComputed(Side side, int id, Range rows) {
    entries_[id].computed[side] = rows;
    if (rows.empty()) return;
    const Network::Node& node = network_.nodes[id];
    for (int i = node.first_input; i < node.inputs_end; ++i) {
      const Network::Input& input = network_.inputs[i];
      Range& needed = input.from == kPicture ? picture_[side] : entries_[input.from].needed[side];
      needed = Hull(needed, input.rows->Of(rows));
    }
  }

  void Compute(Side side, int id) {
    const Scratch::Entry& entry = entries_[id];
    const int rows = entry.computed[side].size();
    if (rows == 0) return;
    const Network::Node& node = network_.nodes[id];
    for (int i = node.first_input; i < node.inputs_end; ++i) {
      Take(side, network_.inputs[i].from);
    }
    double ms = costs_.ms[side][id];
    if (rows != node.rows) {
      const double share = static_cast<double>(rows) / node.rows;
      ms = keeps_ ? costs_.factor[side] * network_.ms[side].At(static_cast<size_t>(id),
                                                               share * costs_.share[side][id])
                  : ms * share;
    }
    Work(side, ms, id, "");
  }

  void Work(Side side, double ms, int id, const char* what) {
    now_ms_[side] += ms;
    busy_ms_[side] += ms;
    Note(side == Side::kRobot ? Timeline::Lane::kRobot : Timeline::Lane::kServer, id, what,
         now_ms_[side] - ms, now_ms_[side]);
  }

  // Returns when the rows arrive.
  double Send(Side receiver, int id, int rows, int all_rows, const Costs::Crossing& crossing) {
    const double share = static_cast<double>(rows) / all_rows;
    Work(PeerOf(receiver), share * crossing.encode_ms, id, "encode ");
    const double bytes = share * crossing.bytes;
    const double mbit = receiver == Side::kServer ? situation_.mbit_up : situation_.mbit_down;
    const double ms = mbit > 0 ? situation_.link_factor * bytes * 8 / (mbit * 1000) : kNever;
    double& free_ms = link_free_ms_[receiver];
    const double begin_ms = std::max(free_ms, now_ms_[PeerOf(receiver)]);
    free_ms = begin_ms + ms;
    bytes_[receiver] += bytes;
    link_ms_ += ms;
    Note(receiver == Side::kServer ? Timeline::Lane::kUp : Timeline::Lane::kDown, id, "", begin_ms,
         free_ms);
    return free_ms + situation_.round_trip_ms / 2;
  }

  // A side takes in what it gets of an operator's output where it first reads it.
  void Take(Side side, int id) {
    double& arrival_ms = id == kPicture ? picture_arrival_ms_ : entries_[id].arrival_ms[side];
    if (arrival_ms == kNothing || (id == kPicture && side == Side::kRobot)) return;
    if (side == Side::kServer && !server_has_begun_) {
      arrival_ms += situation_.server_queue_ms;
      server_has_begun_ = true;
    }
    now_ms_[side] = std::max(now_ms_[side], arrival_ms);
    arrival_ms = kNothing;
    const Costs::Crossing& crossing = costs_.CrossingTo(side, id);
    const double share = id == kPicture
                             ? static_cast<double>(picture_.server.size()) / network_.picture_rows
                             : static_cast<double>(entries_[id].missing[side].size()) / RowsOf(id);
    Work(side, share * crossing.decode_ms, id, "decode ");
  }

  void Note(Timeline::Lane lane, const std::string& name, double begin_ms, double end_ms) {
    if (timeline_ == nullptr || end_ms <= begin_ms) return;
    timeline_->pieces.push_back({lane, name, begin_ms, end_ms});
  }
  void Note(Timeline::Lane lane, int id, const char* what, double begin_ms, double end_ms) {
    if (timeline_ == nullptr) return;
    Note(lane, what + (id == kPicture ? "picture" : network_.profiles.robot.operators[id].name),
         begin_ms, end_ms);
  }

  const Network& network_;
  const Situation& situation_;
  const Costs& costs_;
  std::vector<Scratch::Entry>& entries_;
  std::vector<int>& run_rows_;
  bool keeps_;
  int count_;
  Timeline* timeline_;
  BySide<Range> picture_;
  double picture_arrival_ms_ = kNothing;
  bool server_has_begun_ = false;
  BySide<double> now_ms_;
  BySide<double> busy_ms_;
  // By receiver.
  BySide<double> link_free_ms_;
  BySide<double> bytes_;
  double link_ms_ = 0;
};

CostModel::CostModel(const Profile& robot, const Profile& server, const Situation& situation)
    : CostModel(std::make_shared<const Network>(robot, server), situation) {}

CostModel::CostModel(std::shared_ptr<const Network> network, const Situation& situation)
    : network_(std::move(network)), situation_(situation), scratch_(std::make_unique<Scratch>()) {
  scratch_->entries.resize(network_->nodes.size());
}

CostModel::CostModel(CostModel&& other) noexcept = default;
CostModel::~CostModel() = default;

const CostModel::Costs& CostModel::CostsOf(bool keeps) const {
  std::unique_ptr<const Costs>& costs = costs_[keeps ? 1 : 0];
  if (costs == nullptr) costs = std::make_unique<Costs>(*network_, situation_, keeps);
  return *costs;
}

CostModel CostModel::At(const Situation& situation) const { return {network_, situation}; }

const Profile& CostModel::robot() const { return network_->profiles.robot; }
const Profile& CostModel::server() const { return network_->profiles.server; }
const std::vector<int>& CostModel::cut_places() const { return network_->cut_places; }

double CostModel::BeginMs(bool keeps) const {
  const Profile& robot = network_->profiles.robot;
  return situation_.robot_factor *
         (robot.fit_ms + (keeps ? robot.decide_ms.At(situation_.robot_work) : 0.0));
}

double CostModel::EndMs() const {
  return situation_.robot_factor * network_->profiles.robot.read_ms;
}

double CostModel::OperatorMs(Side side, int op, bool keeps) const {
  return CostsOf(keeps).ms[side][op];
}

double CostModel::CrossingMs(Side receiver, int op, bool keeps) const {
  const bool is_up = receiver == Side::kServer;
  if (!is_linked() || (op != kPicture && !network_->nodes[op].is_kept)) {
    return kNever;
  }
  const Costs::Crossing& crossing = CostsOf(keeps).CrossingTo(receiver, op);
  const double mbit = is_up ? situation_.mbit_up : situation_.mbit_down;
  return crossing.encode_ms + crossing.decode_ms +
         situation_.link_factor * crossing.bytes * 8 / (mbit * 1000);
}

Prediction CostModel::Predict(const Plan& plan, Timeline* timeline) const {
  if (plan.kind == Plan::Kind::kRemote) return PredictRemote(plan, timeline);
  Prediction prediction;
  if (plan.kind == Plan::Kind::kLocal && timeline == nullptr) {
    prediction.robot_ms = BeginMs(plan.keeps) + CostsOf(plan.keeps).whole_ms.robot + EndMs();
    prediction.latency_ms = prediction.robot_ms;
    SetEnergy(prediction);
    return prediction;
  }
  Walk walk(*this, plan, network_->count(), timeline);
  walk.Run(BeginMs(plan.keeps));
  walk.TakeOutputs();
  prediction.latency_ms = walk.now_ms(Side::kRobot) + EndMs();
  prediction.robot_ms = walk.busy_ms(Side::kRobot) + EndMs();
  prediction.server_ms = walk.busy_ms(Side::kServer);
  prediction.up_bytes = walk.bytes(Side::kServer);
  prediction.down_bytes = walk.bytes(Side::kRobot);
  prediction.link_ms = walk.link_ms();
  if (timeline != nullptr) {
    timeline->pieces.push_back(
        {Timeline::Lane::kRobot, "read", walk.now_ms(Side::kRobot), prediction.latency_ms});
  }
  SetEnergy(prediction);
  return prediction;
}

Prediction CostModel::PredictRemote(const Plan& plan, Timeline* timeline) const {
  const Profile& robot = network_->profiles.robot;
  const Profile& server = network_->profiles.server;
  const auto codec = std::ranges::find(robot.codecs, plan.codec, &ProfiledCodec::codec);
  Prediction prediction;
  prediction.latency_ms = kNever;
  if (codec == robot.codecs.end() || !is_linked()) {
    SetEnergy(prediction);
    return prediction;
  }
  const auto decoder = std::ranges::find(server.codecs, plan.codec, &ProfiledCodec::codec);
  const double decode_ms = (decoder == server.codecs.end() ? *codec : *decoder).decode_ms;

  double now_ms = 0;
  const auto spend = [&](Timeline::Lane lane, const char* name, double ms) {
    if (timeline != nullptr && ms > 0)
      timeline->pieces.push_back({lane, name, now_ms, now_ms + ms});
    now_ms += ms;
    return ms;
  };
  const auto cross = [&](Timeline::Lane lane, const char* name, double bytes, double mbit) {
    prediction.link_ms += spend(lane, name, situation_.link_factor * bytes * 8 / (mbit * 1000));
    now_ms += situation_.round_trip_ms / 2;
    return bytes;
  };
  using enum Timeline::Lane;
  const double seen = codec->SeenOf(situation_.server_work);
  prediction.robot_ms += spend(kRobot, "fit", situation_.robot_factor * robot.fit_ms);
  prediction.robot_ms += spend(kRobot, "encode", situation_.robot_factor * codec->encode_ms);
  prediction.up_bytes =
      cross(kUp, "picture", codec->bytes.At(situation_.server_work), situation_.mbit_up);
  now_ms += situation_.server_queue_ms;
  const double server_factor = situation_.server_factor;
  prediction.server_ms += spend(kServer, "decode", server_factor * decode_ms);
  if (plan.keeps) {
    prediction.server_ms += spend(kServer, "decide", server_factor * server.decide_ms.At(seen));
  }
  prediction.server_ms +=
      spend(kServer, "network",
            plan.keeps && seen != situation_.server_work ? server_factor * network_->ServerMs(seen)
                                                         : CostsOf(plan.keeps).whole_ms.server);
  prediction.server_ms += spend(kServer, "encode answer", server_factor * server.answer_encode_ms);
  prediction.down_bytes = cross(kDown, "answer", server.answer_bytes, situation_.mbit_down);
  prediction.robot_ms +=
      spend(kRobot, "decode answer", situation_.robot_factor * robot.answer_decode_ms);
  prediction.robot_ms += spend(kRobot, "read", EndMs());
  prediction.latency_ms = now_ms;
  SetEnergy(prediction);
  return prediction;
}

// Power times time: the robot computes, else sends or receives, else waits.
void CostModel::SetEnergy(Prediction& prediction) const {
  const Profile& robot = network_->profiles.robot;
  if (prediction.latency_ms == kNever) {
    prediction.energy_j = kNever;
    return;
  }
  const double other_ms = std::max(0.0, prediction.latency_ms - prediction.robot_ms);
  const double link_ms = std::min(other_ms, prediction.link_ms);
  prediction.energy_j =
      (robot.computing_watts * prediction.robot_ms + robot.sending_watts * link_ms +
       robot.waiting_watts * (other_ms - link_ms)) /
      1000;
}

Timeline CostModel::PredictTimeline(const Plan& plan) const {
  Timeline timeline;
  Predict(plan, &timeline);
  return timeline;
}

BySide<PlannedRows> CostModel::RowsOf(const Plan& plan) const {
  return Walk(*this, plan, network_->count()).Rows();
}

CostModel::Progress CostModel::PredictFirst(const Plan& plan, int operator_count) const {
  Walk walk(*this, plan, operator_count);
  walk.Run(BeginMs(plan.keeps));
  return {walk.now_ms(Side::kRobot), walk.now_ms(Side::kServer)};
}

}  // namespace cacheinf
