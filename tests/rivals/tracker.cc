#include "common/tracker/tracker.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/model/picture.h"
#include "common/reuse/change_finder.h"
#include "common/reuse/picture_warp.h"
#include "common/source/frame_source.h"
#include "common/tracker/block_tracker.h"
#include "common/tracker/homography_tracker.h"
#include "tests/bench/bench.h"
#include "tests/bench/worker.h"
#include "tests/rivals/rival_trackers.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kFramesOfAClip = 60;
constexpr double kShareOfTime = 0.25;  // of --min-time, for one clip

struct Size {
  int width = 0;
  int height = 0;
  std::string Name() const { return std::to_string(width) + "x" + std::to_string(height); }
};

struct Clip {
  std::string name;
  std::vector<std::vector<uint8_t>> frames;
};

struct NamedTracker {
  std::string name;
  std::function<std::unique_ptr<Tracker>()> make;
  Json published_ms = nullptr;  // DeepCache's Table 4
  Json published_match_ratio = nullptr;
};

// As in DeepCache's Table 4, on 227 × 227 pixels.
std::vector<NamedTracker> Matchers() {
  const auto rival = [](Matcher matcher) { return [matcher] { return MakeMatcher(matcher); }; };
  BlockMatchingConfig deepcache;
  deepcache.translation = BlockMatchingConfig::Translation::kMean;
  deepcache.range = 7;
  const auto ours = [](const BlockMatchingConfig& config) {
    return [config] { return std::make_unique<BlockTracker>(config); };
  };
  return {{"DeepMon", rival(Matcher::kDeepMon), 4.7, 0.461},
          {"ES", rival(Matcher::kExhaustive), 33.3, 0.715},
          {"TSS", rival(Matcher::kThreeStep), 24.7, 0.708},
          {"DS", rival(Matcher::kDiamond), 19.5, 0.712},
          {"DS + optimization", ours(deepcache), 9.7, 0.695},
          {"our default", ours({})}};
}

std::vector<NamedTracker> Homographies() {
  return {{"lucas-kanade", [] { return std::make_unique<HomographyTracker>(); }},
          {"orb", [] { return MakeKeypointTracker(Keypoints::kOrb); }},
          {"akaze", [] { return MakeKeypointTracker(Keypoints::kAkaze); }}};
}

// What a clip is read from.
std::vector<std::pair<std::string, std::string>> Sources(BenchReport* report) {
  std::vector<std::pair<std::string, std::string>> sources = {
      {"generated, still", "generated:camera=still,noise=3,width=640,height=480"},
      {"generated, handheld", "generated:camera=handheld,noise=3,width=640,height=480"},
      {"generated, travel", "generated:camera=travel,noise=3,width=640,height=480"},
  };
  const fs::path folder = SharedData("video");
  std::vector<fs::path> videos;
  if (fs::is_directory(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) videos.push_back(entry.path());
  } else {
    report->AddNote("No real videos: ../shared/data/video is not here.");
  }
  std::sort(videos.begin(), videos.end());
  for (const fs::path& video : videos) sources.emplace_back(video.stem(), video);
  return sources;
}

Clip ReadClip(const std::string& name, const std::string& source_name, const Size& size) {
  const SteadyClock clock;
  const std::unique_ptr<FrameSource> source = OpenSource(source_name, clock);
  PictureSpec spec;
  spec.width = size.width;
  spec.height = size.height;
  Clip clip = {name, {}};
  while (clip.frames.size() < kFramesOfAClip) {
    const std::optional<Frame> frame = source->Next();
    if (!frame) break;
    const PictureFit fit(spec, frame->picture.width, frame->picture.height);
    std::vector<uint8_t>& pixels = clip.frames.emplace_back(static_cast<size_t>(size.width) *
                                                            static_cast<size_t>(size.height) * 3);
    fit.Resize(frame->picture, {0, size.height}, pixels.data());
  }
  return clip;
}

// Loops through a clip; every frame is the reference of the next.
class ClipRun {
 public:
  ClipRun(const Clip& clip, const Size& size, const NamedTracker& tracker)
      : clip_(clip), size_(size), tracker_(tracker.make()) {}

  // Milliseconds of one frame: finding its motion, and making it the next one's reference.
  double Step(Motion* motion) {
    if (next_ == 0) tracker_->SetReference(View(next_++));
    const PictureView frame = View(next_);
    next_ = (next_ + 1) % clip_.frames.size();
    return TimeOnce([&] {
      *motion = tracker_->Track(frame);
      tracker_->SetReferenceToLastFrame();
    });
  }

  PictureView View(size_t index) const {
    return {clip_.frames[index].data(), size_.width, size_.height, 3};
  }

 private:
  const Clip& clip_;
  Size size_;
  std::unique_ptr<Tracker> tracker_;
  size_t next_ = 0;
};

