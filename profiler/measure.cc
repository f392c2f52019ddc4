#include "profiler/measure.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

#include "common/answer/outputs.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/median.h"
#include "common/codec/picture_codec.h"
#include "common/pair/remote_picture.h"
#include "common/plan/profiled_graph.h"
#include "profiler/fit.h"
#include "profiler/frame_timer.h"
#include "profiler/slice_timer.h"

namespace cacheinf {
namespace {

constexpr int kLeastRounds = 4;
constexpr int kRoundsToHoldOneOut = 4;
constexpr size_t kFramesOfRound = 8;
constexpr std::array<size_t, 6> kFrameSteps = {1, 2, 1, 4, 1, 8};
// Frames made to compute these shares; every other one per round.
constexpr std::array kMadeShares = {0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0};
constexpr std::array kRefreshedShares = {0.06, 0.125, 0.25, 0.5, 1.0};
constexpr double kTimeForSlices = 0.15;  // of a round
// How far a round's whole frames may differ from each other and from those of all rounds.
constexpr double kMostDisturbance = 0.2;
// Samples beyond this share of the picture leave nothing to assume.
constexpr double kAllButDense = 0.9;

// ---------------------------------------------------------------------------------------------
// Samples.

struct Round {
  bool is_held_out = false;
  bool skips = false;               // skips frames of the clip, so that more changes between two
  std::vector<TimedFrame> whole;    // nothing kept; begins and ends the round
  std::vector<TimedFrame> changed;  // as they are
  std::vector<TimedFrame> made;     // more counts as changed
  std::vector<TimedFrame> refreshes;

  double whole_ms() const {
    double sum = 0;
    for (const TimedFrame& frame : whole) sum += frame.total_ms;
    return sum / static_cast<double>(whole.size());
  }
};

struct CodecSamples {
  std::string codec;
  PictureCodecKind kind = PictureCodecKind::kRaw;
  bool is_lossy = false;
  std::vector<Curve::Point> bytes = {};
  std::vector<double> encode_ms = {};
  std::vector<double> decode_ms = {};
  std::vector<Curve::Point> seen = {};  // work of the decoded pictures
};

struct SliceSamples {
  std::vector<Curve::Point> bytes;  // all three over the share of the value's pixels
  std::vector<Curve::Point> encode_ms;
  std::vector<Curve::Point> decode_ms;
  std::array<std::vector<double>, 3> whole;

  void Add(const CodedSlice& slice) {
    bytes.push_back({slice.share, slice.bytes});
    encode_ms.push_back({slice.share, slice.encode_ms});
    decode_ms.push_back({slice.share, slice.decode_ms});
  }
  void AddWhole(const CodedSlice& slice) {
    Add(slice);
    whole[0].push_back(slice.bytes);
    whole[1].push_back(slice.encode_ms);
    whole[2].push_back(slice.decode_ms);
  }
};

struct AnswerSamples {
  double bytes = 0;
  std::vector<double> encode_ms;
  std::vector<double> decode_ms;
  std::vector<double> read_ms;
};

// Rectangles over this share of a picture, at least.
Mask SomePixels(double share, int height, int width, std::mt19937& random) {
  Mask mask(height, width);
  const double wanted = share * height * width;
  const int pieces = std::uniform_int_distribution<int>(1, 4)(random);
  const double side = std::sqrt(wanted / pieces);
  const int rows = std::clamp(static_cast<int>(std::lround(side)), 1, height);
  const int columns = std::clamp(static_cast<int>(std::lround(side * side / rows)), 1, width);
  while (static_cast<double>(CountActive(mask)) < wanted) {
    // Some reach beyond the picture, so that every pixel is as likely.
    const int top = std::uniform_int_distribution<int>(-(rows / 2), height - 1 - rows / 2)(random);
    const int left =
        std::uniform_int_distribution<int>(-(columns / 2), width - 1 - columns / 2)(random);
    SetRectangle({top, top + rows}, {left, left + columns}, mask);
  }
  return mask;
}

// ---------------------------------------------------------------------------------------------
// Measuring.

class Sampler {
 public:
  Sampler(std::shared_ptr<const Graph> graph, std::unique_ptr<Backend> backend,
          const Measurement& measurement, const Clock& clock)
      : measurement_(measurement),
        clock_(clock),
        timer_(std::move(graph), std::move(backend), Resolve(measurement.settings),
               measurement.settings.tracker, clock),
        slice_timer_(timer_.state(), timer_.backend(), measurement.settings.slice_codec, clock),
        operators_(DescribeOperators(timer_.graph(), timer_.state().layout())),
        slices_(operators_.size()) {
    const PictureFormat format = PictureFormatOf(timer_.graph());
    for (const std::string& codec : measurement.codecs) {
      try {
        const PictureCodec parsed = ParsePictureCodec(codec);
        (void)PictureEncoder(parsed, format);
        codecs_.push_back({.codec = codec, .kind = parsed.kind, .is_lossy = !parsed.is_lossless()});
      } catch (const InputError& error) {
        LogWarning(fmt::format("codec {} is left out: {}", codec, error.what()));
      }
    }
  }

