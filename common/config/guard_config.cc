#include "common/config/guard_config.h"

namespace cacheinf {

FieldTable GuardConfig::Fields() {
  return {
      Field{"state", MakeSwitch(is_on),
            "Whether a guard watches over mode \"cache\". It computes samples of the answers "
            "exactly, and reuses less if they agree too little.",
            "Turn it off if its memory (a second set of maps) or its time is missing, and the "
            "settings are known to fit."}
          .Flag("--guard"),
      Field{"share", &share, "Work that samples may take per frame, as a share of a dense run's.",
            "Raise it to find bad answers sooner, lower it for a higher frame rate."}
          .Between(1e-6, 1),
      Field{"least", &least,
            "The least agreement with dense answers: the share with the dense answer's class, the "
            "mean intersection over union of classes that cover a hundredth of the sample, F1 of "
            "boxes, the share of keypoints in place, or 1 minus the relative error.",
            "Raise it if slightly wrong answers do harm, lower it if the guard falls back for "
            "answers that are good enough."}
          .Between(0, 1),
  };
}

void GuardConfig::Check(std::string_view name) const {
  GuardConfig copy = *this;
  CheckBounds(name, copy.Fields());
}

}  // namespace cacheinf
