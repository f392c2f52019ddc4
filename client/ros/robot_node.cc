#include "client/ros/robot_node.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <variant>

#include "client/live_robot.h"
#include "client/ros/node_picture.h"
#include "client/server_peer.h"
#include "common/answer/overlay.h"
#include "common/answer/statistics.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/config/fields.h"
#include "common/link/channel.h"
#include "common/source/frame_queue.h"

namespace cacheinf {
namespace {

using Time = std::chrono::nanoseconds;

constexpr size_t kMostRefusalsLogged = 32;

// Whether a setting says where a run's frames come from or where its results go.
bool IsOfARun(std::string_view key) {
  constexpr std::array<std::string_view, 6> kKeys = {"source",      "frames",   "check",
                                                     "camera_wait", "realtime", "log_level"};
  return std::ranges::find(kKeys, key) != kKeys.end() || key.starts_with("output.") ||
         key.starts_with("record.");
}

std::map<std::string, std::string> ResultsOf(RobotConfig& config) {
  std::map<std::string, std::string> texts;
  ForEachField(config.Fields(), [&](const std::string& path, const Field& field) {
    const bool is_result = path != "source" && path != "camera_wait" && path != "log_level";
    if (is_result && IsOfARun(path)) texts.emplace(path, WriteJson({field}));
  });
  return texts;
}

// Removes settings that only a run has. Warns of outputs that nobody will get.
RobotConfig OfANode(RobotConfig config) {
  RobotConfig usual;
  const std::map<std::string, std::string> nothing = ResultsOf(usual);
  for (const auto& [key, text] : ResultsOf(config)) {
    if (text != nothing.at(key)) LogWarning(fmt::format("{}: a node does not do this", key));
  }
  config.source = usual.source;
  config.frames = usual.frames;
  config.check = usual.check;
  config.camera_wait_s = usual.camera_wait_s;
  config.realtime = usual.realtime;
  config.output = usual.output;
  config.record = usual.record;
  return config;
}

// Where the map, which is `size` long, shows each pixel of the frame's axis; -1: nowhere.
std::vector<int> PlacesOf(const AxisFit& axis, int size) {
  std::vector<int> places(static_cast<size_t>(axis.frame_size));
  for (int i = 0; i < axis.frame_size; ++i) {
    const int64_t model = axis.ToModel(i);
    places[static_cast<size_t>(i)] =
        model < 0 ? -1 : static_cast<int>(model * size / axis.model_size);
  }
  return places;
}

// The class of each pixel of the frame; -1 where the network does not see it.
std::vector<int32_t> ClassesOf(const ClassMap& map, const PictureFit& fit) {
  const std::vector<int> columns = PlacesOf(fit.columns(), map.width);
  const std::vector<int> rows = PlacesOf(fit.rows(), map.height);
  std::vector<int32_t> classes;
  classes.reserve(rows.size() * columns.size());
  for (const int row : rows) {
    const int32_t* const from = map.classes.data() + int64_t{std::max(row, 0)} * map.width;
    for (const int column : columns) {
      classes.push_back(row < 0 || column < 0 ? -1 : from[column]);
    }
  }
  return classes;
}

std::string GuardText(const std::optional<GuardState>& guard) {
  if (!guard) return "";
  std::string text = NameOf(guard->level);
  if (guard->agreement) text += fmt::format(", agreement {:.2f}", *guard->agreement);
  if (guard->is_in_doubt) text += ", in doubt";
  return text;
}

// The text of an error that a key or a parameter has caused: names keys where the message names
// options.
std::string TextOf(const std::exception& error) {
  RobotConfig usual;
  return WithKeys(error.what(), usual.Fields());
}

std::string OverText(const std::string& why) { return "the node is over: " + why; }

// What happened to a camera's images.
struct Tally {
  int64_t images = 0;
  int64_t answers = 0;
  int64_t moved = 0;
  int64_t late = 0;
  int64_t dropped = 0;
  int64_t ended = 0;    // of the images: answered or dropped
  int64_t in_hand = 0;  // of these, answered by the deadline
  LatencyHistogram latency;
  double reuse_sum = 0;
  int64_t with_reuse = 0;
};

}  // namespace

class RobotNode::Cameras {
 public:
  Cameras(const RobotConfig& config, const std::vector<std::string>& names, bool always_on,
          const Clock& clock, NodeListener& listener);
  ~Cameras();
  Cameras(const Cameras&) = delete;
  Cameras& operator=(const Cameras&) = delete;

