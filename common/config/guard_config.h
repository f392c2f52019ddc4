#ifndef CACHEINF_COMMON_CONFIG_GUARD_CONFIG_H_
#define CACHEINF_COMMON_CONFIG_GUARD_CONFIG_H_

#include "common/config/fields.h"

namespace cacheinf {

// Watches over answers by computing samples exactly (common/guard/guard.h).
struct GuardConfig {
  bool is_on = true;
  double share = 0.05;  // of a dense run's work that samples may take per frame
  double least = 0.9;   // agreement with dense answers, by the measure of the answer's kind

  // The table lies over this object, which must outlive it.
  FieldTable Fields();
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_GUARD_CONFIG_H_
