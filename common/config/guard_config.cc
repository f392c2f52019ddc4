#include "common/config/guard_config.h"

namespace cacheinf {

FieldTable GuardConfig::Fields() {
  return {
      Field{
          "state", MakeSwitch(is_on),
          "Whether a guard watches over modes \"cache\", \"remote\", \"split\" and \"cacheinf\". "
          "The robot computes samples of the answers exactly, from its own pictures. Where its own "
          "answers agree too little it reuses less; of a server's it says so.",
          "Turn it off if its memory (a second set of maps) or its time is missing, and the "
          "settings are known to fit."}
          .Flag("--guard"),
      Field{
          "share", &share,
          "Work that samples may take per frame, as a share of a dense run's: at .05 one dense run "
          "in 20 frames. It is twice as much while too few samples had anything to compare, and "
          "four times while one of the last was bad. With a live source samples take idle time, "
          "layer by layer, so a frame waits for a layer at most. Where no time is idle, the "
          "robot's own answers are still sampled, and a server's are not. A robot whose dense run "
          "takes 2 s spends .1 s a frame.",
          "Raise it to find bad answers sooner, lower it for a higher frame rate, or for a weak "
          "robot that should rest while a server computes."}
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

}  // namespace cacheinf
