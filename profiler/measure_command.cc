#include "profiler/measure_command.h"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/file.h"
#include "common/base/output_files.h"
#include "common/base/status_line.h"
#include "common/codec/picture_codec.h"
#include "common/config/configured_model.h"
#include "common/pair/shared_settings.h"
#include "profiler/machine.h"
#include "profiler/obtain_profile.h"
#include "profiler/scheme_choice.h"

namespace cacheinf {
namespace {

double DenseMs(const Profile& profile) {
  double sum = 0;
  for (const ProfiledOperator& op : profile.operators) sum += op.dense_ms;
  return sum;
}

// Time of a frame of this much work.
double KeptMs(const Profile& profile, double work) {
  double sum = 0;
  for (const ProfiledOperator& op : profile.operators) sum += op.ms.At(op.active.At(work));
  return sum;
}

std::string AgreementOf(const JudgedAgreement& judged) {
  return judged.weight > 0 ? fmt::format("; agreement {:.3f}", judged.agreement) : "";
}

}  // namespace

std::string SummaryOf(const Profile& profile) {
  std::string text = fmt::format(
      "{} on {}: {} operators, {:.2f} ms with nothing kept; otherwise {:.2f} ms if nothing "
      "changed, {:.2f} for 10 % of the work, {:.2f} for all\n",
      profile.model, profile.machine, profile.operators.size(), DenseMs(profile),
      KeptMs(profile, 0.0), KeptMs(profile, 0.1), KeptMs(profile, 1.0));
  text += fmt::format("fitting {:.2f} ms, deciding {:.2f} ms, reading the answer {:.2f} ms\n",
                      profile.fit_ms, profile.decide_ms.At(0.1), profile.read_ms);
  if (const std::string winograd = WinogradText(profile); !winograd.empty()) {
    text += winograd + "\n";
  }
  for (const ProfiledCodec& codec : profile.codecs) {
    text += fmt::format("{}: {:.0f} bytes for 10 % of the work, {:.0f} for all; {:.2f} + {:.2f} ms",
                        codec.codec, codec.bytes.At(0.1), codec.bytes.At(1.0), codec.encode_ms,
                        codec.decode_ms);
    text += AgreementOf(codec.judged) + "\n";
  }
  if (const std::string cache = AgreementOf(profile.cache_judged); !cache.empty()) {
    text += "local cache" + cache + "\n";
  }
  for (const std::string& assumption : profile.assumptions) text += "assumed: " + assumption + "\n";
  return text;
}

std::string RunMeasureCommand(const MeasureCommand& command, const Clock& clock,
                              const std::atomic<bool>& stop) {
  const RobotConfig& config = command.config;
  std::vector<NamedPath> inputs = {{"--config", command.config_file}, {"--model", config.model}};
  ProfileRequest request = command.request;
  for (const std::string& clip : request.clips) inputs.push_back({"--clip", clip});
  CheckOverwriting(inputs, {{"--out", command.out}});
  CheckWritable({{"--out", command.out}});
  for (const std::string& codec : request.codecs) (void)ParsePictureCodec(codec);
  Graph loaded = LoadGraph(config, /*has_tensors=*/false);
  const int threads = config.threads == 0 ? CoresToUse(DescribeMachine()) : config.threads;
  ChooseSchemes(config, threads, clock, stop, loaded);
  request.graph = std::make_shared<const Graph>(std::move(loaded));
  request.make_backend = [&config, threads] { return MakeBackend(config, threads); };
  request.backend = NameOf(config.backend);
  request.threads = threads;
  request.settings = SharedSettingsOf(config, *request.graph);
  request.decoder = config.model_config.decoder;
  StatusLine status(clock);
  const auto [profile, was_known, is_in_file] = ObtainProfile(
      request, command.out, command.measure_again, clock, [&](double done, double left_s) {
        status.Show([&] {
          return fmt::format("measured {:.0f} %, about {:.0f} s left", 100 * done, left_s);
        });
        return !stop;
      });
  if (!is_in_file) WriteFile(command.out, ToJsonText(profile));
  if (was_known) {
    return fmt::format(
               "{} is still valid: it was measured with this model, settings, clips, codecs, "
               "machine and build, and for as long at least\n",
               command.out.string()) +
           SummaryOf(profile);
  }
  return SummaryOf(profile) +
         fmt::format(
             "held-out frames: operators' times predicted within {:.1f} % (median) and "
             "{:.1f} % (95 of 100); of changed frames, from their work "
             "alone, {:.1f} % and {:.1f} %\n",
             100 * profile.median_error, 100 * profile.p95_error, 100 * profile.active_median_error,
             100 * profile.active_p95_error);
}

}  // namespace cacheinf
