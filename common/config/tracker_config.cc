#include "common/config/tracker_config.h"

namespace cacheinf {

FieldTable HomographyConfig::Fields() {
  return {
      Field{"features", MakeChoice(features, {"lucas-kanade", "orb", "akaze"}),
            "What is tracked: corners by optical flow (fast), or keypoints that are described and "
            "matched."}
          .Flag("--features"),
      Field{"most_features", &most_features, "The most features that are tracked."}.Between(16,
                                                                                            4096),
      Field{"working_side", &working_side,
            "Pictures are shrunk by a whole factor until their longer side has about so many "
            "pixels, and tracked at that size."}
          .Between(64, 4096),
      Field{"inlier_pixels", &inlier_pixels,
            "How far from its place a feature may lie and still agree, in pixels of the picture."}
          .Between(0.1, 32),
      Field{"least_inliers", &least_inliers,
            "Share of the features that must agree; with fewer the frame counts as lost."}
          .Between(0, 1),
      Field{"snap_pixels", &snap_pixels,
            "A motion that moves no feature by more pixels of the picture is none at all."}
          .Between(0, 16),
      Field{"least_overlap", &least_overlap,
            "Share of the frame that the reference must show; with less it counts as lost."}
          .Between(0, 1),
      Field{"photometric", &photometric,
            "Whether an even change of light (gain and offset) is looked for and allowed for."},
  };
}

FieldTable BlockMatchingConfig::Fields() {
  return {
      Field{"search", MakeChoice(search, {"diamond", "three-step", "exhaustive", "histogram"}),
            "How a block's best match is looked for; histogram looks nowhere but in place."}
          .Flag("--search"),
      Field{"translation", MakeChoice(translation, {"best", "mean"}),
            "The frame's translation: the blocks' mean, as DeepCache has it, or whichever of mean, "
            "median and none fits the blocks best."},
      Field{"block", &block, "Side of a block in pixels."}.Between(4, 64),
      Field{"psnr", &psnr, "Decibels that the blocks' signal-to-noise ratio must exceed."}.Between(
          0, 100),
      Field{"range", &range, "How far the search goes along each axis, in pixels."}.Between(1, 64),
      Field{"skip", &skip, "Every so many-th row and column of blocks is searched."}.Between(1, 16),
      Field{"reuse", &reuse,
            "Whether the final comparison takes over what the search has computed already."},
  };
}

FieldTable ChangeConfig::Fields() {
  return {
      Field{"rule", MakeChoice(rule, {"difference", "blocks"}),
            "What counts as changed: cells whose mean difference from the aligned reference "
            "reaches \"threshold\", or, as DeepCache matches blocks, cells whose signal-to-noise "
            "ratio against it does not exceed \"psnr\"."},
      Field{"threshold", &threshold,
            "Mean difference of a cell, of full scale, from which on it counts as changed; 0: any "
            "byte that differs."}
          .Between(0, 1)
          .Flag("--threshold"),
      Field{"psnr", &psnr, "Decibels that cells which did not change exceed, by the rule blocks."}
          .Between(0, 100),
      Field{"cell", &cell, "Side in pixels of the cells over which differences are averaged."}
          .Between(1, 64),
      Field{"margin", &margin, "Pixels by which what changed is grown."}.Between(0, 256),
      Field{"block", &block,
            "Side in pixels of the blocks that become active as a whole; 1: single pixels."}
          .Between(1, 64),
  };
}

FieldTable TrackerConfig::Fields() {
  return {
      Field{"kind", MakeChoice(kind, {"homography", "block", "none"}),
            "How a frame is aligned with the reference: by a homography, by one translation of "
            "blocks, or not at all."}
          .Flag("--tracker"),
      Field{"homography", homography.Fields(), "The homography tracker."},
      Field{"blocks", blocks.Fields(), "Block matching."},
      Field{"change", change.Fields(), "Which pixels count as changed."},
  };
}

void TrackerConfig::Check(std::string_view name) const {
  TrackerConfig copy = *this;
  CheckBounds(name, copy.Fields());
}

}  // namespace cacheinf
