#ifndef CACHEINF_CLIENT_ROS_ROBOT_NODE_H_
#define CACHEINF_CLIENT_ROS_ROBOT_NODE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/answer/answer.h"
#include "common/answer/answers.h"
#include "common/base/clock.h"
#include "common/config/robot_config.h"
#include "common/model/picture.h"

namespace cacheinf {

// An image as a camera's topic carries it.
struct NodeImage {
  std::chrono::nanoseconds stamp{0};  // by whatever clock the camera uses
  std::string frame_id;
  bool is_compressed =
      false;                  // the bytes of a JPEG or PNG file; else only stamp and frame_id count
  std::string_view encoding;  // sensor_msgs/Image's
  int64_t width = 0;
  int64_t height = 0;
  int64_t row_bytes = 0;
  bool is_big_endian = false;
  std::span<const uint8_t> bytes;  // read during Offer only
};

// What a listener wants of a camera.
struct NodeWants {
  bool answers = false;
  bool overlay = false;     // the image, with the answer drawn on it
  bool recomputed = false;  // the image, dark where results were kept

  bool anything() const { return answers || overlay || recomputed; }
};

// The answer to an image. What it points to is valid during the call that hands it out.
struct NodeAnswer {
  int camera = 0;
  std::chrono::nanoseconds stamp{0};                // the image's
  std::chrono::nanoseconds computed_from_stamp{0};  // that of the image that the content is from
  std::string frame_id;                             // the image's
  std::chrono::nanoseconds latency{0};              // from the image's arrival to handing this out
  bool is_late = false;                             // the latency exceeds the deadline
  int width = 0;                                    // of the image
  int height = 0;
  const Answer* answer = nullptr;
  const AnswerReader* reader = nullptr;
  // The class of each pixel of the image, row by row, -1 where the network does not see it. Only
  // for a map of classes.
  std::vector<int32_t> classes;
  Picture overlay;     // empty: not wanted
  Picture recomputed;  // the same, or nothing to show
};

// How a camera's robot is doing.
struct NodeStatus {
  std::string camera;
  bool is_active = false;
  std::string mode;         // "cache", "track:3 cacheinf"
  std::string plan;         // the last answer's, in mode cacheinf
  std::string why;          // its reason, in one line
  std::string server;       // the address; empty: none configured
  bool has_server = false;  // is connected
  double link_mbit = 0;     // 0: unknown
  double round_trip_ms = 0;
  // Since the last but one call of status().
  int64_t images = 0;   // taken
  int64_t answers = 0;  // computed
  int64_t moved = 0;    // given instead of those, or before them
  int64_t late = 0;     // of the computed ones
  int64_t dropped = 0;  // images without an answer: newer ones came
  double p50_ms = 0;    // from the image's arrival to its computed answer
  double p95_ms = 0;
  double reuse = 0;        // mean share of pixels that counted as unchanged; 0 where none is kept
  double deadline_ms = 0;  // 0: none
  double in_hand = 0;   // share of images that had an answer of their own, or a moved one, by then
  std::string guard;    // "normal, agreement 0.98"; empty: none watches
  std::string refusal;  // why the last image was refused; empty: it was not
  std::string misfit;   // which peer gets or gives nothing, and why; set by front ends that know
};

// Gets a node's answers, on the node's own thread.
class NodeListener {
 public:
  virtual ~NodeListener() = default;
  virtual void Publish(const NodeAnswer& answer) = 0;
  // The node has ended, because what it computes contradicts its configuration. `why` is one
  // sentence.
  virtual void Fail(const std::string& why) = 0;
};

// A robot as a part of a larger program, such as a ROS node: takes images of several cameras from
// any thread, and answers the newest of each by turns, on one thread, with one model. Knows nothing
// of ROS. Deadlines count from Offer, by the clock; stamps pass through.
class RobotNode {
 public:
  // Whether a key of the configuration has an effect in a node, which has no source of its own and
  // writes no files. Change refuses the others.
  static bool Takes(std::string_view key);

  // Loads the model. Every camera has a robot of its own, and a server, if one is configured, sees
  // each as a robot. Throws InputError, in one sentence. `always_on`: computes even if nobody wants
  // anything. Clock and listener must outlive this. REQUIRES: at least one camera; names differ.
  RobotNode(const RobotConfig& config, const std::vector<std::string>& cameras, bool always_on,
            const Clock& clock, NodeListener& listener);
  ~RobotNode();  // answers no further image; waits for the frame under way
  RobotNode(const RobotNode&) = delete;
  RobotNode& operator=(const RobotNode&) = delete;

  // All calls below may come from any thread except the node's own, on which the listener is
  // called.

  // Begins with nothing wanted.
  void Want(int camera, const NodeWants& wants);

  // An inactive node ignores images. It begins active.
  void SetActive(bool is_active);

  // Takes an image, decoding it in the call; ignores it if nobody wants anything. Returns false if
  // it is refused (an encoding that is not known, sizes that do not fit the bytes, more than 2^26
  // pixels); each reason is logged once, and NodeStatus has it.
  bool Offer(int camera, const NodeImage& image);

  // Sets keys of the configuration as --set does, all or none: {"mode", "cache"}. Returns an empty
  // text, or why it refuses; then nothing has changed, and a model that cannot be loaded leaves the
  // old one at work. Loads on the caller's thread; the new robot answers the next image, with
  // nothing kept. Waits for the frame under way. Refuses keys of a run: where frames come from and
  // where results go.
  std::string Change(const std::vector<std::pair<std::string, std::string>>& settings);

  // Loads the model's file again. Returns and behaves as Change.
  std::string Reload();

  // Forgets all results, and what the guard has found.
  void Reset();

  RobotConfig config() const;  // in effect
  NodeStatus status(int camera);

 private:
  class Cameras;
  const std::unique_ptr<Cameras> cameras_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ROS_ROBOT_NODE_H_