  void Want(int camera, const NodeWants& wants);
  void SetActive(bool is_active);
  bool Offer(int camera, const NodeImage& image);
  std::string Change(const std::vector<std::pair<std::string, std::string>>& settings);
  std::string Reload();
  void Reset();
  RobotConfig config() const;
  NodeStatus status(int camera);

 private:
  class Camera;

  // Asks to go on with these, once no frame is under way.
  struct Request {
    RobotConfig config;
    std::shared_ptr<RobotModels> models;
    std::promise<std::string> answer;  // empty, or why it is refused
  };

  std::shared_ptr<RobotModels> Load(const RobotConfig& config) const;
  std::vector<std::unique_ptr<LiveRobot>> MakeRobots(const RobotConfig& config,
                                                     RobotModels& models);
  void Use(const RobotConfig& config, std::shared_ptr<RobotModels> models);
  std::string UseBetweenFrames(const RobotConfig& config, bool loads);

  void Work();
  void TakeTurns();
  bool RunRequest();
  Camera* NextToServe();
  void Serve(Camera& camera);
  bool TakeIdleStep();
  void LookAround(const Camera* but);
  void Wait();
  void End(const std::string& why);

  bool IsWanted(const Camera& camera) const;  // REQUIRES: mutex_ is held
  void Refuse(Camera& camera, const std::string& why);

  const bool always_on_;
  const Clock& clock_;
  NodeListener& listener_;
  const std::atomic<bool> never_stops_ = false;

  std::mutex changing_;  // held while what is below changes, for longer than mutex_

  mutable std::mutex mutex_;
  std::condition_variable has_changed_;
  RobotConfig config_;
  bool is_active_ = true;
  bool stops_ = false;
  bool is_woken_ = false;
  std::string why_over_;  // empty: the node has not ended
  std::deque<Request> requests_;
  std::set<std::string> refusals_;  // that are logged

  // Used by the thread, and by its requesters while it waits for them.
  std::shared_ptr<RobotModels> models_;
  std::vector<std::unique_ptr<Camera>> cameras_;
  size_t served_ = 0;  // the camera that had its turn last
  size_t idled_ = 0;

  std::thread thread_;
};

// What the node has for one camera. The node's mutex guards everything but the robot.
class RobotNode::Cameras::Camera final : public FrameObserver {
 public:
  struct Image {
    Time arrived{};
    Time stamp{};
    std::string frame_id;
    bool is_answered = false;
    bool is_in_hand = false;  // was answered by the deadline
    bool has_ended = false;
  };

  Camera(Cameras& node, int index, std::string name)
      : queue(/*capacity=*/1, /*is_live=*/true),
        node_(node),
        index_(index),
        name_(std::move(name)) {}

  const std::string& name() const { return name_; }

  void Skip(const Frame& frame, const std::string& reason) override;
  void PublishMoved(const Frame& frame, const Answer& answer) override;
  void Publish(const Frame& frame, const Answer& answer) override;
  void LookElsewhere() override { node_.LookAround(this); }

  // REQUIRES for all that follow: the node's mutex is held.
  void Take(Frame frame, Image image);
  void Refuse(const std::string& why);
  void End(int64_t frame, bool counts);  // this image and those before it
  NodeStatus TakeStatus();

  FrameQueue queue;
  std::unique_ptr<LiveRobot> robot;
  NodeWants wants;

 private:
  NodeAnswer Show(const Frame& frame, const Answer& answer);
  void Note(const Frame& frame, const Answer& answer, NodeAnswer& shown);
  template <typename Change>
  void Count(const Change& change) {
    for (Tally& tally : tallies_) change(tally);
  }

