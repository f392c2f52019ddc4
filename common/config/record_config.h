#ifndef CACHEINF_COMMON_CONFIG_RECORD_CONFIG_H_
#define CACHEINF_COMMON_CONFIG_RECORD_CONFIG_H_

#include <string>

#include "common/config/fields.h"

namespace cacheinf {

// Keeps the last seconds of a run, and writes them when something looks wrong
// (client/record/recorder.h).
struct RecordConfig {
  std::string folder;  // empty: nothing is kept
  double seconds = 5;
  int megabytes = 256;
  int most = 10;  // recordings of a run. Has no key

  // The table lies over this object, which must outlive it.
  FieldTable Fields();
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_RECORD_CONFIG_H_
