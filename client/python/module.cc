// The Python module cacheinf._robot, from which cacheinf/__init__.py makes a robot for Python.
#include <Python.h>
#include <fmt/core.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "client/answer/answer.h"
#include "client/live_robot.h"
#include "client/robot.h"
#include "client/robot_setup.h"
#include "client/server_peer.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_fields.h"
#include "common/base/log.h"
#include "common/config/robot_config.h"
#include "common/model/picture.h"
#include "common/source/frame_queue.h"
#include "common/source/frame_source.h"

namespace py = pybind11;

namespace cacheinf {

namespace {

// Throws InputError if the configuration says what only the program does.
void CheckForLibrary(RobotConfig config) {
  const RobotConfig usual;
  std::vector<std::pair<std::string, bool>> set = {
      {"source", !config.source.empty()},
      {"frames", config.frames != usual.frames},
      {"check", config.check != usual.check},
      {"camera_wait", config.camera_wait_s != usual.camera_wait_s},
      {"realtime", config.realtime},
      {"record.folder", !config.record.folder.empty()},
  };
  ForEachField(config.output.Fields(), [&set](const std::string& path, const Field& field) {
    set.emplace_back("output." + path, !std::get<std::string*>(field.target)->empty());
  });
  for (const auto& [key, is_set] : set) {
    if (!is_set) continue;
    throw InputError(fmt::format(
        "configuration: {} is for cacheinf-robot run; here the program gives the frames and takes "
        "the answers, so leave it out",
        key));
  }
}

Picture CopyOf(const Picture& picture) {
  std::vector<uint8_t> pixels;
  const int64_t row_bytes = int64_t{picture.width} * picture.channels;
  pixels.reserve(static_cast<size_t>(picture.height * row_bytes));
  for (int y = 0; y < picture.height; ++y) {
    pixels.insert(pixels.end(), picture.Row(y), picture.Row(y) + row_bytes);
  }
  return MakePicture(picture.width, picture.height, picture.channels, std::move(pixels));
}

// A robot on a thread of its own, for callers who wait for every answer: a record without an end.
// Frames are computed in the order of the calls. The robot does its work between two frames while
// the caller has the answer. Knows nothing of Python.
class WaitingRobot final : private FrameObserver {
 public:
  // Called every now and then while a call waits. It may throw, which ends the call: nobody gets
  // the frame's answer then.
  using Poll = std::function<void()>;
  using OnMoved = std::function<void(const std::string& line)>;

  struct Given {
    std::string line;                 // as ToJsonLine writes it
    std::optional<ClassMap> classes;  // of a segmentation
  };

  // Throws InputError, in one sentence, for what the user can fix.
  WaitingRobot(RobotConfig config, bool has_tensors, const Poll& poll)
      : config_(std::move(config)),
        has_tensors_(has_tensors),
        queue_(LiveRobot::FramesAhead(config_, /*is_live=*/false), /*is_live=*/false),
        thread_([this] { Run(); }) {
    try {
      std::unique_lock lock(mutex_);
      Wait(lock, poll, [this] { return is_ready_ || is_over_; });
      if (error_) std::rethrow_exception(error_);
    } catch (...) {
      Close();
      throw;
    }
  }
  ~WaitingRobot() override { Close(); }
  WaitingRobot(const WaitingRobot&) = delete;
  WaitingRobot& operator=(const WaitingRobot&) = delete;

  // Returns the frame's own answer. Before that, `on_moved` gets the moved one that it may have at
  // the deadline. Throws InputError for a frame that the model cannot take, and what the robot
  // threw: then the robot has ended, and later calls throw the same. Calls may come from several
  // threads. The frame's pixels and numbers are read until this returns or, if `poll` or `on_moved`
  // throws, until Forgotten() or Close returns.
  Given Process(Frame frame, const Poll& poll, const OnMoved& on_moved) {
    std::unique_lock lock(mutex_);
    Wait(lock, poll, [this] { return is_over_ || is_closed_ || !is_answering_; });
    CheckIsOpen();
    Call call;
    call_ = &call;
    is_answering_ = true;
    lock.unlock();
    try {
      queue_.Push(std::move(frame));
      lock.lock();
      while (true) {
        Wait(lock, poll, [&] { return is_over_ || call.is_done || !call.moved.empty(); });
        if (call.moved.empty()) break;
        const std::string line = std::move(call.moved.front());
        call.moved.pop_front();
        lock.unlock();
        if (on_moved) on_moved(line);
        lock.lock();
      }
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      if (call_ == &call) call_ = nullptr;
      throw;
    }
    if (call.is_done && call.refusal.empty()) return std::move(call.given);
    if (call.is_done) throw InputError(call.refusal);
    call_ = nullptr;
    CheckIsOpen();
    throw std::logic_error("the robot ended without an answer");
  }