// What a tracker makes of a clip, besides its time.
struct Findings {
  double match_ratio = 0;
  double active = 0;
  int lost = 0;
  Samples change;  // times of the change test
};

Findings LookThrough(const Clip& clip, const Size& size, const NamedTracker& tracker) {
  Findings findings;
  ClipRun run(clip, size, tracker);
  ChangeFinder finder({}, size.width, size.height, 3);
  Mask active(size.height, size.width);
  Mask out_of_view(size.height, size.width);
  std::vector<uint8_t> aligned(clip.frames.front().size());
  const size_t frames = clip.frames.size() - 1;
  for (size_t i = 0; i < frames; ++i) {
    Motion motion;
    run.Step(&motion);
    findings.change.ms.push_back(TimeOnce([&] {
      if (motion.is_lost()) return SetAll(active);
      WarpPicture(run.View(i), motion.reference_from_frame, aligned.data(), out_of_view);
      if (!motion.light.IsIdentity()) {
        Apply(LevelsIn(motion.light), aligned.data(), aligned.size(), aligned.data());
      }
      finder.Find(run.View(i + 1), {aligned.data(), size.width, size.height, 3}, out_of_view,
                  active);
    }));
    findings.match_ratio += motion.match_ratio / static_cast<double>(frames);
    findings.active += static_cast<double>(CountActive(active)) /
                       static_cast<double>(active.view().pixel_count() * frames);
    findings.lost += motion.is_lost() ? 1 : 0;
  }
  return findings;
}

// Rows of one tracker, one per clip.
using TrackerRows = std::vector<Json>;

void MeasureClip(const Clip& clip, const Size& size, const std::vector<NamedTracker>& trackers,
                 const TimingOptions& timing_options, std::vector<TrackerRows>* rows,
                 BenchReport* report) {
  std::vector<ClipRun> runs;
  std::vector<Turn> turns;
  runs.reserve(trackers.size());
  for (const NamedTracker& tracker : trackers) runs.emplace_back(clip, size, tracker);
  for (ClipRun& run : runs) {
    turns.emplace_back([&run](int count) {
      std::vector<double> ms;
      Motion motion;
      for (int i = 0; i < count; ++i) ms.push_back(run.Step(&motion));
      return ms;
    });
  }
  const Timing timing = TimeTurns(turns, timing_options);
  report->AddNoise(timing);
  for (size_t i = 0; i < trackers.size(); ++i) {
    const Samples& samples = timing.contenders[i];
    const Findings findings = LookThrough(clip, size, trackers[i]);
    rows->at(i).push_back({{"clip", clip.name},
                           {"size", size.Name()},
                           {"tracker", trackers[i].name},
                           {"median_ms", samples.Median()},
                           {"p10_ms", samples.Quantile(0.1)},
                           {"p90_ms", samples.Quantile(0.9)},
                           {"frames_per_second", 1000 / samples.Median()},
                           {"change_ms", findings.change.Median()},
                           {"match_ratio", findings.match_ratio},
                           {"active", findings.active},
                           {"lost", findings.lost},
                           {"frames", clip.frames.size() - 1}});
  }
}

// The mean over the clips, beside DeepCache's statement.
Json MeanRow(const NamedTracker& tracker, const TrackerRows& rows) {
  Json mean = {{"tracker", tracker.name}, {"size", rows.front()["size"]}};
  for (const char* key :
       {"median_ms", "p90_ms", "frames_per_second", "change_ms", "match_ratio", "active"}) {
    double sum = 0;
    for (const Json& row : rows) sum += row[key].get<double>();
    mean[key] = sum / static_cast<double>(rows.size());
  }
  int lost = 0;
  for (const Json& row : rows) lost += row["lost"].get<int>();
  mean["lost"] = lost;
  mean["deepcache_ms"] = tracker.published_ms;
  mean["deepcache_match_ratio"] = tracker.published_match_ratio;
  return mean;
}

void MeasureTrackers(const std::vector<NamedTracker>& trackers, const Size& size,
                     const TimingOptions& timing, BenchReport* report) {
  std::vector<TrackerRows> rows(trackers.size());
  for (const auto& [name, source] : Sources(report)) {
    MeasureClip(ReadClip(name, source, size), size, trackers, timing, &rows, report);
  }
  for (size_t i = 0; i < trackers.size(); ++i) {
    for (const Json& row : rows[i]) report->AddRow(row);
    report->AddTableRow(MeanRow(trackers[i], rows[i]));
  }
}

}  // namespace

void BenchTracker(const BenchOptions& options, BenchReport* report) {
  PinToCores(1);
  TimingOptions timing = options.timing;
  timing.min_time_ms *= kShareOfTime;
  MeasureTrackers(Matchers(), {227, 227}, timing, report);
  MeasureTrackers(Homographies(), {640, 480}, timing, report);
}

}  // namespace cacheinf
