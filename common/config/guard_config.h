#ifndef CACHEINF_COMMON_CONFIG_GUARD_CONFIG_H_
#define CACHEINF_COMMON_CONFIG_GUARD_CONFIG_H_

#include <cstdint>
#include <string_view>

#include "common/config/fields.h"

namespace cacheinf {

// How far answers from kept results must agree with dense ones (client/guard.h), each from 0 to 1.
struct LeastAgreement {
  double classes = 0.8;    // share of the answers with the dense answer's best class
  double iou = 0.8;        // mean over a map's classes
  double boxes = 0.8;      // F1
  double keypoints = 0.8;  // share of the keypoints
  double numbers = 0.8;    // 1 - relative error of raw outputs

  FieldTable Fields();
};

// Watching over mode cache by samples that are computed exactly.
struct GuardConfig {
  bool is_on = true;
  double share = 0.02;  // of a dense run's work, what samples may take for each frame
  int samples = 8;      // that an estimate is made of
  int patience = 16;    // good samples in a row before a less safe level is tried
  int64_t seed = 1;     // of the samples' places
  LeastAgreement least;

  // The table lies over this object, which must outlive it.
  FieldTable Fields();

  // Throws InputError that names the key, starting with `name`.
  void Check(std::string_view name) const;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_GUARD_CONFIG_H_