  Cameras& node_;
  const int index_;
  const std::string name_;
  std::map<int64_t, Image>
      images_;             // by frame: those that have not ended, and the last computed one
  int64_t computed_ = -1;  // the frame of the last computed answer
  Time refused_at_{};
  std::array<Tally, 2> tallies_;  // since the last but one call of TakeStatus, and since the last
  NodeStatus status_;             // without what is counted
};

void RobotNode::Cameras::Camera::Take(Frame frame, Image image) {
  const int64_t index = queue.Push(std::move(frame));
  images_.emplace(index, std::move(image));
  Count([](Tally& tally) { ++tally.images; });
}

void RobotNode::Cameras::Camera::Refuse(const std::string& why) {
  status_.refusal = why;
  refused_at_ = node_.clock_.Now();
}

void RobotNode::Cameras::Camera::End(int64_t frame, bool counts) {
  for (auto image = images_.begin(); image != images_.end() && image->first <= frame;) {
    Image& ended = image->second;
    if (!std::exchange(ended.has_ended, true) && counts) {
      Count([&](Tally& tally) {
        ++tally.ended;
        tally.in_hand += ended.is_in_hand;
        tally.dropped += !ended.is_answered;
      });
    }
    image = image->first == computed_ ? std::next(image) : images_.erase(image);
  }
}

void RobotNode::Cameras::Camera::Skip(const Frame& frame, const std::string& reason) {
  const std::lock_guard lock(node_.mutex_);
  Refuse(reason);
  End(frame.index - 1, /*counts=*/true);
  End(frame.index, /*counts=*/false);
}

void RobotNode::Cameras::Camera::PublishMoved(const Frame& frame, const Answer& answer) {
  NodeAnswer shown = Show(frame, answer);
  {
    const std::lock_guard lock(node_.mutex_);
    Note(frame, answer, shown);
  }
  node_.listener_.Publish(shown);
}

void RobotNode::Cameras::Camera::Publish(const Frame& frame, const Answer& answer) {
  NodeAnswer shown = Show(frame, answer);
  std::string why = robot->robot().WhyPlan();
  const auto link = robot->robot().link_statistics();
  {
    const std::lock_guard lock(node_.mutex_);
    const bool is_later = images_.at(frame.index).arrived >= refused_at_;
    Note(frame, answer, shown);
    computed_ = answer.computed_from;
    End(frame.index, /*counts=*/true);
    if (is_later) status_.refusal.clear();
    status_.plan = answer.plan;
    status_.why = std::move(why);
    status_.guard = GuardText(answer.guard);
    status_.has_server = link.has_value();
    status_.link_mbit = link && link->bandwidth ? link->bandwidth->bits_per_second / 1e6 : 0;
    status_.round_trip_ms = link && link->round_trip ? Milliseconds(link->round_trip->time) : 0;
  }
  node_.listener_.Publish(shown);
}

// Reads all it needs from the robot, which may lose a GPU.
NodeAnswer RobotNode::Cameras::Camera::Show(const Frame& frame, const Answer& answer) {
  NodeAnswer shown;
  NodeWants wanted;
  {
    const std::lock_guard lock(node_.mutex_);
    wanted = wants;
    const Image& image = images_.at(frame.index);
    shown.stamp = image.stamp;
    shown.frame_id = image.frame_id;
    shown.computed_from_stamp = images_.at(answer.computed_from).stamp;
  }
  const Robot& of = robot->robot();
  const PictureFit& fit = *of.fit();
  shown.camera = index_;
  shown.width = frame.picture.width;
  shown.height = frame.picture.height;
  shown.answer = &answer;
  shown.reader = &of.reader();
  if (const auto* map = std::get_if<ClassMap>(&answer.content); map != nullptr && wanted.answers) {
    shown.classes = ClassesOf(*map, fit);
  }
  if (wanted.overlay) {
    shown.overlay = DrawAnswer(frame.picture, fit, answer.content, of.reader());
  }
  if (wanted.recomputed && !answer.is_moved) {
    if (const auto map = of.recomputed()) {
      shown.recomputed = DrawRecomputed(frame.picture, fit, *map);
    }
  }
  return shown;
}

// Counts it, and says how late it is.
void RobotNode::Cameras::Camera::Note(const Frame& frame, const Answer& answer, NodeAnswer& shown) {
  Image& image = images_.at(frame.index);
  image.is_answered = true;
  shown.latency = node_.clock_.Now() - image.arrived;
  const bool has_deadline = answer.deadline_ms > 0;
  shown.is_late = has_deadline && Milliseconds(shown.latency) > answer.deadline_ms;
  if (has_deadline && !shown.is_late) image.is_in_hand = true;
  Count([&](Tally& tally) {
    if (answer.is_moved) {
      ++tally.moved;
      return;
    }
    ++tally.answers;
    tally.late += shown.is_late;
    tally.latency.Add(shown.latency);
    if (!answer.work) return;
    ++tally.with_reuse;
    tally.reuse_sum += 1 - answer.work->active;
  });
}

NodeStatus RobotNode::Cameras::Camera::TakeStatus() {
  const Tally tally = std::exchange(tallies_[0], std::exchange(tallies_[1], Tally()));
  NodeStatus status = status_;
  status.camera = name_;
  status.images = tally.images;
  status.answers = tally.answers;
  status.moved = tally.moved;
  status.late = tally.late;
  status.dropped = tally.dropped;
  status.p50_ms = tally.latency.PercentileMs(0.50);
  status.p95_ms = tally.latency.PercentileMs(0.95);
  const auto share = [](double of, int64_t all) {
    return all > 0 ? of / static_cast<double>(all) : 0;
  };
  status.reuse = share(tally.reuse_sum, tally.with_reuse);
  status.in_hand = share(static_cast<double>(tally.in_hand), tally.ended);
  return status;
}

RobotNode::Cameras::Cameras(const RobotConfig& config, const std::vector<std::string>& names,
                            bool always_on, const Clock& clock, NodeListener& listener)
    : always_on_(always_on), clock_(clock), listener_(listener) {
  const RobotConfig of_node = OfANode(config);
  for (const std::string& name : names) {
    cameras_.push_back(std::make_unique<Camera>(*this, static_cast<int>(cameras_.size()), name));
  }
  try {
    of_node.Check();
    Use(of_node, Load(of_node));
  } catch (const InputError& error) {
    throw InputError(TextOf(error));
  }
  thread_ = std::thread([this] { Work(); });
}

RobotNode::Cameras::~Cameras() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  has_changed_.notify_all();
  thread_.join();
}

