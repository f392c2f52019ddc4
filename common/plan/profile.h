#ifndef CACHEINF_COMMON_PLAN_PROFILE_H_
#define CACHEINF_COMMON_PLAN_PROFILE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/words.h"
#include "common/codec/slice_codec.h"
#include "common/plan/curve.h"
#include "sparse_ops/window.h"

// What a network costs on one machine: measured by cacheinf-profile, read by planners.
//
// The work of a frame, 1 - r, is the share of a dense run's multiply-adds that a state has computed
// for it. What changes in a clip shows in it whatever its shape: a tenth of a picture's pixels in
// one place is a tenth of the work, in many places half of it.

namespace cacheinf {

enum class Side : uint8_t { kRobot, kServer };
constexpr Words<2> WordsOf(Side) { return {"robot", "server"}; }

// An operator as planners see it. Both sides' profiles of a model have the same ones in the same
// order, which is that of execution; of the robot's profile planners take what the network is like.
struct ProfiledOperator {
  std::string name;  // of its first output, as `inspect` prints it: what --cut takes
  std::string kind;  // "conv 3x3/2"
  struct Input {
    int from = -1;  // the operator that gives it; -1: the picture
    AxisWindow rows;
  };
  std::vector<Input> inputs;  // maps that are no constants
  int rows = 1;               // of its output
  int64_t row_bytes = 0;      // of a row of the output, as floats
  bool is_local = true;
  bool is_kept = true;     // rows of its output may cross
  bool is_output = false;  // its output is one of the network's
  bool is_view = false;    // in the numbers of its first input, which crosses in its stead

  // T(o, x, r): over the share of its pixels that are computed, x (1 - r_o). Kernels, masks, lists
  // and change test; a share of 0 still costs what an operator costs that has nothing to do. Those
  // of all operators are what a state takes for a frame: to take the picture in counts for the
  // first that runs, to commit the frame for the last.
  Curve ms;
  // With nothing kept: all pixels, without masks and tests.
  double dense_ms = 0;
  // U(o, x, r): over the share of its pixels that a refresh stores.
  Curve refresh_ms;

  // Planners take what follows of the network from the robot's profile, and only times from the
  // server's. 1 - r_o = 1 - r + R(o): the share of its pixels that is computed, over the work of
  // the frame, as masks really grow under the settings in force.
  Curve active;
  // Of a kept value's changed pixels in the slice codec, over the same: bytes, mask included, of
  // all rows; and what coding and decoding them takes here.
  Curve slice_bytes;
  Curve encode_ms;
  Curve decode_ms;
  // The same of all its pixels, as they cross where nothing is kept.
  double whole_bytes = 0;
  double whole_encode_ms = 0;
  double whole_decode_ms = 0;
};

// The picture in a codec of --codec.
struct ProfiledCodec {
  std::string codec;
  Curve bytes;           // over the work of the frame
  double encode_ms = 0;  // a robot's
  double decode_ms = 0;  // a server's
  // The work of a server that gets it, over the same; without points: the same. Noise that the
  // codec makes is change as well, and change that it drops is none.
  Curve seen = {};

  double SeenOf(double work) const { return seen.points.empty() ? work : seen.At(work); }
};

struct Profile {
  static constexpr int kVersion = 2;

  Side side = Side::kRobot;
  std::string model;            // its name
  uint64_t model_checksum = 0;  // PackChecksum; 0: imported
  std::string settings;  // policy, thresholds, kept values …: of another text it is another profile
  std::string sampled;  // clips and codecs that it was asked for; likewise
  std::string machine;  // for people
  std::string machine_fingerprint;
  std::string build;
  std::string backend;
  int threads = 1;
  SliceCodec slice_codec = SliceCodec::kZstd;
  std::vector<std::string> assumptions;  // what was not measured but assumed; for people

  std::vector<ProfiledOperator> operators;

  // What a frame takes outside operators.
  double fit_ms = 0;   // making the model's picture of the camera's
  Curve decide_ms;     // following the camera, finding what changed; over the work
  double read_ms = 0;  // the answer out of the outputs
  std::vector<ProfiledCodec> codecs;
  // Its rows as a slice, as of an operator above: what crosses where both sides read them.
  Curve picture_slice_bytes;
  Curve picture_encode_ms;
  Curve picture_decode_ms;
  // All outputs as a server sends them.
  double answer_bytes = 0;
  double answer_encode_ms = 0;
  double answer_decode_ms = 0;

  // Watts while it computes, sends or receives, and waits; 0: unknown.
  double computing_watts = 0;
  double sending_watts = 0;
  double waiting_watts = 0;

  // |predicted / measured - 1| of the time that operators take in frames that the fit has not seen,
  // whole ones and changed ones, given the shares of pixels that they computed …
  double median_error = 0;
  double p95_error = 0;
  // … and of changed ones given only their work, through `active`. On the robot.
  double active_median_error = 0;
  double active_p95_error = 0;
};

// Of a machine that takes so many times as long, as --emulate makes one.
Profile SlowedDown(Profile profile, double factor);

// One JSON object. Loading refuses what is damaged or of another version, by InputError that names
// the file and says what to do.
std::string ToJsonText(const Profile& profile);
Profile ParseProfile(const std::string& text, const std::string& name);
Profile LoadProfile(const std::filesystem::path& path);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_PROFILE_H_
