#include "common/plan/cost_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/error.h"
#include "common/plan/split_table.h"

namespace cacheinf {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kPicture = SplitTable::kPicture;
constexpr double kNothing = -1;

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

double Situation::LinkMs(Side receiver, double bytes) const {
  const double mbit = receiver == Side::kServer ? mbit_up : mbit_down;
  return mbit > 0 ? link_factor * bytes * 8 / (mbit * 1000) : kNever;
}

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
  BySide<Profile> profiles;
  SplitTable table;
  std::vector<int> outputs;
  std::vector<int> cut_places;
  BySide<Curves> ms;
  Curves active;

  Network(const Profile& robot, const Profile& server)
      : profiles{(CheckArePair(robot, server), robot), server}, table(robot.operators) {
    int unkept_until = kPicture;
    for (int id = kPicture; id < count(); ++id) {
      if (id != kPicture) {
        const SplitTable::Node& node = table.nodes[id];
        if (node.is_output) outputs.push_back(id);
        if (!node.is_kept) unkept_until = std::max(unkept_until, table.last_reader[id]);
        active.Add(robot.operators[id].active);
        for (const Side side : kSides) ms[side].Add(profiles[side].operators[id].ms);
      }
      if (unkept_until <= id && id + 1 < count()) cut_places.push_back(id);
    }
  }

  int count() const { return table.count(); }

  // Time of all operators for a frame of this much work.
  double ServerMs(double work) const {
    double sum = 0;
    for (int id = 0; id < count(); ++id) sum += ms.server.At(id, active.At(id, work));
    return sum;
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
      ms[side].reserve(network.table.nodes.size());
      share[side].reserve(network.table.nodes.size());
      crossing_[side].resize(network.table.nodes.size());
      for (size_t id = 0; id < network.table.nodes.size(); ++id) {
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

struct CostModel::Scratch {
  SharedFrame frame;
  std::vector<int> robot_rows;  // of the picture, by cut
  // One per operator: when the part arrives that a side has yet to take in, or kNothing.
  std::vector<BySide<double>> arrival_ms;
};

// Follows a frame through a split: finds its rows, then its times.
class CostModel::Walk {
 public:
  // Follows the first `count` operators.
  Walk(const CostModel& model, const Plan& plan, int count, Timeline* timeline = nullptr)
      : network_(*model.network_),
        table_(network_.table),
        situation_(model.situation_),
        costs_(model.CostsOf(plan.keeps)),
        frame_(model.scratch_->frame),
        arrival_ms_(model.scratch_->arrival_ms),
        keeps_(plan.keeps),
        count_(count),
        timeline_(timeline) {
    std::vector<int>& robot_rows = model.scratch_->robot_rows;
    robot_rows.clear();
    for (const Cut& cut : plan.cuts) {
      robot_rows.push_back(PictureRowsOf(cut.robot_thousandths, table_.picture_rows));
    }
    table_.FindOwners(plan.cuts, robot_rows, count, &frame_);
    table_.FindRows(count, &frame_);
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
    if (!frame_.picture.server.empty()) {
      picture_arrival_ms_ = Send(Side::kServer, kPicture, frame_.picture.server.size(),
                                 table_.picture_rows, costs_.CrossingTo(Side::kServer, kPicture));
    }
    for (int id = 0; id < count_; ++id) {
      for (const Side side : kSides) Compute(side, id);
      for (const Side side : kSides) {
        const Range missing = frame_.operators[id].missing[side];
        arrival_ms_[id][side] = missing.empty() ? kNothing
                                                : Send(side, id, missing.size(), RowsOf(id),
                                                       costs_.CrossingTo(side, id));
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
  int RowsOf(int id) const { return table_.nodes[id].rows; }

  void Compute(Side side, int id) {
    const int rows = frame_.operators[id].computed[side].size();
    if (rows == 0) return;
    const SplitTable::Node& node = table_.nodes[id];
    for (int i = node.first_input; i < node.inputs_end; ++i) Take(side, table_.inputs[i].from);
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
    const double ms = situation_.LinkMs(receiver, bytes);
    double& free_ms = link_free_ms_[receiver];
    const double begin_ms = std::max(free_ms, now_ms_[PeerOf(receiver)]);
    free_ms = begin_ms + ms;
    bytes_[receiver] += bytes;
    link_ms_ += ms;
    Note(receiver == Side::kServer ? Timeline::Lane::kUp : Timeline::Lane::kDown, id, "", begin_ms,
         free_ms);
    return free_ms + situation_.round_trip_ms / 2;
  }

  // A side takes in its part of an operator's output where it first reads it.
  void Take(Side side, int id) {
    double& arrival_ms = id == kPicture ? picture_arrival_ms_ : arrival_ms_[id][side];
    if (arrival_ms == kNothing || (id == kPicture && side == Side::kRobot)) return;
    if (side == Side::kServer && !server_has_begun_) {
      arrival_ms += situation_.server_queue_ms;
      server_has_begun_ = true;
    }
    now_ms_[side] = std::max(now_ms_[side], arrival_ms);
    arrival_ms = kNothing;
    const Costs::Crossing& crossing = costs_.CrossingTo(side, id);
    const double share =
        id == kPicture
            ? static_cast<double>(frame_.picture.server.size()) / table_.picture_rows
            : static_cast<double>(frame_.operators[id].missing[side].size()) / RowsOf(id);
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
  const SplitTable& table_;
  const Situation& situation_;
  const Costs& costs_;
  SharedFrame& frame_;
  std::vector<BySide<double>>& arrival_ms_;
  bool keeps_;
  int count_;
  Timeline* timeline_;
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
  scratch_->arrival_ms.resize(network_->table.nodes.size());
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
  if (!is_linked() || (op != kPicture && !network_->table.nodes[op].is_kept)) {
    return kNever;
  }
  const Costs::Crossing& crossing = CostsOf(keeps).CrossingTo(receiver, op);
  return crossing.encode_ms + crossing.decode_ms + situation_.LinkMs(receiver, crossing.bytes);
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
  const auto cross = [&](Side receiver, const char* name, double bytes) {
    const auto lane = receiver == Side::kServer ? Timeline::Lane::kUp : Timeline::Lane::kDown;
    prediction.link_ms += spend(lane, name, situation_.LinkMs(receiver, bytes));
    now_ms += situation_.round_trip_ms / 2;
    return bytes;
  };
  using enum Timeline::Lane;
  const double seen = codec->SeenOf(situation_.server_work);
  prediction.robot_ms += spend(kRobot, "fit", situation_.robot_factor * robot.fit_ms);
  prediction.robot_ms += spend(kRobot, "encode", situation_.robot_factor * codec->encode_ms);
  prediction.up_bytes = cross(Side::kServer, "picture", codec->bytes.At(situation_.server_work));
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
  prediction.down_bytes = cross(Side::kRobot, "answer", server.answer_bytes);
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

CostModel::Progress CostModel::PredictFirst(const Plan& plan, int operator_count) const {
  Walk walk(*this, plan, operator_count);
  walk.Run(BeginMs(plan.keeps));
  return {walk.now_ms(Side::kRobot), walk.now_ms(Side::kServer)};
}

}  // namespace cacheinf