  // Returns false if it was told to end.
  bool Sample() {
    const auto begin = clock_.Now();
    const auto seconds = [&] { return Milliseconds(clock_.Now() - begin) / 1e3; };
    WarmUp();
    const double warm_s = seconds();
    for (int done = 0;; ++done) {
      const double round_s = done == 0 ? warm_s : (seconds() - warm_s) / done;
      const bool must_go_on = done < kLeastRounds;
      if (!must_go_on && seconds() + round_s > measurement_.seconds) return true;
      const double left_s =
          std::max(measurement_.seconds - seconds(), round_s * (kLeastRounds - done));
      if (measurement_.on_progress &&
          !measurement_.on_progress(seconds() / (seconds() + left_s), left_s)) {
        return false;
      }
      SampleRound(done);
    }
  }

  const std::vector<ProfiledOperator>& operators() const { return operators_; }
  size_t stem_size() const { return timer_.stem_size(); }
  const std::vector<Round>& rounds() const { return rounds_; }
  const std::vector<CodecSamples>& codecs() const { return codecs_; }
  const std::vector<SliceSamples>& slices() const { return slices_; }  // by operator
  const SliceSamples& picture_slices() const { return picture_slices_; }
  const AnswerSamples& answer() const { return answer_; }

 private:
  // Successive frames of a clip, perhaps with frames skipped between them.
  struct Stretch {
    const FittedClip* clip;
    size_t first;
    size_t step;
    size_t count;

    PictureView picture(size_t i) const { return clip->picture(first + i * step); }
  };

  // Rounds that are fitted take the clips in turn, and so do those that are held out.
  Stretch Choose(bool is_held_out) {
    const size_t round = is_held_out ? held_out_rounds_++ : fitted_rounds_++;
    const FittedClip& clip = measurement_.clips[round % measurement_.clips.size()];
    const size_t held_out = clip.pictures.size() * 3 / 4;
    const size_t begin = is_held_out ? held_out : 0;
    const size_t frames = is_held_out ? clip.pictures.size() - held_out : held_out;
    const size_t turn = round / measurement_.clips.size();
    size_t step = is_held_out ? 1 : kFrameSteps[turn % kFrameSteps.size()];
    step = std::clamp<size_t>((frames - 1) / kFramesOfRound, 1, step);
    const size_t count = std::min(kFramesOfRound + 1, (frames - 1) / step + 1);
    const size_t last_first = frames - 1 - (count - 1) * step;
    return {&clip, begin + std::uniform_int_distribution<size_t>(0, last_first)(random_), step,
            count};
  }

  void WarmUp() {
    const FittedClip& clip = measurement_.clips.front();
    timer_.Dense(clip.picture(0));
    timer_.BeginClip(clip.place);
    for (size_t i = 0; i < 3; ++i) timer_.Next(clip.picture(i));
  }

  void SampleRound(int number) {
    const auto begin = clock_.Now();
    Round round;
    round.is_held_out = number % kRoundsToHoldOneOut == kRoundsToHoldOneOut - 1;
    const Stretch stretch = Choose(round.is_held_out);
    round.skips = stretch.step > 1;
    round.whole.push_back(timer_.Dense(stretch.picture(0)));
    std::vector<double> work = SampleFrames(stretch, &round);
    if (!round.is_held_out) {
      SampleSlices(number == 0, kTimeForSlices * Milliseconds(clock_.Now() - begin));
      SampleAnswer();
      MakeShares(number, stretch, &round);
    }
    round.whole.push_back(timer_.Dense(stretch.picture(stretch.count - 1)));
    if (!round.is_held_out) SampleCodecs(stretch, work);
    rounds_.push_back(std::move(round));
  }

