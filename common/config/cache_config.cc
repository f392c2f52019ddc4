#include "common/config/cache_config.h"

namespace cacheinf {

FieldTable CacheConfig::Fields() {
  return {
      Field{
          "policy", MakeChoice(policy, {"exact", "change", "fixed"}),
          "How far a change travels through the network: wherever bits change (the answer is that "
          "of a dense run, bit for bit); wherever a map's pixel changes by more than \"change\"; "
          "or over the same pixels, slightly grown, in every map of a resolution."}
          .Flag("--policy"),
      Field{"geometry", MakeChoice(geometry, {"canvas", "none", "warp"}),
            "What a moving camera means: frames are drawn onto a canvas that stands still, or "
            "moves by whole strides together with what is stored; or nothing, and every pixel is "
            "compared in place; or what is stored moves with the camera by interpolation, and "
            "takes twice the memory."}
          .Flag("--geometry"),
      Field{
          "change", &change,
          "The root mean square change of a map's pixel, relative to each channel's spread, up to "
          "which it keeps its old value: under the policy \"change\" in every map, under \"fixed\" "
          "at the end of the stem."}
          .Between(0, 100)
          .Flag("--change"),
      Field{
          "change_scales", &change_scales,
          "Factors of \"change\" by the maps' resolution: of maps as large as the picture, half as "
          "large, a quarter, …; the last one holds for what is smaller still. Empty: 1."}
          .Between(0.001, 1000)
          .AtMostItems(16),
      Field{"growth", &growth, "Pixels by which changes are grown in every map, under \"fixed\"."}
          .Between(0, 64)
          .Flag("--growth"),
      Field{
          "stem", &stem,
          "So many of the first convolutions follow every change of the picture, and what a change "
          "is is decided on their outputs; 0: it is decided on the picture."}
          .Between(0, 64)
          .Flag("--stem"),
      Field{"refresh", &refresh,
            "Frames in which every part of the picture, strip by strip, is computed and stored "
            "however little it changed; 0: never."}
          .Between(0, 10000)
          .Flag("--refresh"),
      Field{"flush", &flush, "Every so many-th frame is computed whole; 0: only the first."}
          .Between(0, 1000000)
          .Flag("--flush"),
      Field{"most_work", &most_work,
            "Share of a dense run's multiply-adds beyond which computing what changed takes longer "
            "than computing everything: after a frame that took more, the next 1, 2, 4, ... up to "
            "32 frames are computed whole before reuse is tried again; 0: it is always tried."}
          .Between(0, 2)
          .Flag("--most-work"),
      Field{"relight", &relight,
            "Whether a frame that differs by gain and offset of the light is shown to the network "
            "in the light of what is stored, so that this stays of use. Without the canvas, which "
            "does so by itself; never under the policy exact."}
          .Flag("--relight"),
      Field{"budget_mb", &budget_mb,
            "Megabytes that activations may take: maps that are cheapest to compute again where "
            "they are needed are not kept from frame to frame; 0: all are kept."}
          .Between(0, 1e6)
          .Flag("--budget-mb"),
  };
}

void CacheConfig::Check(std::string_view name) const {
  CacheConfig copy = *this;
  CheckBounds(name, copy.Fields());
}

}  // namespace cacheinf
