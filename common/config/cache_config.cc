#include "common/config/cache_config.h"

namespace cacheinf {

FieldTable CacheConfig::Fields() {
  return {
      Field{"policy", MakeChoice(policy),
            "How far a change travels through the network. Wherever bits change, for the answer of "
            "a dense run bit for bit (exact); wherever a map's pixel changes by more than "
            "\"change\" (change); or over the same pixels, slightly grown, in every map of a "
            "resolution (fixed).",
            "Use exact if answers must be those of a dense run, fixed if change is too slow and "
            "calibration finds that answers still agree."}
          .Flag("--policy"),
      Field{"geometry", MakeChoice(geometry),
            "What a moving camera means. none: nothing, every pixel is compared in place. canvas: "
            "frames are drawn onto a canvas that stands still, or moves by whole strides together "
            "with what is stored. warp: what is stored moves with the camera by interpolation, "
            "and takes twice the memory.",
            "Leave it if the camera stands or hardly moves; try canvas if it pans over a scene "
            "that stands still."}
          .Flag("--geometry"),
      Field{"change", &change,
            "The relative change up to which a map's pixel keeps its old value. It is the root "
            "mean square, relative to each channel's spread; it counts in every map under the "
            "policy \"change\", at the end of the stem under \"fixed\".",
            "Raise it for less work, lower it if answers agree too little; calibrate finds it."}
          .Between(0, 100)
          .Flag("--change"),
      Field{"change_scales", &change_scales,
            "Factors of \"change\" by resolution: for maps as large as the picture, half as large, "
            "a quarter, …; the last one holds for all smaller maps. Empty: 1.",
            "calibrate finds them."}
          .Between(0.001, 1000)
          .AtMostItems(16),
      Field{"growth", &growth, "Pixels by which changes grow in every map under \"fixed\".",
            "Raise it if answers under fixed agree too little around moving things."}
          .Between(0, 64)
          .Flag("--growth"),
      Field{
          "stem", &stem,
          "How many of the first convolutions follow every change of the picture. Their outputs "
          "decide what counts as a change; 0: the picture decides.",
          "Set it to 0 for boxes and a quiet camera, which saves the stem's work; keep it at 1 or "
          "2 "
          "for maps of classes, which suffer from edges between old and new."}
          .Between(0, 64)
          .Flag("--stem"),
      Field{"refresh", &refresh,
            "Within so many frames every part of the picture is computed again; 0: never. It is "
            "computed and stored strip by strip, however little it changed.",
            "Raise it to save work between answers; lower it if answers get worse the longer a "
            "scene lasts."}
          .Between(0, 10000)
          .Flag("--refresh"),
      Field{"relight", &relight,
            "Shows the network a frame in the light of what is stored, so that this stays useful. "
            "The light may differ by gain and offset. Not needed with the canvas, which does so by "
            "itself; never done under the policy exact.",
            "Turn it off if answers in changing light matter more than their time."}
          .Flag("--relight"),
      Field{"budget_mb", &budget_mb,
            "Megabytes that activations may take; 0: any number. Maps that are cheapest to "
            "recompute where they are needed are then not kept from frame to frame.",
            "Set it if memory is short; it costs time."}
          .Between(0, 1e6)
          .Flag("--budget-mb"),
  };
}

FieldTable FieldsOf(TrackerConfig& tracker) {
  return {
      Field{"tracker", MakeChoice(tracker.kind),
            "How to follow a moving camera: by a homography, or by one translation found from "
            "blocks.",
            "Use block if the camera only shifts and blocks are faster; calibrate tries both."}
          .Flag("--tracker"),
      Field{"threshold", &tracker.change.threshold,
            "The difference, as a share of full scale, at which the picture counts as changed. It "
            "is the mean over a cell of 4x4 pixels, against what is stored; 0: any byte that "
            "differs. Not used with a stem or under the policy exact.",
            "Lower it if small or faint things are missed, raise it for a noisy camera."}
          .Between(0, 1)
          .Flag("--threshold"),
  };
}

}  // namespace cacheinf
