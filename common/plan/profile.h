#ifndef CACHEINF_COMMON_PLAN_PROFILE_H_
#define CACHEINF_COMMON_PLAN_PROFILE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/base/side.h"
#include "common/codec/slice_codec.h"
#include "common/plan/curve.h"
#include "sparse_ops/window.h"

// What a network costs on one machine: measured by cacheinf-profile, read by planners.
//
// The work of a frame, 1 - r, is the share of a dense run's multiply-adds that a state has computed
// for it. It measures what changes in a clip, whatever the shape: a tenth of the pixels in one
// place is a tenth of the work; in many places it is half of it.

namespace cacheinf {

// An operator as planners see it. Both sides' profiles of a model list the same operators in order
// of execution. Planners take the network's properties from the robot's profile.
struct ProfiledOperator {
  std::string name;  // of its first output, as `inspect` prints and --cut takes it
  std::string kind;  // "conv 3x3/2"
  struct Input {
    int from = -1;  // the operator that produces it; -1: the picture
    AxisWindow rows;
  };
  std::vector<Input> inputs;  // maps that are not constant
  int rows = 1;               // of its output
  int64_t row_bytes = 0;      // of a row of the output, as floats
  bool is_local = true;
  bool is_kept = true;     // rows of its output may cross
  bool is_output = false;  // its output is one of the network's
  bool is_view = false;    // shows its first input's numbers; that input crosses instead

  // T(o, x, r): time over the share of its pixels that is computed, x (1 - r_o). Covers kernels,
  // masks, lists and change test; at share 0, an operator with nothing to do. The sum over all
  // operators is a state's time for a frame: the first that runs includes taking in the picture,
  // and the last includes committing the frame.
  Curve ms;
  // With nothing kept: all pixels, without masks and tests.
  double dense_ms = 0;
  // U(o, x, r): time over the share of its pixels that a refresh stores.
  Curve refresh_ms;

  // For what follows, planners take network properties from the robot's profile, and only times
  // from the server's. 1 - r_o = 1 - r + R(o): the share of its pixels that is computed, over the
  // frame's work, as masks really grow under these settings.
  Curve active;
  // A kept value's changed pixels in the slice codec, over the frame's work: bytes of all rows,
  // mask included, and what coding and decoding them takes here.
  Curve slice_bytes;
  Curve encode_ms;
  Curve decode_ms;
  // The same for all its pixels, as they cross where nothing is kept.
  double whole_bytes = 0;
  double whole_encode_ms = 0;
  double whole_decode_ms = 0;
};

// How far answers to a clip's frames agreed with dense ones, from 0 to 1.
struct JudgedAgreement {
  double agreement = 1;
  double weight = 0;  // frames, each by how much it shows; 0: unknown

  void Add(double more_agreement, double more_weight) {
    if (more_weight <= 0) return;
    weight += more_weight;
    agreement += (more_agreement - agreement) * more_weight / weight;
  }
};

// The picture in a codec of --codec.
struct ProfiledCodec {
  std::string codec;
  Curve bytes;           // over the frame's work
  double encode_ms = 0;  // on a robot
  double decode_ms = 0;  // on a server
  // The work of a server that gets this picture, over the frame's work; without points they are
  // equal. The codec's noise counts as change, and change that the codec drops does not.
  Curve seen = {};
  JudgedAgreement judged = {};  // of dense answers to decoded pictures

  double SeenOf(double work) const { return seen.points.empty() ? work : seen.At(work); }
};

struct Profile {
  static constexpr int kVersion = 4;

  Side side = Side::kRobot;
  std::string model;            // its name
  uint64_t model_checksum = 0;  // PackChecksum; 0: imported
  std::string settings;  // policy, thresholds, kept values …; another text is another profile
  std::string sampled;   // the clips and codecs asked for; likewise
  std::string machine;   // for people
  std::string machine_fingerprint;
  std::string build;
  std::string backend;
  int threads = 1;
  SliceCodec slice_codec = SliceCodec::kZstd;
  // The operators that this side computes by Winograd, and the relative error (agreement.h) of the
  // last convolutions' results for a frame, against direct ones; none if it is not finite.
  std::vector<int> winograd_layers;
  std::optional<double> winograd_difference = 0;
  std::vector<std::string> assumptions;  // assumed, not measured; for people

  std::vector<ProfiledOperator> operators;

  // What a frame takes outside operators.
  double fit_ms = 0;   // turning the camera's picture into the model's
  Curve decide_ms;     // following the camera and finding what changed, over the work
  double read_ms = 0;  // reading the answer from the outputs
  std::vector<ProfiledCodec> codecs;
  JudgedAgreement cache_judged;  // of the robot's own, with these settings
  // The picture's rows as a slice, as for an operator above; they cross where both sides read them.
  Curve picture_slice_bytes;
  Curve picture_encode_ms;
  Curve picture_decode_ms;
  // All outputs as a server sends them.
  double answer_bytes = 0;
  double answer_encode_ms = 0;
  double answer_decode_ms = 0;

  // Watts while computing, while sending or receiving, and while waiting; 0: unknown.
  double computing_watts = 0;
  double sending_watts = 0;
  double waiting_watts = 0;

  // The error |predicted / measured - 1| of operators' total time in frames that the fit has not
  // seen, both whole and changed, given the shares of pixels that they computed …
  double median_error = 0;
  double p95_error = 0;
  // … and in changed ones given only their work, through `active`. On the robot.
  double active_median_error = 0;
  double active_p95_error = 0;
};

// Returns the profile of a machine that takes this many times as long, as --emulate makes one.
Profile SlowedDown(Profile profile, double factor);

// Says in a few words what this side computes by Winograd; empty if nothing.
std::string WinogradText(const Profile& profile);

// One JSON object. Loading throws InputError, which names the file and says what to do, for a
// damaged profile or one of another version.
std::string ToJsonText(const Profile& profile);
Profile ParseProfile(const std::string& text, const std::string& name);
Profile LoadProfile(const std::filesystem::path& path);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_PROFILE_H_