  // Whether no frame whose call has ended is read any more.
  bool Forgotten() {
    const std::lock_guard lock(mutex_);
    return !is_answering_ || is_over_;
  }

  // Answers the frame under way, and waits for what follows it.
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    stop_ = true;
    has_changed_.notify_all();
    queue_.Close();
    const std::lock_guard lock(closing_);
    if (thread_.joinable()) thread_.join();
  }

  bool is_closed() {
    const std::lock_guard lock(mutex_);
    return is_closed_;
  }

  // As JSON: the status at the last answer or, once the work after it is done, at its end.
  std::string Status() {
    const std::lock_guard lock(mutex_);
    return status_;
  }

  const RobotConfig& config() const { return config_; }

 private:
  struct Call {
    std::deque<std::string> moved;  // not yet handed on
    bool is_done = false;
    std::string refusal;
    Given given;
  };

  // REQUIRES: the lock is held, as it is again in the end.
  void Wait(std::unique_lock<std::mutex>& lock, const Poll& poll,
            const std::function<bool()>& is_there) {
    constexpr std::chrono::milliseconds kBetweenPolls(50);
    while (!has_changed_.wait_for(lock, kBetweenPolls, is_there)) {
      lock.unlock();
      poll();
      lock.lock();
    }
  }

  // REQUIRES: the lock is held.
  void CheckIsOpen() const {
    if (error_) std::rethrow_exception(error_);
    if (is_closed_) throw InputError("the robot is closed");
  }

  void Run() {
    std::exception_ptr error;
    try {
      AnswerFrames();
    } catch (...) {
      error = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      error_ = error;
    }
    has_changed_.notify_all();
  }

  void AnswerFrames() {
    RobotModels models(LoadNetwork(config_, has_tensors_), config_, has_tensors_, std::nullopt,
                       clock_, stop_);
    LiveRobot robot(config_, models, queue_, clock_, *this);
    robot_ = &robot;
    NoteStatus();
    {
      const std::lock_guard lock(mutex_);
      is_ready_ = true;
    }
    has_changed_.notify_all();
    while ((frame_ = robot.Next())) {
      robot.Handle(*frame_);
      NoteStatus();
    }
  }

  void PublishMoved(const Frame& /*frame*/, const Answer& answer) override {
    std::string line = ToJsonLine(answer, robot_->robot().reader());
    {
      const std::lock_guard lock(mutex_);
      if (call_ != nullptr) call_->moved.push_back(std::move(line));
    }
    has_changed_.notify_all();
  }

  void Publish(const Frame& /*frame*/, const Answer& answer) override {
    Call done;
    done.given.line = ToJsonLine(answer, robot_->robot().reader());
    if (const auto* map = std::get_if<ClassMap>(&answer.content)) done.given.classes = *map;
    NoteStatus();
    End(std::move(done));
  }

  void Skip(const Frame& /*frame*/, const std::string& reason) override {
    Call done;
    done.refusal = reason;
    End(std::move(done));
  }

  // The caller may change or free its memory as soon as it has the answer. By then the network has
  // its own picture; only trials of plans look at the frame's later.
  void End(Call&& done) {
    const bool is_tried = config_.mode == RobotConfig::Mode::kCacheinf && done.refusal.empty();
    frame_->picture = is_tried ? CopyOf(frame_->picture) : Picture();
    frame_->tensor = {};
    {
      const std::lock_guard lock(mutex_);
      if (call_ != nullptr) {
        call_->given = std::move(done.given);
        call_->refusal = std::move(done.refusal);
        call_->is_done = true;
      }
      call_ = nullptr;
      is_answering_ = false;
    }
    has_changed_.notify_all();
  }

