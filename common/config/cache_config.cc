#include "common/config/cache_config.h"

namespace cacheinf {

FieldTable CacheConfig::Fields() {
  return {
      Field{"policy", MakeChoice(policy),
            "How far a change travels through the network: wherever bits change (the answer is "
            "that of a dense run, bit for bit); wherever a map's pixel changes by more than "
            "\"change\"; or over the same pixels, slightly grown, in every map of a resolution.",
            "Take exact where answers must be those of a dense run, fixed where change is too slow "
            "and calibration finds that answers still agree."}
          .Flag("--policy"),
      Field{"geometry", MakeChoice(geometry),
            "What a moving camera means: frames are drawn onto a canvas that stands still, or "
            "moves by whole strides together with what is stored; or nothing, and every pixel is "
            "compared in place; or what is stored moves with the camera by interpolation, and "
            "takes twice the memory.",
            "Leave it while the camera stands or hardly moves; try canvas where it pans over a "
            "scene that stands still."}
          .Flag("--geometry"),
      Field{
          "change", &change,
          "The root mean square change of a map's pixel, relative to each channel's spread, up to "
          "which it keeps its old value: under the policy \"change\" in every map, under \"fixed\" "
          "at the end of the stem.",
          "Raise it for less work, lower it where answers agree too little; calibrate finds it."}
          .Between(0, 100)
          .Flag("--change"),
      Field{
          "change_scales", &change_scales,
          "Factors of \"change\" by the maps' resolution: of maps as large as the picture, half as "
          "large, a quarter, …; the last one holds for what is smaller still. Empty: 1.",
          "Leave it to calibrate."}
          .Between(0.001, 1000)
          .AtMostItems(16),
      Field{"growth", &growth, "Pixels by which changes are grown in every map, under \"fixed\".",
            "Raise it where answers under fixed agree too little beside what moves."}
          .Between(0, 64)
          .Flag("--growth"),
      Field{
          "stem", &stem,
          "So many of the first convolutions follow every change of the picture, and what a change "
          "is is decided on their outputs; 0: it is decided on the picture.",
          "Set it to 0 for boxes and a quiet camera, which saves the stem's work; keep it at 1 or "
          "2 "
          "for maps of classes, which suffer from edges between old and new."}
          .Between(0, 64)
          .Flag("--stem"),
      Field{"refresh", &refresh,
            "Frames in which every part of the picture, strip by strip, is computed and stored "
            "however little it changed; 0: never.",
            "Raise it to save work between answers; lower it where answers get worse the longer a "
            "scene lasts."}
          .Between(0, 10000)
          .Flag("--refresh"),
      Field{"most_work", &most_work,
            "Share of a dense run's multiply-adds beyond which computing what changed takes longer "
            "than computing everything: after a frame that took more, the next 1, 2, 4, ... up to "
            "32 frames are computed whole before reuse is tried again; 0: it is always tried.",
            "Set it to 0 to measure reuse by itself; else leave it."}
          .Between(0, 2)
          .Flag("--most-work"),
      Field{"relight", &relight,
            "Whether a frame that differs by gain and offset of the light is shown to the network "
            "in the light of what is stored, so that this stays of use. Without the canvas, which "
            "does so by itself; never under the policy exact.",
            "Turn it off where answers in changing light matter more than their time."}
          .Flag("--relight"),
      Field{"budget_mb", &budget_mb,
            "Megabytes that activations may take: maps that are cheapest to compute again where "
            "they are needed are not kept from frame to frame; 0: all are kept.",
            "Set it where memory is short; it costs time."}
          .Between(0, 1e6)
          .Flag("--budget-mb"),
  };
}

void CacheConfig::Check(std::string_view name) const {
  CacheConfig copy = *this;
  CheckBounds(name, copy.Fields());
}

}  // namespace cacheinf