std::shared_ptr<RobotModels> RobotNode::Cameras::Load(const RobotConfig& config) const {
  CheckServerLink(config.server);
  auto models =
      std::make_shared<RobotModels>(LoadNetwork(config, /*has_tensors=*/false), config,
                                    /*has_tensors=*/false, std::nullopt, clock_, never_stops_);
  (void)models->For(config);
  return models;
}

std::vector<std::unique_ptr<LiveRobot>> RobotNode::Cameras::MakeRobots(const RobotConfig& config,
                                                                       RobotModels& models) {
  std::vector<std::unique_ptr<LiveRobot>> robots;
  for (const std::unique_ptr<Camera>& camera : cameras_) {
    RobotConfig own = config;
    if (cameras_.size() > 1) own.server.robot = camera->name();
    robots.push_back(std::make_unique<LiveRobot>(own, models, camera->queue, clock_, *camera));
  }
  return robots;
}

// Throws, and has changed nothing then, if the robots cannot be made.
void RobotNode::Cameras::Use(const RobotConfig& config, std::shared_ptr<RobotModels> models) {
  std::vector<std::unique_ptr<LiveRobot>> robots = MakeRobots(config, *models);
  const size_t capacity = LiveRobot::FramesAhead(config, /*is_live=*/true);
  for (size_t i = 0; i < robots.size(); ++i) {
    cameras_[i]->robot = std::move(robots[i]);
    cameras_[i]->queue.SetCapacity(capacity);
  }
  models_ = std::move(models);
  const std::lock_guard lock(mutex_);
  config_ = config;
}

// Returns an empty text, or why it is refused. REQUIRES: changing_ is held.
std::string RobotNode::Cameras::UseBetweenFrames(const RobotConfig& config, bool loads) {
  Request request{config, models_, {}};
  std::future<std::string> answer = request.answer.get_future();
  try {
    if (loads) request.models = Load(config);
  } catch (const std::exception& error) {
    return TextOf(error);
  }
  {
    const std::lock_guard lock(mutex_);
    if (!why_over_.empty()) return OverText(why_over_);
    requests_.push_back(std::move(request));
  }
  has_changed_.notify_all();
  return answer.get();
}

