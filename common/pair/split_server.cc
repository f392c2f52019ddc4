#include "common/pair/split_server.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "common/base/error.h"
#include "common/base/failure.h"
#include "common/base/log.h"
#include "common/codec/slice_codec.h"
#include "common/pair/likeness.h"
#include "common/pair/say.h"

namespace cacheinf {
namespace {

StateOptions OptionsOf(const message::Settings& settings, const Graph& graph) {
  if (graph.inputs.size() != 1 || graph.picture.width == 0) {
    throw InputError("mode split needs a model whose only input is a picture");
  }
  const auto is_value = [&](ValueId value) {
    return value >= 0 && value < static_cast<ValueId>(graph.values.size()) &&
           !graph.value(value).is_constant();
  };
  if (!std::all_of(settings.kept.begin(), settings.kept.end(), is_value)) {
    throw InputError("what is to be kept is not a value of the model");
  }
  CheckCarriesRows(settings.shared.slice_codec, graph);
  return {.chosen = settings.kept, .keep = settings.keep, .trades = true};
}

void CheckSpreads(const ChangePolicy& policy, const ModelState& state) {
  if (policy.threshold <= 0.0f) return;
  const Graph& graph = state.graph();
  const auto fits = [&](size_t id) {
    const Value& value = graph.values[id];
    const bool has_any =
        value.producer != kNone && value.is_map() && state.is_kept(static_cast<ValueId>(id));
    const std::vector<float>& channels = (*policy.spreads)[id];
    return !has_any || static_cast<int64_t>(channels.size()) == SpreadCount(value);
  };
  bool all_fit = policy.spreads->size() == graph.values.size();
  for (size_t id = 0; all_fit && id < graph.values.size(); ++id) all_fit = fits(id);
  if (!all_fit) throw InputError("the spreads are not those of the model's maps");
}

}  // namespace

SplitServer::SplitServer(const std::shared_ptr<const CompiledModel>& model,
                         const message::Settings& settings, Channel& channel, const Clock& clock)
    : channel_(channel),
      clock_(clock),
      state_(model, OptionsOf(settings, model->graph())),
      walk_(Side::kServer, state_, [this](uint32_t transfer, std::vector<uint8_t> slice) {
        SendSlice(transfer, std::move(slice));
      }) {
  Use(settings);
}

void SplitServer::Use(const message::Settings& settings) {
  CheckSpreads(settings.policy, state_);
  CheckCuts(settings.cuts, state_.graph(), state_.layout());
  settings_ = settings;
}

Likeness SplitServer::likeness() const {
  return LikenessOf(state_, settings_.cuts, settings_.policy);
}

void SplitServer::Take(const message::Decided& frame) {
  const FrameDecision& decision = frame.decision;
  if (!frame.follows) {
    walk_.Abandon();
    state_.Forget();
    told_.reset();
    shared_.reset();
  } else if (!told_) {
    return;  // already refused
  } else if (frame.follows != told_) {
    return Refuse(decision.number, fmt::format("it does not hold frame {}", *frame.follows));
  }
  if (decision.settings != settings_.version) {
    return Refuse(decision.number, fmt::format("it has no settings {}", decision.settings));
  }
  try {
    // Whether the slices sent last were used.
    frame.committed == shared_ ? state_.ConfirmSent() : state_.ForgetSent();
    told_ = decision.number;
    if (!frame.is_shared) return walk_.Follow(decision, settings_.cuts, settings_.policy);
    shared_ = decision.number;
    is_given_up_ = false;
    done_ = {};
    done_.number = decision.number;
    done_.kind = decision.kind;
    const ConstMaskView changed = decision.changed;
    done_.work.active =
        static_cast<float>(CountActive(changed)) / static_cast<float>(changed.pixel_count());
    walk_.Begin(decision, settings_.cuts, settings_.policy);
    channel_.Expect(true);
  } catch (const std::exception& error) {
    Refuse(decision.number, SentenceOf(error));
  }
}

void SplitServer::Take(message::Slice slice) {
  if (!walk_.is_open() || slice.number != told_) return;  // of a refused frame
  std::vector<uint8_t> plain;
  const auto begin = clock_.Now();
  if (const char* const fault = DecodeSlice(slice.bytes, kMostSliceBytes, &plain)) {
    return Refuse(slice.number, fault);
  }
  done_.times.server_decoding += clock_.Now() - begin;
  if (!walk_.Take(slice.transfer, std::move(plain))) {
    Refuse(slice.number, fmt::format("it expects no slice {}", slice.transfer));
  }
}

void SplitServer::Take(const message::GiveUp& give_up) {
  if (give_up.number != shared_) return;
  is_given_up_ = true;
  channel_.GiveUp(give_up.number);
}

bool SplitServer::Step(std::chrono::nanoseconds queued) {
  if (!walk_.is_open()) return false;
  const auto begin = clock_.Now();
  try {
    const Progress progress = walk_.Step();
    done_.times.server_computing += clock_.Now() - begin;
    if (progress == Progress::kWaits) return false;
    if (progress == Progress::kRefused) Refuse(*told_, walk_.fault());
    if (progress == Progress::kDone) SendDone(queued);
  } catch (const std::exception& error) {
    Refuse(*told_, SentenceOf(error));
  }
  return true;
}

void SplitServer::ExpectNoMoreSlices() {
  if (walk_.is_open() && !walk_.has_all()) Refuse(*told_, "slices are missing");
}

void SplitServer::Refuse(int64_t number, const std::string& reason) {
  LogInfo(fmt::format("frame {} is refused: {}", number, reason));
  walk_.Abandon();
  told_.reset();
  channel_.Expect(false);
  Say(channel_, message::FrameRefusal{number, reason});
}

void SplitServer::SendSlice(uint32_t transfer, std::vector<uint8_t> slice) {
  if (is_given_up_) return;
  message::Slice coded = {*told_, transfer};
  AppendCodedSlice(settings_.shared.slice_codec, slice, &coded.bytes);
  (void)clock_.Now();  // whatever a slowed clock makes of the work, before its result leaves
  Say(channel_, std::move(coded), *told_);
}

void SplitServer::SendDone(std::chrono::nanoseconds queued) {
  channel_.Expect(false);
  done_.work.share = walk_.work().share();
  done_.times.server_queueing = queued;
  Say(channel_, done_);
}

}  // namespace cacheinf
