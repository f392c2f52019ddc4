#ifndef CACHEINF_TESTS_RIVALS_RIVAL_TRACKERS_H_
#define CACHEINF_TESTS_RIVALS_RIVAL_TRACKERS_H_

#include <memory>

#include "common/tracker/tracker.h"

// Trackers from the papers' tables that the product does not have.

namespace cacheinf {

// The matchers that DeepCache's Table 4 compares its own with: blocks of 10 pixels, all searched
// within 7 pixels, matches above 20 decibels, and the mean of their shifts. Searches are
// exhaustive, in three steps, or by diamonds. DeepMon's knows no shift: blocks match if their
// histograms of brightness, in 16 levels, differ by a chi-square distance of at most 0.1 of the
// pixels.
enum class Matcher : uint8_t { kDeepMon, kExhaustive, kThreeStep, kDiamond };
std::unique_ptr<Tracker> MakeMatcher(Matcher matcher);

// Keypoints matched by their descriptors, on pictures of at most 320 pixels. CacheInf has AKAZE's.
enum class Keypoints : uint8_t { kOrb, kAkaze };
std::unique_ptr<Tracker> MakeKeypointTracker(Keypoints keypoints);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_RIVALS_RIVAL_TRACKERS_H_