std::string RobotNode::Cameras::Change(
    const std::vector<std::pair<std::string, std::string>>& settings) {
  const std::lock_guard changing(changing_);
  const RobotConfig before = config();
  RobotConfig after = before;
  try {
    for (const auto& [key, text] : settings) {
      if (IsOfARun(key)) throw InputError(fmt::format("{}: a node at work has no use for it", key));
      SetField(key, text, "parameter", after.Fields());
    }
    after.Check();
    CheckServerLink(after.server);
  } catch (const InputError& error) {
    return TextOf(error);
  }
  return UseBetweenFrames(after, !RobotModels::AreSame(before, after));
}

std::string RobotNode::Cameras::Reload() {
  const std::lock_guard changing(changing_);
  return UseBetweenFrames(config(), /*loads=*/true);
}

void RobotNode::Cameras::Reset() {
  const std::lock_guard changing(changing_);
  const std::string wrong = UseBetweenFrames(config(), /*loads=*/false);
  if (!wrong.empty()) LogError(fmt::format("nothing is forgotten: {}", wrong));
}

RobotConfig RobotNode::Cameras::config() const {
  const std::lock_guard lock(mutex_);
  return config_;
}

NodeStatus RobotNode::Cameras::status(int camera) {
  const std::lock_guard lock(mutex_);
  NodeStatus status = cameras_.at(static_cast<size_t>(camera))->TakeStatus();
  status.is_active = is_active_ && why_over_.empty();
  status.mode = config_.ModeName();
  status.server = config_.server.address;
  status.deadline_ms = config_.deadline_ms;
  return status;
}

bool RobotNode::Cameras::IsWanted(const Camera& camera) const {
  return is_active_ && why_over_.empty() && (always_on_ || camera.wants.anything());
}

void RobotNode::Cameras::Want(int camera, const NodeWants& wants) {
  {
    const std::lock_guard lock(mutex_);
    cameras_.at(static_cast<size_t>(camera))->wants = wants;
    is_woken_ = true;
  }
  has_changed_.notify_all();
}

void RobotNode::Cameras::SetActive(bool is_active) {
  {
    const std::lock_guard lock(mutex_);
    is_active_ = is_active;
    is_woken_ = true;
  }
  has_changed_.notify_all();
}

bool RobotNode::Cameras::Offer(int camera, const NodeImage& image) {
  const Time arrived = clock_.Now();
  Camera& of = *cameras_.at(static_cast<size_t>(camera));
  {
    const std::lock_guard lock(mutex_);
    if (!IsWanted(of)) return true;
  }
  Frame frame;
  frame.stamp = arrived;
  try {
    frame.picture = PictureOf(image);
  } catch (const InputError& error) {
    Refuse(of, error.what());
    return false;
  } catch (const std::bad_alloc&) {
    Refuse(of, fmt::format("there is no memory for an image of {} bytes", image.bytes.size()));
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    of.Take(std::move(frame),
            {.arrived = arrived, .stamp = image.stamp, .frame_id = image.frame_id});
    is_woken_ = true;
  }
  has_changed_.notify_all();
  return true;
}

void RobotNode::Cameras::Refuse(Camera& camera, const std::string& why) {
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    camera.Refuse(why);
    is_new = refusals_.size() < kMostRefusalsLogged && refusals_.insert(why).second;
  }
  if (!is_new) return;
  LogWarning(camera.name().empty() ? why : fmt::format("{}: {}", camera.name(), why));
}

void RobotNode::Cameras::Work() {
  try {
    TakeTurns();
  } catch (const std::exception& error) {
    End(TextOf(error));
  }
}

void RobotNode::Cameras::TakeTurns() {
  while (true) {
    while (RunRequest()) {
    }
    {
      const std::lock_guard lock(mutex_);
      if (stops_) return;
    }
    if (Camera* const next = NextToServe()) {
      Serve(*next);
    } else if (!TakeIdleStep()) {
      Wait();
    }
  }
}

void RobotNode::Cameras::End(const std::string& why) {
  std::deque<Request> refused;
  {
    const std::lock_guard lock(mutex_);
    why_over_ = why;
    refused.swap(requests_);
  }
  for (Request& request : refused) request.answer.set_value(OverText(why));
  listener_.Fail(why);
}