  // Returns the work of each but the first.
  std::vector<double> SampleFrames(const Stretch& stretch, Round* round) {
    std::vector<double> work;
    timer_.BeginClip(stretch.clip->place);
    timer_.Next(stretch.picture(0));
    for (size_t i = 1; i < stretch.count; ++i) {
      const PictureView picture = stretch.picture(i);
      TimedFrame frame = timer_.Next(picture);
      work.push_back(frame.work());
      if (frame.kind == FrameDecision::Kind::kChanged) round->changed.push_back(std::move(frame));
      if (i + 1 == stretch.count) break;  // the changes are yet to be examined
      std::optional<TimedFrame> refresh = timer_.Refresh(picture);
      if (refresh && refresh->kind == FrameDecision::Kind::kRefresh) {
        round->refreshes.push_back(std::move(*refresh));
      }
    }
    return work;
  }

  void MakeShares(int number, const Stretch& stretch, Round* round) {
    const PictureSpec& spec = timer_.graph().picture;
    for (size_t i = static_cast<size_t>(number) % 2; i < kMadeShares.size(); i += 2) {
      const PictureView picture = stretch.picture(i % stretch.count);
      const Mask more = SomePixels(kMadeShares[i], spec.height, spec.width, random_);
      TimedFrame frame = timer_.Next(picture, &more);
      if (frame.kind == FrameDecision::Kind::kChanged) round->made.push_back(std::move(frame));
      round->made.push_back(timer_.Repeat(more));
    }
    if (Resolve(measurement_.settings).refresh() == 0) return;
    for (size_t i = static_cast<size_t>(number) % 2; i < kRefreshedShares.size(); i += 2) {
      const auto rows = std::max(1, static_cast<int>(kRefreshedShares[i] * spec.height));
      const int first = std::uniform_int_distribution<int>(0, spec.height - rows)(random_);
      round->refreshes.push_back(timer_.Refresh({first, first + rows}));
    }
  }

  // Samples all values the first time, later as many as there is time for.
  void SampleSlices(bool all, double most_ms) {
    const auto begin = clock_.Now();
    const ValueId input = timer_.graph().inputs[0];
    picture_slices_.AddWhole(slice_timer_.TimeWhole(input));
    picture_slices_.Add(slice_timer_.Time(input, timer_.changed()));
    for (size_t i = 0; i < slices_.size(); ++i) {
      if (!all && Milliseconds(clock_.Now() - begin) > most_ms) return;
      next_slice_ = (next_slice_ + 1) % slices_.size();
      const ValueId value = timer_.graph().operators[next_slice_].outputs[0];
      if (!operators_[next_slice_].is_kept || operators_[next_slice_].is_view) continue;
      slices_[next_slice_].Add(slice_timer_.Time(value, timer_.state().changed(value)));
      slices_[next_slice_].AddWhole(slice_timer_.TimeWhole(value));
    }
  }

  void SampleAnswer() {
    const ModelState& state = timer_.state();
    CodedSlice sum;
    for (const ValueId output : timer_.graph().outputs) {
      if (timer_.graph().value(output).is_constant()) continue;
      const CodedSlice slice = slice_timer_.TimeWhole(
          output, output == timer_.graph().outputs.front() ? measurement_.settings.most_scores : 0);
      sum.bytes += slice.bytes;
      sum.encode_ms += slice.encode_ms;
      sum.decode_ms += slice.decode_ms;
    }
    answer_.bytes = sum.bytes;
    answer_.encode_ms.push_back(sum.encode_ms);
    answer_.decode_ms.push_back(sum.decode_ms);
    const auto begin = clock_.Now();
    if (measurement_.read_answer) {
      measurement_.read_answer(state);
    } else {
      ReadOutputs(state, outputs_);
    }
    answer_.read_ms.push_back(Milliseconds(clock_.Now() - begin));
  }

