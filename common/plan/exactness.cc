#include "common/plan/exactness.h"

#include <fmt/core.h>

#include "common/codec/picture_codec.h"

namespace cacheinf {

std::string WhyNotExact(const Plan& plan, const PairArithmetic& pair) {
  if (plan.kind == Plan::Kind::kLocal) return "";
  if (!pair.server.empty() && pair.server != pair.robot) {
    return fmt::format(
        "the robot computes in {}, the server in {}: give both the same CacheInf and precision",
        pair.robot, pair.server);
  }
  if (pair.has_foreign) return "LibTorch computes operators of the model, on each machine its way";
  if (!IsLossless(pair.slice_codec)) {
    return fmt::format("the slice codec {} is lossy", NameOf(pair.slice_codec));
  }
  if (plan.kind == Plan::Kind::kRemote && !ParsePictureCodec(plan.codec).is_lossless()) {
    return fmt::format("the codec {} is lossy", plan.codec);
  }
  return "";
}

}  // namespace cacheinf
