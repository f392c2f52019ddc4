#include "tests/rivals/plain_video.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <stdexcept>

#include "common/base/clock.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Words = std::vector<std::string>;

constexpr milliseconds kPatience(20000);
constexpr milliseconds kStartPatience(60000);
constexpr int kPipeBytes = 1 << 20;

Words OnCore(int core, const std::string& command, const Words& more = {}) {
  Words words = {"setpriv", "--pdeathsig", "KILL", "taskset", "-c", std::to_string(core)};
  std::istringstream stream(command);
  for (std::string word; stream >> word;) words.push_back(word);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string SettingsOf(const std::string& model, const PictureSpec& picture,
                       const ModelConfig& config) {
  const DecoderConfig& decoder = config.decoder;
  return nlohmann::json{{"model", model},
                        {"width", picture.width},
                        {"height", picture.height},
                        {"channels", NameOf(picture.channels)},
                        {"mean", config.preprocess.mean},
                        {"divisor", config.preprocess.divisor},
                        {"decoder",
                         {{"kind", NameOf(decoder.kind)},
                          {"top", decoder.most_classes()},
                          {"strides", decoder.strides},
                          {"anchors", decoder.anchors},
                          {"score_threshold", decoder.score_threshold},
                          {"overlap_threshold", decoder.overlap_threshold},
                          {"most_boxes", decoder.most_boxes()}}}}
      .dump();
}

std::string EncoderCommand(const PictureFit& fit, const std::string& frames, int port) {
  const PictureSpec& spec = fit.spec();
  const AxisFit& columns = fit.columns();
  const AxisFit& rows = fit.rows();
  const auto is_even = [](const AxisFit& axis, int length) {
    return (axis.model_begin | axis.model_length | length) % 2 == 0;
  };
  // x264 wants even sizes; the server cuts off what is added on the right and below.
  const char* const by_pixel =
      is_even(columns, spec.width) && is_even(rows, spec.height) ? "" : "format=bgr24,";
  return fmt::format(
      "ffmpeg -nostdin -v error -probesize 32 -f rawvideo -pix_fmt bgr24 -s {}x{} -r {} -i {} "
      "-vsync passthrough -vf "
      "scale={}:{}:flags=bilinear,{}pad={}:{}:{}:{}:color=0x{:02x}{:02x}{:02x} "
      "-threads 1 -c:v libx264 -preset ultrafast -tune zerolatency -crf 23 -pix_fmt yuv420p "
      "-flush_packets 1 -f nut tcp://127.0.0.1:{}?tcp_nodelay=1",
      columns.frame_size, rows.frame_size, kFramesPerSecond, frames, columns.model_length,
      rows.model_length, by_pixel, spec.width + spec.width % 2, spec.height + spec.height % 2,
      columns.model_begin, rows.model_begin, spec.border, spec.border, spec.border, port);
}

sockaddr_in LocalPort(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Descriptor NewSocket() {
  Descriptor number(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!number) throw std::runtime_error("no socket");
  return number;
}

Descriptor ConnectTo(int port) {
  Descriptor connection = NewSocket();
  const sockaddr_in address = LocalPort(port);
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
      0) {
    throw std::runtime_error("plain-video's server cannot be reached");
  }
  return connection;
}

int Listen(int listener) {
  sockaddr_in address = LocalPort(0);
  socklen_t size = sizeof(address);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      listen(listener, 1) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("no port to listen on");
  }
  return ntohs(address.sin_port);
}

// Whether there is something to read, or room to write, by that time.
bool Await(int number, int16_t events, nanoseconds at_most) {
  pollfd file{number, events, 0};
  const timespec time{at_most.count() / 1000000000, at_most.count() % 1000000000};
  return ppoll(&file, 1, &time, nullptr) > 0;
}