  // Samples all codecs the first time, later those of one kind.
  void SampleCodecs(const Stretch& stretch, const std::vector<double>& work) {
    const size_t number = codec_rounds_++;
    std::map<PictureCodecKind, std::vector<CodecSamples*>> kinds;
    for (CodecSamples& samples : codecs_) kinds[samples.kind].push_back(&samples);
    const size_t turn = kinds.empty() ? 0 : number % kinds.size();
    size_t kind = 0;
    for (const auto& [_, qualities] : kinds) {
      if (number > 0 && kind++ != turn) continue;
      const size_t frames = stretch.count - 1;
      for (size_t i = 0; i < qualities.size(); ++i) {
        const size_t share = (i + number) % qualities.size();
        const size_t first = share * frames / qualities.size();
        const size_t last = (share + 1) * frames / qualities.size();
        SampleCodec(stretch, work, {static_cast<int>(first), static_cast<int>(last)}, qualities[i]);
      }
    }
  }

  // `seen`: frames, each with the one before it, for which the network sees the decoded pictures
  // too. That takes longer than all coding, so the qualities of a codec share a stretch.
  void SampleCodec(const Stretch& stretch, const std::vector<double>& work, const Range& seen,
                   CodecSamples* samples) {
    const PictureFormat format = PictureFormatOf(timer_.graph());
    PictureEncoder encoder(ParsePictureCodec(samples->codec), format);
    PictureDecoder decoder(format);
    std::vector<uint8_t> bytes;
    std::vector<std::vector<uint8_t>> decoded;
    for (size_t i = 0; i < stretch.count; ++i) {
      bytes.clear();
      const auto begin = clock_.Now();
      encoder.Append(stretch.picture(i), &bytes);
      const auto middle = clock_.Now();
      const char* const fault = decoder.Decode(bytes);
      const auto end = clock_.Now();
      if (fault != nullptr) throw std::runtime_error(fault);
      const PictureView picture = decoder.picture();
      decoded.emplace_back(picture.pixels, picture.pixels + format.byte_count());
      if (i == 0) continue;  // stands alone, as few do
      samples->bytes.push_back({work[i - 1], static_cast<double>(bytes.size())});
      samples->encode_ms.push_back(Milliseconds(middle - begin));
      samples->decode_ms.push_back(Milliseconds(end - middle));
    }
    if (measurement_.heading.side == Side::kRobot && samples->is_lossy) {
      SampleSeen(stretch, work, decoded, seen, samples);
    }
  }

  void SampleSeen(const Stretch& stretch, const std::vector<double>& work,
                  const std::vector<std::vector<uint8_t>>& decoded, const Range& frames,
                  CodecSamples* samples) {
    if (frames.empty()) return;
    timer_.BeginClip(stretch.clip->place);
    for (int i = frames.begin; i <= frames.end; ++i) {
      PictureView picture = stretch.picture(static_cast<size_t>(i));
      picture.pixels = decoded[static_cast<size_t>(i)].data();
      const TimedFrame frame = timer_.Next(picture);
      if (frame.kind != FrameDecision::Kind::kChanged) continue;
      samples->seen.push_back({work[static_cast<size_t>(i) - 1], frame.work()});
    }
  }

