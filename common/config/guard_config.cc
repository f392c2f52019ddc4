#include "common/config/guard_config.h"

namespace cacheinf {

FieldTable LeastAgreement::Fields() {
  return {
      Field{"classes", &classes, "Of classifications: the share with the dense answer's class."}
          .Between(0, 1),
      Field{"iou", &iou,
            "Of segmentations: the mean intersection over union of the classes that cover a "
            "hundredth "
            "of the sample."}
          .Between(0, 1),
      Field{"boxes", &boxes, "Of boxes: F1."}.Between(0, 1),
      Field{"keypoints", &keypoints, "Of keypoints: the share that lies where dense ones do."}
          .Between(0, 1),
      Field{"numbers", &numbers, "Of raw outputs: 1 less the relative error."}.Between(0, 1),
  };
}

FieldTable GuardConfig::Fields() {
  return {
      Field{"state", MakeChoice(is_on, {"off", "on"}),
            "Whether mode \"cache\" is watched over: samples of the answers are computed exactly, "
            "and where these agree too little, less is reused."}
          .Flag("--guard"),
      Field{"share", &share,
            "Work that samples may take for each frame, as a share of a dense run's."}
          .Between(1e-6, 1),
      Field{"samples", &samples, "Samples that the estimate of the agreement is made of."}.Between(
          1, 1000),
      Field{"patience", &patience,
            "Good samples in a row after which more is reused again; doubled each time that turns "
            "out to be too early."}
          .Between(1, 1000000),
      Field{"seed", &seed, "Of the samples' places."}.Between(0, 1e15),
      Field{"least", least.Fields(), "The least agreement with dense answers, from 0 to 1."},
  };
}

void GuardConfig::Check(std::string_view name) const {
  GuardConfig copy = *this;
  CheckBounds(name, copy.Fields());
}

}  // namespace cacheinf