void WriteAll(int number, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    if (!Await(number, POLLOUT, kPatience)) throw std::runtime_error("ffmpeg takes no more");
    const ssize_t written = write(number, bytes.data(), bytes.size());
    if (written <= 0) throw std::runtime_error("plain-video's programs ended");
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

nanoseconds Now() { return SteadyClock().Now(); }

ClassMap MapOf(const std::vector<uint8_t>& bytes) {
  std::array<uint16_t, 2> size = {};
  if (bytes.size() < sizeof(size)) throw std::runtime_error("plain-video's map is too short");
  std::memcpy(size.data(), bytes.data(), sizeof(size));
  std::vector<uint8_t> classes(size_t{size[0]} * size[1]);
  auto count = static_cast<uLongf>(classes.size());
  const int result = uncompress(classes.data(), &count, bytes.data() + sizeof(size),
                                static_cast<uLong>(bytes.size() - sizeof(size)));
  if (result != Z_OK || count != classes.size()) {
    throw std::runtime_error("plain-video's map cannot be read");
  }
  return {size[0], size[1], {classes.begin(), classes.end()}};
}

void AwaitEmpty(int pipe) {
  constexpr std::chrono::microseconds kLook(50);
  const nanoseconds until = Now() + kPatience;
  int left = 1;
  while (ioctl(pipe, FIONREAD, &left) == 0 && left > 0) {
    if (Now() > until) throw std::runtime_error("ffmpeg takes no more");
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace

PlainVideoServer::PlainVideoServer(const std::filesystem::path& python,
                                   const std::filesystem::path& model, const PictureSpec& picture,
                                   const ModelConfig& config, int core)
    : config_(config),
      process_(OnCore(core, python.string(),
                      {SourceFolder() / "tests/rivals/peers/plain_video.py",
                       SettingsOf(model, picture, config)})) {
  const std::string before_port = "port ";
  if (!process_.HasPrinted(before_port, kStartPatience)) {
    throw std::runtime_error("plain-video's server does not start: " + output());
  }
  const std::string printed = output();
  port_ = std::stoi(printed.substr(printed.find(before_port) + before_port.size()));
}

PlainVideo::PlainVideo(const PlainVideoServer& server, const PlainVideoOptions& options,
                       const PictureFit& fit)
    : server_(server),
      options_(options),
      fit_(fit),
      server_link_(ConnectTo(server.port())),
      listener_(NewSocket()) {
  const std::string frames = folder_.path() / "frames";
  if (mkfifo(frames.c_str(), 0600) != 0) throw std::runtime_error("no pipe");
  // Opened for reading too, so that it opens before ffmpeg reads.
  frames_ = Descriptor(open(frames.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  fcntl(frames_.get(), F_SETPIPE_SZ, kPipeBytes);
  const int port = Listen(listener_.get());
  encoder_.emplace(OnCore(options.robot_core, EncoderCommand(fit, frames, port)));
}

PlainVideo::~PlainVideo() {
  stops_ = true;
  if (relay_.joinable()) relay_.join();
}

FrameCost PlainVideo::Answer(const Picture& frame) {
  HandOver(frame);
  uint32_t size = 0;
  Receive(&size, sizeof(size));
  constexpr uint32_t kMostBytes = 1 << 24;
  if (size > kMostBytes) throw std::runtime_error("plain-video's answer is too large");
  std::vector<uint8_t> answer(size);
  Receive(answer.data(), size);
  const Time answered = Now();
  const double back_ms = options_.link ? LinkMs(size, *options_.link) : 0;
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(back_ms));
  FrameCost cost;
  const Time encoding = encoded_.load() - handed_over_.load();
  cost.robot_ms = Milliseconds(encoding) * options_.slowdown;
  cost.link_ms = Milliseconds(delivered_.load() - handed_over_.load()) - cost.robot_ms + back_ms;
  cost.server_ms = Milliseconds(answered - delivered_.load());
  cost.bytes_to_server = static_cast<double>(bytes_.exchange(0));
  cost.bytes_to_robot = static_cast<double>(sizeof(size) + size);
  cost.server_work = 1;
  cost.has_server = true;
  cost.content = std::make_shared<const AnswerContent>(Content(answer));
  return cost;
}

// ffmpeg begins to scale and encode with the last byte, which it gets once it has taken the others.
// It shares our core and may run before us after a write, so the time is taken before that.
void PlainVideo::HandOver(const Picture& frame) {
  const Time begin = Now();
  const size_t row_bytes = static_cast<size_t>(frame.width) * static_cast<size_t>(frame.channels);
  for (int y = 0; y + 1 < frame.height; ++y) WriteAll(frames_.get(), {frame.Row(y), row_bytes});
  const std::span<const uint8_t> last_row(frame.Row(frame.height - 1), row_bytes);
  WriteAll(frames_.get(), last_row.first(row_bytes - 1));
  AwaitEmpty(frames_.get());
  handed_over_ = Now();
  handing_over_ms_ = Milliseconds(handed_over_.load() - begin);
  WriteAll(frames_.get(), last_row.last(1));
  if (!relay_.joinable()) {
    // ffmpeg looks at the first frame before it connects.
    if (!Await(listener_.get(), POLLIN, kPatience)) throw std::runtime_error("ffmpeg fails");
    from_encoder_ = Descriptor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    relay_ = std::thread([this] { Relay(); });
  }
}

// Passes on what ffmpeg sends, after its time on a slow robot, through the emulated link to the
// server.
void PlainVideo::Relay() {
  constexpr nanoseconds kLook = milliseconds(2);
  DelayLine line(options_.link.value_or(LinkShape()), Now());
  Time last_entered{};
  std::array<uint8_t, size_t{32} << 10> buffer;
  while (!stops_) {
    const Time until_first = line.first_arrival() ? *line.first_arrival() - Now() : kLook;
    if (Await(from_encoder_.get(), POLLIN, std::clamp(until_first, nanoseconds(0), kLook))) {
      const ssize_t size = read(from_encoder_.get(), buffer.data(), buffer.size());
      if (size <= 0) break;
      const Time encoded = Now();
      const auto slowed = std::chrono::duration_cast<nanoseconds>((encoded - handed_over_.load()) *
                                                                  options_.slowdown);
      last_entered = std::max(last_entered, handed_over_.load() + slowed);
      line.Push({buffer.data(), static_cast<size_t>(size)}, last_entered);
      bytes_ += static_cast<size_t>(size);
      encoded_ = encoded;
    }
    while (line.first_arrival() && *line.first_arrival() <= Now()) {
      const std::vector<uint8_t>& bytes = line.first();
      if (send(server_link_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;
      line.Pop();
      delivered_ = Now();
    }
  }
}

void PlainVideo::Receive(void* bytes, size_t size) const {
  auto* to = static_cast<uint8_t*>(bytes);
  while (size > 0) {
    const bool has_come = Await(server_link_.get(), POLLIN, kPatience);
    const ssize_t received = has_come ? read(server_link_.get(), to, size) : 0;
    if (received <= 0) {
      throw std::runtime_error("plain-video gives no answer: " + encoder_->output() +
                               server_.output());
    }
    to += received;
    size -= static_cast<size_t>(received);
  }
}

AnswerContent PlainVideo::Content(const std::vector<uint8_t>& bytes) const {
  if (server_.config().decoder.kind == DecoderConfig::Kind::kSegmentation) return MapOf(bytes);
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  if (server_.config().decoder.kind == DecoderConfig::Kind::kClassification) {
    Classification classes;
    for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
      classes.best.push_back({static_cast<int>(numbers[i]), numbers[i + 1]});
    }
    return classes;
  }
  Detections boxes;
  for (size_t i = 0; i + 5 < numbers.size(); i += 6) {
    boxes.boxes.push_back({{static_cast<int>(numbers[i + 5]), numbers[i + 4]},
                           fit_.columns().ToFrame(numbers[i]),
                           fit_.rows().ToFrame(numbers[i + 1]),
                           fit_.columns().ToFrame(numbers[i + 2]),
                           fit_.rows().ToFrame(numbers[i + 3])});
  }
  return boxes;
}

}  // namespace cacheinf
