#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/answer/agreement.h"
#include "common/answer/moved_answer.h"
#include "common/answer/seen_picture.h"
#include "common/base/clock.h"
#include "common/model/picture.h"
#include "common/tracker/homography_tracker.h"
#include "tests/bench/bench.h"
#include "tests/bench/clips.h"
#include "tests/bench/timing.h"
#include "tests/bench/worker.h"
#include "tests/rivals/box_forecast.h"

namespace cacheinf {
namespace {

constexpr std::array kAges = {1, 2, 3, 6};  // of answers, in frames
constexpr int kFrames = 250;

// A clip's frames as the network sees them, with the dense answers.
struct Clip {
  PictureFit fit;
  std::vector<std::vector<uint8_t>> pictures;
  std::vector<Picture> frames;
  std::vector<Detections> answers;

  PictureView View(size_t frame) const {
    return {pictures[frame].data(), fit.spec().width, fit.spec().height, fit.channels()};
  }
};

// No frames if the answers are no boxes.
Clip ReadClip(const std::shared_ptr<const CompiledModel>& model, RobotConfig config,
              const std::vector<Frame>& frames) {
  const SteadyClock clock;
  config.mode = RobotConfig::Mode::kDense;
  Robot dense(model, config, clock);
  dense.Process(frames.front());
  Clip clip = {*dense.fit(), {}, {}, {}};
  for (const Frame& frame : frames) {
    Answer answer = dense.Process(frame);
    auto* const boxes = std::get_if<Detections>(&answer.content);
    if (boxes == nullptr) break;
    const PictureView picture = dense.model_picture();
    clip.pictures.emplace_back(picture.pixels, picture.pixels + picture.byte_count());
    clip.frames.push_back(frame.picture);
    clip.answers.push_back(std::move(*boxes));
  }
  return clip;
}

// Where boxes go if all of the picture moves as one plane.
Detections MovedByHomography(const Clip& clip, size_t from, size_t to, HomographyTracker& tracker) {
  tracker.SetReference(clip.View(from));
  const SeenPicture in_place = {&clip.fit, {}};
  const SeenPicture moved = {&clip.fit, Inverse(tracker.Track(clip.View(to)).reference_from_frame)};
  Detections detections;
  for (const Detection& box : clip.answers[from].boxes) {
    const Keypoint first = in_place.InNetworkPicture(box.left, box.top);
    const Keypoint last = in_place.InNetworkPicture(box.right, box.bottom);
    detections.boxes.push_back(
        moved.InFrame(Detection{box.label, first.x, first.y, last.x, last.y}));
  }
  return detections;
}

// A way to have an answer to a frame from the answer to one `age` frames before.
struct Way {
  const char* name;
  std::function<Detections(size_t frame, int age)> answer;
};

// For every frame, what the answers up to it foretell for each age.
using Forecasts = std::vector<std::map<int, Detections>>;

Forecasts Forecast(const Clip& clip) {
  Forecasts forecasts;
  BoxForecast forecast;
  for (const Detections& answer : clip.answers) {
    forecast.Add(answer);
    forecasts.emplace_back();
    for (const int age : kAges) forecasts.back()[age] = forecast.After(age);
  }
  return forecasts;
}

std::vector<Way> WaysOf(const Clip& clip, const Forecasts& forecasts) {
  const auto move = [&clip](MovedAnswer& answer, size_t from, size_t to) {
    AnswerContent content = clip.answers[from];
    answer.Keep(content, clip.frames[from]);
    return std::get<Detections>(answer.MoveTo(clip.frames[to]));
  };
  const auto tracker = std::make_shared<HomographyTracker>();
  return {
      {"repeated",
       [&](size_t frame, int age) { return clip.answers[frame - static_cast<size_t>(age)]; }},
      {"kalman",
       [&](size_t frame, int age) { return forecasts[frame - static_cast<size_t>(age)].at(age); }},
      {"homography",
       [&clip, tracker](size_t frame, int age) {
         return MovedByHomography(clip, frame - static_cast<size_t>(age), frame, *tracker);
       }},
      {"moved at once",
       [move](size_t frame, int age) {
         MovedAnswer answer;
         return move(answer, frame - static_cast<size_t>(age), frame);
       }},
      // As on a robot that gets answers so late, one a frame.
      {"moved",
       [move, answers = std::make_shared<std::map<int, MovedAnswer>>()](size_t frame, int age) {
         return move((*answers)[age], frame - static_cast<size_t>(age), frame);
       }},
  };
}

// What a robot spends on keeping an answer and on moving it, if answers are so old.
void AddTimes(const Clip& clip, size_t age, nlohmann::ordered_json& row) {
  Samples keep;
  Samples move;
  MovedAnswer answer;
  for (size_t i = 0; i + age < clip.pictures.size(); ++i) {
    AnswerContent content = clip.answers[i];
    keep.ms.push_back(TimeOnce([&] { answer.Keep(content, clip.frames[i]); }));
    move.ms.push_back(TimeOnce([&] { answer.MoveTo(clip.frames[i + age]); }));
  }
  row["keep_ms"] = keep.Median();
  row["move_" + std::to_string(age) + "_ms"] = move.Median();
}

void MeasureClip(const Clip& clip, const nlohmann::ordered_json& head, BenchReport* report) {
  const Forecasts forecasts = Forecast(clip);
  for (const Way& way : WaysOf(clip, forecasts)) {
    nlohmann::ordered_json row = head;
    row["frames"] = clip.pictures.size();
    row["way"] = way.name;
    for (const int age : kAges) {
      DetectionAgreement agreement;
      for (auto frame = static_cast<size_t>(kAges.back()); frame < clip.pictures.size(); ++frame) {
        agreement.Add(way.answer(frame, age), clip.answers[frame]);
      }
      row["f1_after_" + std::to_string(age)] = NumberOrNull(agreement.F1());
    }
    row["keep_ms"] = row["move_1_ms"] = row["move_6_ms"] = nullptr;
    if (std::string(way.name) == "moved") {
      for (const size_t age : {1, 6}) AddTimes(clip, age, row);
    }
    report->AddRow(std::move(row));
  }
}

}  // namespace

void BenchMoved(const BenchOptions& options, BenchReport* report) {
  PinToCores(1);
  for (const std::filesystem::path& model : ClipModels(options)) {
    RobotConfig config = ConfigFor(model, options);
    config.threads = 1;
    const auto compiled = Compile(LoadGraph(config, /*has_tensors=*/false), config);
    for (const std::string& name : Clips(options)) {
      const std::vector<Frame> frames =
          ReadFrames(name, options.frames > 0 ? options.frames : kFrames);
      if (frames.size() <= static_cast<size_t>(kAges.back())) {
        report->AddNote(name + " has too few frames");
        continue;
      }
      const Clip clip = ReadClip(compiled, config, frames);
      if (clip.answers.empty()) {
        report->AddNote(model.stem().string() + " finds no boxes");
        break;
      }
      MeasureClip(clip, {{"model", model.stem().string()}, {"clip", ClipName(name)}}, report);
    }
  }
}

}  // namespace cacheinf