  void NoteStatus() {
    using Json = FieldsJson;
    const Robot& robot = robot_->robot();
    Json status = {{"mode", config_.ModeName()}, {"plan", ToText(robot.plan())},
                   {"why", robot.WhyPlan()},     {"link", nullptr},
                   {"guard", nullptr},           {"memory", WriteFields(robot.memory())}};
    if (const auto link = robot.link_statistics()) {
      const auto& bandwidth = link->bandwidth;
      const bool is_known = bandwidth && !bandwidth->is_guess();
      status["link"] = {{"sent_wire_bytes", link->sent.wire},
                        {"received_wire_bytes", link->received.wire},
                        {"bits_per_second", is_known ? Json(bandwidth->bits_per_second) : Json()},
                        {"round_trip_ms",
                         link->round_trip ? Json(Milliseconds(link->round_trip->time)) : Json()}};
    }
    if (const Guard* guard = robot_->guard()) {
      const GuardReport report = guard->report();
      Json& json = status["guard"] = {{"level", NameOf(report.state.level)},
                                      {"agreement", nullptr},
                                      {"in_doubt", report.state.is_in_doubt}};
      if (report.state.agreement) json["agreement"] = *report.state.agreement;
      json.update(WriteFields<SampleCounts>(report));
    }
    std::string text = TextOf(status);
    const std::lock_guard lock(mutex_);
    status_ = std::move(text);
  }

  const RobotConfig config_;
  const bool has_tensors_;
  const SteadyClock clock_;
  std::atomic<bool> stop_ = false;
  FrameQueue queue_;

  // Used by the robot's thread.
  LiveRobot* robot_ = nullptr;
  std::optional<Frame> frame_;

  std::mutex mutex_;
  std::condition_variable has_changed_;
  bool is_ready_ = false;
  bool is_closed_ = false;
  bool is_over_ = false;  // the thread
  std::exception_ptr error_;
  bool is_answering_ = false;  // a frame is pushed and has no answer yet
  Call* call_ = nullptr;       // who waits for it; null: nobody
  std::string status_;