bool RobotNode::Cameras::RunRequest() {
  Request request;
  {
    const std::lock_guard lock(mutex_);
    if (requests_.empty()) return false;
    request = std::move(requests_.front());
    requests_.pop_front();
  }
  std::string why_refused;
  try {
    Use(request.config, std::move(request.models));
  } catch (const std::exception& error) {
    why_refused = TextOf(error);
  }
  request.answer.set_value(std::move(why_refused));
  return true;
}

// Drops images to which nobody wants an answer any more. Returns null if no image waits.
RobotNode::Cameras::Camera* RobotNode::Cameras::NextToServe() {
  for (size_t i = 1; i <= cameras_.size(); ++i) {
    const size_t at = (served_ + i) % cameras_.size();
    Camera& camera = *cameras_[at];
    while (camera.robot->HasNext()) {
      {
        const std::lock_guard lock(mutex_);
        if (IsWanted(camera)) {
          served_ = at;
          return &camera;
        }
      }
      // Others may get moved answers while they wait, so no image goes before all are dropped.
      int64_t last = -1;
      while (camera.robot->HasNext()) last = std::max(last, camera.robot->Next()->index);
      const std::lock_guard lock(mutex_);
      camera.End(last, /*counts=*/false);
    }
  }
  return nullptr;
}

void RobotNode::Cameras::Serve(Camera& camera) {
  const std::optional<Frame> frame = camera.robot->Next();
  camera.robot->Handle(*frame);
}

bool RobotNode::Cameras::TakeIdleStep() {
  for (size_t i = 1; i <= cameras_.size(); ++i) {
    const size_t at = (idled_ + i) % cameras_.size();
    {
      const std::lock_guard lock(mutex_);
      if (!IsWanted(*cameras_[at])) continue;
    }
    if (!cameras_[at]->robot->TakeIdleStep()) continue;
    idled_ = at;
    LookAround(nullptr);
    return true;
  }
  return false;
}

// Gives the moved answers of all cameras `but` one that are due.
void RobotNode::Cameras::LookAround(const Camera* but) {
  for (const std::unique_ptr<Camera>& camera : cameras_) {
    if (camera.get() == but) continue;
    {
      const std::lock_guard lock(mutex_);
      if (!IsWanted(*camera)) continue;
    }
    camera->robot->LookAround();
  }
}

// Waits for an image or a request. At most one robot measures itself: two would disturb each other.
void RobotNode::Cameras::Wait() {
  for (const std::unique_ptr<Camera>& camera : cameras_) {
    {
      const std::lock_guard lock(mutex_);
      if (!IsWanted(*camera)) continue;
    }
    if (camera->robot->Rest()) break;
  }
  {
    std::unique_lock lock(mutex_);
    has_changed_.wait(lock, [this] { return stops_ || is_woken_ || !requests_.empty(); });
    is_woken_ = false;
  }
  for (const std::unique_ptr<Camera>& camera : cameras_) camera->robot->Wake();
}

bool RobotNode::Takes(std::string_view key) { return !IsOfARun(key); }

RobotNode::RobotNode(const RobotConfig& config, const std::vector<std::string>& cameras,
                     bool always_on, const Clock& clock, NodeListener& listener)
    : cameras_(std::make_unique<Cameras>(config, cameras, always_on, clock, listener)) {}

RobotNode::~RobotNode() = default;

void RobotNode::Want(int camera, const NodeWants& wants) { cameras_->Want(camera, wants); }

void RobotNode::SetActive(bool is_active) { cameras_->SetActive(is_active); }

bool RobotNode::Offer(int camera, const NodeImage& image) { return cameras_->Offer(camera, image); }

std::string RobotNode::Change(const std::vector<std::pair<std::string, std::string>>& settings) {
  return cameras_->Change(settings);
}

std::string RobotNode::Reload() { return cameras_->Reload(); }

void RobotNode::Reset() { cameras_->Reset(); }

RobotConfig RobotNode::config() const { return cameras_->config(); }

NodeStatus RobotNode::status(int camera) { return cameras_->status(camera); }

}  // namespace cacheinf