  const Measurement& measurement_;
  const Clock& clock_;
  FrameTimer timer_;
  SliceTimer slice_timer_;
  std::mt19937 random_{7};
  std::vector<Round> rounds_;
  size_t fitted_rounds_ = 0;
  size_t held_out_rounds_ = 0;
  size_t codec_rounds_ = 0;
  std::vector<ProfiledOperator> operators_;  // without costs
  std::vector<SliceSamples> slices_;
  SliceSamples picture_slices_;
  size_t next_slice_ = 0;
  std::vector<CodecSamples> codecs_;
  AnswerSamples answer_;
  std::vector<std::vector<float>> outputs_;
};

// ---------------------------------------------------------------------------------------------
// Fitting.

// Leaves out disturbed rounds, if enough others are left, and scales the others to the same speed.
// Keeps the times of held-out rounds.
std::vector<Round> Undisturbed(const std::vector<Round>& rounds) {
  std::vector<double> whole_ms;
  for (const Round& round : rounds) whole_ms.push_back(round.whole_ms());
  const double usual_ms = MedianOf(std::move(whole_ms));
  std::vector<Round> kept;
  for (const Round& round : rounds) {
    const double first_ms = round.whole.front().total_ms;
    const double last_ms = round.whole.back().total_ms;
    const double most = 1 + kMostDisturbance;
    const double factor = round.whole_ms() / usual_ms;
    if (std::max(first_ms, last_ms) > most * std::min(first_ms, last_ms)) continue;
    if (factor > most || factor < 1 / most) continue;
    kept.push_back(round);
    if (round.is_held_out) continue;
    Round& scaled = kept.back();
    for (auto* const frames : {&scaled.whole, &scaled.changed, &scaled.made, &scaled.refreshes}) {
      for (TimedFrame& frame : *frames) {
        for (double& ms : frame.ms) ms /= factor;
      }
    }
  }
  const auto fits = std::ranges::count(kept, false, &Round::is_held_out);
  const bool suffices = fits >= 2 && static_cast<size_t>(fits) < kept.size();
  if (suffices) return kept;
  LogWarning("the machine was busy with something else: times may be too long");
  return rounds;
}

// The most work of a frame that follows its predecessor.
double MostWork(const std::vector<Round>& rounds) {
  double most = 0;
  for (const Round& round : rounds) {
    if (round.is_held_out || round.skips) continue;
    for (const TimedFrame& frame : round.changed) most = std::max(most, frame.work());
  }
  return most;
}

void FitOperator(const std::vector<Round>& rounds, size_t id, size_t stem_size,
                 ProfiledOperator* op, Curve* news) {
  std::vector<double> dense_ms;
  std::vector<Curve::Point> ms;
  std::vector<Curve::Point> refresh_ms;
  std::vector<Curve::Point> active;
  std::vector<Curve::Point> news_samples;
  const double most_work = MostWork(rounds);
  for (const Round& round : rounds) {
    if (round.is_held_out) continue;
    for (const TimedFrame& frame : round.whole) dense_ms.push_back(frame.ms[id]);
    for (const TimedFrame& frame : round.changed) {
      ms.push_back({frame.active[id], frame.ms[id]});
      // For the same work, changes over a longer time are larger and spread further.
      if (round.skips && frame.work() <= most_work) continue;
      active.push_back({frame.work(), frame.active[id]});
      news_samples.push_back({frame.work(), frame.news[id]});
    }
    for (const TimedFrame& frame : round.made) ms.push_back({frame.active[id], frame.ms[id]});
    for (const TimedFrame& frame : round.refreshes) {
      refresh_ms.push_back({frame.active[id], frame.ms[id]});
    }
  }
  const bool has_all = std::ranges::any_of(
      active, [](const Curve::Point& sample) { return sample.x > kAllButDense; });
  // No work computes nothing and, unless samples say otherwise, all work computes all. A stem is an
  // exception: it follows every byte.
  for (auto* const samples : {&active, &news_samples}) {
    if (id >= stem_size || samples == &news_samples) samples->push_back({0.0, 0.0});
    if (!has_all) samples->push_back({1.0, 1.0});
  }
  op->dense_ms = Rounded(MedianOf(std::move(dense_ms)));
  op->ms = FitByMedians(ms);
  op->refresh_ms = FitByMedians(refresh_ms);
  op->active = FitByMeans(active);
  *news = FitByMeans(news_samples);
}

// A slice of no pixels takes next to nothing.
Curve FitFromNothing(std::vector<Curve::Point> samples) {
  std::erase_if(samples, [](const Curve::Point& sample) { return sample.x == 0; });
  samples.push_back({0.0, 0.0});
  return FitByMedians(samples);
}

double WholeMedian(const SliceSamples& samples, size_t what) {
  return Rounded(MedianOf(samples.whole[what]));
}

void FitCodecs(const std::vector<CodecSamples>& codecs, Profile* profile) {
  for (const CodecSamples& samples : codecs) {
    std::vector<Curve::Point> seen = samples.seen;
    if (!seen.empty()) seen.insert(seen.end(), {{0.0, 0.0}, {1.0, 1.0}});
    profile->codecs.push_back({samples.codec, FitByMedians(samples.bytes),
                               Rounded(MedianOf(samples.encode_ms)),
                               Rounded(MedianOf(samples.decode_ms)), FitByMedians(seen)});
  }
}

double PredictedMs(const Profile& profile, const TimedFrame& frame, bool by_active) {
  double sum = 0;
  for (size_t id = 0; id < profile.operators.size(); ++id) {
    const ProfiledOperator& op = profile.operators[id];
    const bool is_whole = frame.kind == FrameDecision::Kind::kWhole;
    const double active = by_active ? op.active.At(frame.work()) : frame.active[id];
    sum += is_whole ? op.dense_ms : op.ms.At(active);
  }
  return sum;
}

void FindErrors(const std::vector<Round>& rounds, Profile* profile) {
  std::vector<double> errors;
  std::vector<double> active_errors;
  const auto error_of = [&](const TimedFrame& frame, bool by_active) {
    return std::abs(PredictedMs(*profile, frame, by_active) / frame.total_ms - 1);
  };
  for (const Round& round : rounds) {
    if (!round.is_held_out) continue;
    for (const TimedFrame& frame : round.whole) errors.push_back(error_of(frame, false));
    for (const TimedFrame& frame : round.changed) {
      errors.push_back(error_of(frame, false));
      active_errors.push_back(error_of(frame, true));
    }
  }
  constexpr double kPercentile = 0.95;
  profile->median_error = Rounded(MedianOf(errors));
  profile->p95_error = Rounded(PercentileOf(errors, kPercentile));
  profile->active_median_error = Rounded(MedianOf(active_errors));
  profile->active_p95_error = Rounded(PercentileOf(active_errors, kPercentile));
}

Profile Fitted(const Sampler& sampler, const Measurement& measurement) {
  const std::vector<Round> rounds = Undisturbed(sampler.rounds());
  Profile profile = measurement.heading;
  profile.slice_codec = measurement.settings.slice_codec;
  profile.operators = sampler.operators();
  for (size_t id = 0; id < profile.operators.size(); ++id) {
    ProfiledOperator& op = profile.operators[id];
    Curve news;
    FitOperator(rounds, id, sampler.stem_size(), &op, &news);
    const SliceSamples& slices = sampler.slices()[id];
    if (slices.bytes.empty()) continue;
    op.slice_bytes = Composed(FitFromNothing(slices.bytes), news);
    op.encode_ms = Composed(FitFromNothing(slices.encode_ms), news);
    op.decode_ms = Composed(FitFromNothing(slices.decode_ms), news);
    op.whole_bytes = WholeMedian(slices, 0);
    op.whole_encode_ms = WholeMedian(slices, 1);
    op.whole_decode_ms = WholeMedian(slices, 2);
  }
  const SliceSamples& picture = sampler.picture_slices();
  std::vector<Curve::Point> picture_news = {{0.0, 0.0}, {1.0, 1.0}};
  std::vector<Curve::Point> decide_ms;
  for (const Round& round : rounds) {
    for (const TimedFrame& frame : round.changed) {
      picture_news.push_back({frame.work(), frame.picture_news});
      decide_ms.push_back({frame.work(), frame.decide_ms});
    }
  }
  const Curve news = FitByMeans(picture_news);
  profile.picture_slice_bytes = Composed(FitFromNothing(picture.bytes), news);
  profile.picture_encode_ms = Composed(FitFromNothing(picture.encode_ms), news);
  profile.picture_decode_ms = Composed(FitFromNothing(picture.decode_ms), news);
  profile.decide_ms = FitByMedians(decide_ms);

  std::vector<double> fit_ms;
  for (const FittedClip& clip : measurement.clips) fit_ms.push_back(clip.fit_ms);
  profile.fit_ms = Rounded(MedianOf(fit_ms));
  FitCodecs(sampler.codecs(), &profile);
  const AnswerSamples& answer = sampler.answer();
  profile.read_ms = Rounded(MedianOf(answer.read_ms));
  profile.answer_bytes = answer.bytes;
  profile.answer_encode_ms = Rounded(MedianOf(answer.encode_ms));
  profile.answer_decode_ms = Rounded(MedianOf(answer.decode_ms));
  FindErrors(rounds, &profile);
  return profile;
}

}  // namespace

Profile Measure(std::shared_ptr<const Graph> graph, std::unique_ptr<Backend> backend,
                const Measurement& measurement, const Clock& clock) {
  Measurement steady = measurement;
  // Frames that rest or are due to be whole would show nothing.
  steady.settings.cache.most_work = 0;
  steady.settings.cache.flush = 0;
  Sampler sampler(std::move(graph), std::move(backend), steady, clock);
  if (!sampler.Sample()) return {};
  return Fitted(sampler, steady);
}

}  // namespace cacheinf
