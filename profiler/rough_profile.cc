#include "profiler/rough_profile.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/codec/picture_codec.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/model/graph/cost.h"
#include "common/pair/remote_picture.h"
#include "common/plan/curve.h"
#include "common/plan/profiled_graph.h"
#include "common/reuse/reuse.h"
#include "common/reuse/settings.h"
#include "profiler/fitted_clip.h"
#include "profiler/slice_timer.h"

namespace cacheinf {
namespace {

constexpr int kFrames = 3;

// Shares of an operator's dense time, and of a value's bytes.
constexpr double kIdle = 0.02;
constexpr double kSparse = 1.1;
constexpr double kRefresh = 0.1;
constexpr double kCoded = 0.85;
constexpr double kCodingMsPerByte = 2.5e-6;
constexpr double kHeaderBytes = 40;
constexpr double kDecidingMsPerPixel = 1e-6;

// Figures for one pixel, where nothing changes and where everything does. The first entry with a
// name that fits counts.
struct RoughCodec {
  const char* begin;  // of its name
  double still_bytes;
  double bytes;
  double encode_ms;
  double decode_ms;
};
constexpr std::array kCodecs = {
    RoughCodec{"raw", 3, 3, 0.2e-6, 0.2e-6},
    RoughCodec{"png", 1.6, 1.6, 15e-6, 6e-6},
    RoughCodec{"jpeg:95", 0.45, 0.45, 6e-6, 5e-6},
    RoughCodec{"jpeg:70", 0.16, 0.16, 5e-6, 4e-6},
    RoughCodec{"jpeg", 0.25, 0.25, 5e-6, 4e-6},
    RoughCodec{"blocks:raw", 0.002, 3, 0.5e-6, 0.3e-6},
    RoughCodec{"blocks", 0.002, 0.3, 5e-6, 4e-6},
    RoughCodec{"video:crf=18", 0.02, 0.15, 9e-6, 5e-6},
    RoughCodec{"video:crf=28", 0.005, 0.04, 7e-6, 3e-6},
    RoughCodec{"video", 0.01, 0.08, 8e-6, 4e-6},
};

Curve Line(double idle, double all) { return {{{0.0, idle}, {1.0, all}}}; }

void SetSlices(double bytes, Curve* slice_bytes, Curve* encode_ms, Curve* decode_ms) {
  *slice_bytes = Line(kHeaderBytes, kHeaderBytes + kCoded * bytes);
  *encode_ms = *decode_ms = Line(0, kCodingMsPerByte * bytes);
}

void SetCosts(double dense_ms, ProfiledOperator* op) {
  op->dense_ms = dense_ms;
  op->ms = Line(kIdle * dense_ms, kSparse * dense_ms);
  op->refresh_ms = Line(0, kRefresh * dense_ms);
  op->active = Line(0, 1);
  const auto bytes = static_cast<double>(op->row_bytes * op->rows);
  SetSlices(bytes, &op->slice_bytes, &op->encode_ms, &op->decode_ms);
  op->whole_bytes = kHeaderBytes + kCoded * bytes;
  op->whole_encode_ms = op->whole_decode_ms = kCodingMsPerByte * bytes;
}

std::vector<ProfiledCodec> RoughCodecs(const std::vector<std::string>& names,
                                       const PictureFormat& format) {
  const double pixels = static_cast<double>(format.width) * format.height;
  std::vector<ProfiledCodec> codecs;
  for (const std::string& name : names) {
    const auto rough = std::ranges::find_if(
        kCodecs, [&](const RoughCodec& codec) { return name.starts_with(codec.begin); });
    if (rough == kCodecs.end()) continue;
    try {
      (void)PictureEncoder(ParsePictureCodec(name), format);
    } catch (const InputError&) {
      continue;  // this machine lacks it
    }
    codecs.push_back({name, Line(rough->still_bytes * pixels, rough->bytes * pixels),
                      rough->encode_ms * pixels, rough->decode_ms * pixels});
  }
  return codecs;
}

// Answers differ too much to be guessed: a map of classes takes a hundredth of its numbers' bytes.
void TimeAnswer(const ProfileRequest& request, const CompiledModel& model, const Clock& clock,
                ModelState* state, Profile* profile) {
  const Graph& graph = model.graph();
  const FittedClip clip =
      ReadClip(GeneratedClips(2 * kLeastClipFrames).front(), graph, kLeastClipFrames, clock);
  profile->fit_ms = clip.fit_ms;
  FrameDecision whole;
  whole.kind = FrameDecision::Kind::kWhole;
  state->Apply(whole, clip.picture(0), {});
  SliceTimer timer(*state, model.backend(), request.settings.slice_codec, clock);
  for (const ValueId output : graph.outputs) {
    if (graph.value(output).is_constant()) continue;
    const bool is_first = output == graph.outputs.front();
    const CodedSlice slice = timer.TimeWhole(output, is_first ? request.settings.most_scores : 0);
    profile->answer_bytes += slice.bytes;
    profile->answer_encode_ms += slice.encode_ms;
    profile->answer_decode_ms += slice.decode_ms;
  }
  if (!request.read_answer) return;
  const auto begin = clock.Now();
  request.read_answer(*state);
  profile->read_ms = Milliseconds(clock.Now() - begin);
}

}  // namespace

double TimeDenseFrame(const std::shared_ptr<const CompiledModel>& model, const Clock& clock) {
  const PictureFormat format = PictureFormatOf(model->graph());
  const std::vector<uint8_t> pixels(format.byte_count(), 128);
  ModelState state(model);
  double least_ms = std::numeric_limits<double>::infinity();
  for (int frame = 0; frame < kFrames; ++frame) {
    const auto begin = clock.Now();
    state.SetPicture({pixels.data(), format.width, format.height, format.channels});
    state.Run();
    if (frame > 0) least_ms = std::min(least_ms, Milliseconds(clock.Now() - begin));
  }
  return least_ms;
}

Profile RoughProfile(const ProfileRequest& request,
                     const std::shared_ptr<const CompiledModel>& model, const Clock& clock) {
  const Graph& graph = *request.graph;
  const PictureFormat format = PictureFormatOf(graph);
  ModelState state(model, OptionsFor(Resolve(request.settings), graph));
  Profile profile = Heading(request);
  profile.assumptions.emplace_back("all but a whole frame's time and its answer is a rough guess");
  profile.operators = DescribeOperators(graph, state.layout());
  std::vector<double> operations;
  for (const Operator& op : graph.operators) {
    operations.push_back(1.0 + static_cast<double>(CostOf(graph, op).operations));
  }
  const double all = std::reduce(operations.begin(), operations.end());
  const double dense_ms = TimeDenseFrame(model, clock);
  for (size_t id = 0; id < operations.size(); ++id) {
    SetCosts(dense_ms * operations[id] / all, &profile.operators[id]);
  }
  const auto bytes = static_cast<double>(format.byte_count());
  profile.decide_ms = Line(kDecidingMsPerPixel * bytes, kDecidingMsPerPixel * bytes);
  profile.codecs = RoughCodecs(request.codecs, format);
  SetSlices(static_cast<double>(sizeof(float)) * bytes, &profile.picture_slice_bytes,
            &profile.picture_encode_ms, &profile.picture_decode_ms);
  TimeAnswer(request, *model, clock, &state, &profile);
  return profile;
}

Profile RoughServerProfile(const Profile& robot, double dense_ms) {
  double robots_ms = 0;
  for (const ProfiledOperator& op : robot.operators) robots_ms += op.dense_ms;
  Profile server = SlowedDown(robot, robots_ms > 0 ? dense_ms / robots_ms : 1.0);
  server.side = Side::kServer;
  server.assumptions.emplace_back("all but a whole frame's time is the robot's, in proportion");
  return server;
}

}  // namespace cacheinf
