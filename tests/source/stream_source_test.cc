#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/videoio.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/file.h"
#include "common/source/frame_source.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/refusal.h"

// Frames that come over a network, from this machine to itself.

namespace cacheinf {
namespace {

using std::chrono::seconds;

// Answers each client with the next text, later ones with nothing, and hangs up.
class Server {
 public:
  explicit Server(std::vector<std::string> texts) : texts_(std::move(texts)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    is_there_ = listener_ >= 0 && bind(listener_, any, size) == 0 && listen(listener_, 8) == 0 &&
                getsockname(listener_, any, &size) == 0;
    port_ = ntohs(address.sin_port);
    if (is_there_) thread_ = std::thread([this] { Serve(); });
  }

  ~Server() {
    is_closed_ = true;
    shutdown(listener_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    close(listener_);
  }

  bool is_there() const { return is_there_; }
  int clients() const { return clients_; }
  std::string Address(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }

 private:
  void Serve() {
    while (!is_closed_) {
      const int client = accept(listener_, nullptr, nullptr);
      if (client < 0) continue;
      const auto turn = static_cast<size_t>(clients_++);
      if (turn < texts_.size()) Answer(client, texts_[turn]);
      close(client);
    }
  }

  static void Answer(int client, const std::string& text) {
    std::string request;
    char bytes[1024];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t count = recv(client, bytes, sizeof(bytes), 0);
      if (count <= 0) return;
      request.append(bytes, static_cast<size_t>(count));
    }
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t count = send(client, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<size_t>(count);
    }
  }

  std::vector<std::string> texts_;
  int listener_ = -1;
  int port_ = 0;
  bool is_there_ = false;
  std::atomic<bool> is_closed_ = false;
  std::atomic<int> clients_ = 0;
  std::thread thread_;
};

class StreamSourceTest : public FolderTest {
 protected:
  // This many pictures as a network camera sends them: JPEG after JPEG.
  static std::string Stream(int frames) {
    std::string text =
        "HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=next\r\n\r\n";
    for (int i = 0; i < frames; ++i) {
      std::vector<uint8_t> bytes;
      cv::imencode(".jpg", cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(10 * i)), bytes);
      text +=
          "--next\r\nContent-Type: image/jpeg\r\nContent-Length: " + std::to_string(bytes.size()) +
          "\r\n\r\n" + std::string(bytes.begin(), bytes.end()) + "\r\n";
    }
    return text;
  }

  // A video's file as a web server sends it.
  std::string File(int frames) const {
    cv::VideoWriter writer(Path("v.avi"), cv::CAP_FFMPEG,
                           cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 25, cv::Size(64, 48));
    for (int i = 0; i < frames; ++i) {
      writer.write(cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(20 * i)));
    }
    writer.release();
    const std::string bytes = ReadFile(Path("v.avi"));
    return "HTTP/1.0 200 OK\r\nContent-Type: video/x-msvideo\r\nContent-Length: " +
           std::to_string(bytes.size()) + "\r\n\r\n" + bytes;
  }

  static std::string Refusal(const std::string& spec) {
    const SteadyClock clock;
    return RefusalOf([&] { OpenSource(spec, clock); });
  }
};

TEST_F(StreamSourceTest, AStreamIsLiveAndOpenedAgainWhenItIsLost) {
  const Server server({Stream(12), "", Stream(12)});
  if (!server.is_there()) GTEST_SKIP() << "no socket can be opened on this machine";
  ManualClock clock;  // stands still, so patience never ends
  clock.Advance(seconds(3));
  std::atomic<bool> stop = false;
  const auto is_over = [&] { return stop || server.clients() > 8; };
  const std::unique_ptr<FrameSource> source =
      OpenSource(server.Address("/camera"), clock, {seconds(1000), is_over});
  EXPECT_TRUE(source->is_live());
  int64_t count = 0;
  while (count < 15) {
    const std::optional<Frame> frame = source->Next();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->index, count++);
    EXPECT_EQ(frame->stamp, seconds(3)) << "by the clock, not by the stream";
    EXPECT_EQ(frame->picture.width, 64);
  }
  EXPECT_EQ(server.clients(), 3);
  stop = true;
  while (source->Next()) {
  }
}

TEST_F(StreamSourceTest, AVideoOnAWebServerIsARecord) {
  const std::string file = File(5);
  const Server server({file, file, file});
  if (!server.is_there()) GTEST_SKIP() << "no socket can be opened on this machine";
  const SteadyClock clock;
  const std::unique_ptr<FrameSource> source =
      OpenSource(server.Address("/v.avi"), clock, {seconds(1000), {}});
  EXPECT_FALSE(source->is_live());
  int count = 0;
  while (const std::optional<Frame> frame = source->Next()) {
    EXPECT_EQ(frame->stamp, std::chrono::milliseconds(40 * count++));
  }
  EXPECT_EQ(count, 5);
}

TEST_F(StreamSourceTest, AStreamThatIsNotThereAtFirstIsWaitedFor) {
  const Server server({"", "", Stream(12)});
  if (!server.is_there()) GTEST_SKIP() << "no socket can be opened on this machine";
  const ManualClock clock;  // stands still, so patience never ends
  const std::unique_ptr<FrameSource> source =
      OpenSource(server.Address("/camera"), clock, {seconds(1000), {}});
  EXPECT_EQ(server.clients(), 3);
  EXPECT_EQ(source->Next()->index, 0);
}

TEST_F(StreamSourceTest, WithoutPatienceAStreamThatIsNotThereIsAnErrorAtOnce) {
  for (const std::string scheme : {"rtsp", "RTSP", "rtmp", "http"}) {
    const std::string address = scheme + "://127.0.0.1:1/camera";
    EXPECT_EQ(Refusal(address), "stream " + address + ": cannot be opened");
  }
  EXPECT_EQ(Refusal("nosuch://127.0.0.1:1/x"), "video nosuch://127.0.0.1:1/x: cannot be opened");
}

}  // namespace
}  // namespace cacheinf
