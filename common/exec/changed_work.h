#ifndef CACHEINF_COMMON_EXEC_CHANGED_WORK_H_
#define CACHEINF_COMMON_EXEC_CHANGED_WORK_H_

#include <cstdint>

namespace cacheinf {

// Multiply-adds of convolutions and products.
struct ChangedWork {
  int64_t done = 0;
  int64_t of_all = 0;  // of a dense run

  double share() const {
    return of_all == 0 ? 0.0 : static_cast<double>(done) / static_cast<double>(of_all);
  }
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_CHANGED_WORK_H_