  std::mutex closing_;
  std::thread thread_;  // the last member: it uses all others
};

// --- What Python sees -------------------------------------------------------------------------

// Raises what a signal's handler raises, such as KeyboardInterrupt.
void LookAtSignals() {
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

std::string TypeOf(const py::handle& object) {
  return py::str(py::type::handle_of(object).attr("__name__"));
}

std::string ShapeOf(const py::array& array) { return py::str(array.attr("shape")); }

// Throws InputError if there is nothing in it.
void CheckIsFull(const py::array& array) {
  if (array.size() > 0) return;
  throw InputError(fmt::format("the frame has shape {}, so it is empty", ShapeOf(array)));
}

// Throws InputError unless a row's numbers lie side by side, and rows one behind the other.
void CheckRows(const py::array& array) {
  const int64_t item = array.itemsize();
  int64_t packed = item;
  for (py::ssize_t axis = array.ndim() - 1; axis > 0; --axis) {
    const bool counts = array.shape(axis) > 1;
    if (counts && array.strides(axis) != packed) packed = -1;
    if (packed < 0) break;
    packed *= array.shape(axis);
  }
  if (packed < 0 || (array.shape(0) > 1 && array.strides(0) < packed)) {
    throw InputError(
        "the frame's rows do not lie in memory one after the other; give "
        "numpy.ascontiguousarray(frame)");
  }
}

// Lies over the array's memory.
Picture PictureOver(const py::array& array, bool is_rgb) {
  const bool is_grey = array.ndim() == 2;
  if (!is_grey && !(array.ndim() == 3 && array.shape(2) == 3)) {
    throw InputError(
        fmt::format("the frame has shape {}; a picture has (height, width, 3), or "
                    "(height, width) if it is grey",
                    ShapeOf(array)));
  }
  constexpr py::ssize_t kLongestSide = 1 << 20;
  if (array.shape(0) > kLongestSide || array.shape(1) > kLongestSide) {
    throw InputError(fmt::format("the frame has shape {}, which no picture has", ShapeOf(array)));
  }
  CheckIsFull(array);
  CheckRows(array);
  Picture picture;
  picture.width = static_cast<int>(array.shape(1));
  picture.height = static_cast<int>(array.shape(0));
  picture.channels = is_grey ? 1 : 3;
  picture.row_stride = array.shape(0) > 1 ? array.strides(0) : array.shape(1) * picture.channels;
  // Python's reference to the array keeps it; see WaitingRobot::Process.
  picture.pixels = {std::shared_ptr<void>(), static_cast<const uint8_t*>(array.data())};
  if (!is_rgb || is_grey) return picture;
  picture = CopyOf(picture);
  auto* const pixels = const_cast<uint8_t*>(picture.pixels.get());
  for (int64_t i = 0; i < picture.row_stride * picture.height; i += 3) {
    std::swap(pixels[i], pixels[i + 2]);
  }
  return picture;
}

// Lies over the array's memory.
Tensor TensorOver(const py::array& array) {
  CheckIsFull(array);
  if ((array.flags() & py::array::c_style) == 0) {
    throw InputError(
        "the tensor's numbers do not lie in memory one after the other; give "
        "numpy.ascontiguousarray(frame)");
  }
  const Shape shape(array.shape(), array.shape() + array.ndim());
  return {shape, std::shared_ptr<const float>(std::shared_ptr<void>(),
                                              static_cast<const float*>(array.data()))};
}

// A robot, and the Python objects that it holds. Every call begins and ends with the GIL.
class PythonRobot {
 public:
  // `text` counts if there is no path.
  PythonRobot(const std::optional<std::string>& path, const std::string& text, bool has_tensors)
      : has_tensors_(has_tensors) {
    try {
      Start(path, text);
    } catch (const InputError& error) {
      RobotConfig usual;
      throw InputError(WithKeys(error.what(), usual.Fields()));  // here are no options
    }
    Living().insert(this);
  }
  // NOLINTNEXTLINE(bugprone-exception-escape): giving the GIL back throws only in a broken Python
  ~PythonRobot() {
    Living().erase(this);
    if (IsMine()) {
      const py::gil_scoped_release release;
      robot_.reset();
    } else {
      (void)robot_.release();  // its thread did not come along
    }
  }
  PythonRobot(const PythonRobot&) = delete;
  PythonRobot& operator=(const PythonRobot&) = delete;

  // Returns the answer's line, and a segmentation's map or None.
  py::tuple Process(const py::object& object, const py::object& stamp_s, const py::object& order,
                    const py::object& on_moved) {
    CheckIsMine();
    Frame frame = FrameOf(object, order);
    frame.stamp = StampOf(stamp_s);
    WaitingRobot::OnMoved hand_on;
    if (!on_moved.is_none()) {
      hand_on = [&on_moved](const std::string& line) {
        const py::gil_scoped_acquire gil;
        on_moved(line);
      };
    }
    WaitingRobot::Given given;
    if (robot_->Forgotten()) abandoned_.clear();
    const Counted counted(&calls_);
    try {
      const py::gil_scoped_release release;
      given = robot_->Process(std::move(frame), LookAtSignals, hand_on);
    } catch (const py::error_already_set&) {
      if (!robot_->Forgotten()) abandoned_.push_back(object);
      throw;
    }
    return py::make_tuple(std::move(given.line), MapOf(std::move(given.classes)));
  }

  std::string Status() {
    CheckIsMine();
    return robot_->Status();
  }

  void Close() {
    CheckIsMine();
    {
      const py::gil_scoped_release release;
      robot_->Close();
    }
    abandoned_.clear();
  }

  bool is_closed() const { return robot_->is_closed(); }
  std::string model() const { return robot_->config().model; }
  std::string mode() const { return robot_->config().ModeName(); }

  // When Python ends, no thread may be at work or inside a call: Python would end a thread that
  // returns too late on the spot, which C++ does not allow here.
  static void CloseAll() {
    const std::set<PythonRobot*> living = Living();
    const auto is_here = [](PythonRobot* robot) {
      return Living().contains(robot) && robot->IsMine();
    };
    for (PythonRobot* robot : living) {
      if (is_here(robot)) robot->Close();
      while (is_here(robot) && robot->calls_ > 0) {
        const py::gil_scoped_release release;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }

 private:
  // Counts its lifetimes under the GIL.
  class Counted {
   public:
    explicit Counted(int* count) : count_(count) { ++*count_; }
    ~Counted() { --*count_; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

   private:
    int* count_;
  };

  static std::set<PythonRobot*>& Living() {
    static auto* const robots = new std::set<PythonRobot*>();  // outlives every robot
    return *robots;
  }

  void Start(const std::optional<std::string>& path, const std::string& text) {
    RobotConfig config = path ? EffectiveConfig(std::filesystem::path(*path))
                              : EffectiveConfig(text, "configuration");
    CheckForLibrary(config);
    CheckServerLink(config.server);
    if (has_tensors_ && config.KeepsResults()) {
      throw InputError(
          fmt::format("mode {} needs pictures, but frames are to be tensors", NameOf(config.mode)));
    }
    SetLogLevel(config.log_level);
    {
      const py::gil_scoped_release release;
      robot_ = std::make_unique<WaitingRobot>(std::move(config), has_tensors_, LookAtSignals);
    }
  }

  bool IsMine() const { return getpid() == process_; }
  void CheckIsMine() const {
    if (!IsMine()) {
      throw InputError("the robot belongs to the process that forked this one; make another here");
    }
  }

  Frame FrameOf(const py::object& object, const py::object& order) const {
    const bool is_text = py::isinstance<py::str>(order);
    const bool is_rgb = is_text && order.equal(py::str("rgb"));
    if (!is_rgb && !(is_text && order.equal(py::str("bgr")))) {
      throw InputError(fmt::format("order is 'bgr' or 'rgb', not {}",
                                   is_text ? std::string(py::repr(order)) : TypeOf(order)));
    }
    if (!py::isinstance<py::array>(object)) {
      throw InputError(fmt::format("the frame must be a numpy array, not {}", TypeOf(object)));
    }
    const auto array = py::reinterpret_borrow<py::array>(object);
    const bool fits = has_tensors_ ? py::isinstance<py::array_t<float>>(object)
                                   : py::isinstance<py::array_t<uint8_t>>(object);
    if (!fits) {
      throw InputError(
          fmt::format("the frame has numbers of type {}; {}", std::string(py::str(array.dtype())),
                      has_tensors_ ? "a tensor has float32"
                                   : "a picture has uint8 (tensors need Robot(…, tensors=True))"));
    }
    Frame frame;
    if (has_tensors_) {
      frame.tensor = TensorOver(array);
    } else {
      frame.picture = PictureOver(array, is_rgb);
    }
    return frame;
  }

  std::chrono::nanoseconds StampOf(const py::object& object) const {
    constexpr double kLatest = 9e9;  // nanoseconds reach no further
    if (object.is_none()) return std::chrono::steady_clock::now() - start_;
    double stamp_s = PyFloat_AsDouble(object.ptr());
    if (PyErr_Occurred() != nullptr) {
      const bool is_large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
      if (!is_large && PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw py::error_already_set();
      PyErr_Clear();
      stamp_s = std::numeric_limits<double>::infinity();
      if (!is_large) {
        throw InputError(
            fmt::format("stamp must be a number of seconds or None, not {}", TypeOf(object)));
      }
    }
    if (!(std::abs(stamp_s) <= kLatest)) {
      throw InputError(
          fmt::format("stamp is {}, but must be seconds, at most {}", stamp_s, kLatest));
    }
    return std::chrono::round<std::chrono::nanoseconds>(std::chrono::duration<double>(stamp_s));
  }

  // The array owns the classes.
  static py::object MapOf(std::optional<ClassMap> map) {
    if (!map) return py::none();
    auto classes = std::make_unique<std::vector<int32_t>>(std::move(map->classes));
    const int32_t* const numbers = classes->data();
    const py::capsule owner(classes.release(),
                            [](void* owned) { delete static_cast<std::vector<int32_t>*>(owned); });
    return py::array_t<int32_t>({map->height, map->width}, numbers, owner);
  }

  const bool has_tensors_;
  const pid_t process_ = getpid();
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::unique_ptr<WaitingRobot> robot_;
  // Arrays whose calls were interrupted, as long as the robot may read them.
  std::vector<py::object> abandoned_;
  int calls_ = 0;  // of Process
};

}  // namespace
}  // namespace cacheinf

PYBIND11_MODULE(_robot, module) {
  using cacheinf::PythonRobot;
  auto& error =
      py::register_exception<cacheinf::InputError>(module, "InputError", PyExc_ValueError);
  error.attr("__module__") = "cacheinf";
  error.doc() = "What was given cannot be used; the text says why, in one sentence.";
  py::class_<PythonRobot>(module, "Robot")
      .def(py::init<std::optional<std::string>, std::string, bool>(), py::arg("path"),
           py::arg("text"), py::arg("tensors"))
      .def("process", &PythonRobot::Process, py::arg("frame"), py::arg("stamp"), py::arg("order"),
           py::arg("on_moved"))
      .def("status", &PythonRobot::Status)
      .def("close", &PythonRobot::Close)
      .def_property_readonly("closed", &PythonRobot::is_closed)
      .def_property_readonly("model", &PythonRobot::model)
      .def_property_readonly("mode", &PythonRobot::mode);
  py::module_::import("atexit").attr("register")(py::cpp_function(&PythonRobot::CloseAll));
}
