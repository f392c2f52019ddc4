#ifndef CACHEINF_TESTS_BENCH_MODES_LIVE_H_
#define CACHEINF_TESTS_BENCH_MODES_LIVE_H_

#include <vector>

#include "tests/bench/mode_course.h"
#include "tests/bench/mode_runner.h"
#include "tests/bench/mode_subject.h"
#include "tests/bench/mode_table.h"

namespace cacheinf {

// Runs the subjects' modes over emulated links, the fastest first; raw pictures only over that.
// `quick`: only yolov5n over 20 Mbit/s with the first server. Returns how many cells were left out
// because time was up.
int RunLiveCells(const std::vector<Subject>& subjects, bool quick, const RunPlace& place,
                 const ModeCourse& course, ModeTable* table);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_MODES_LIVE_H_
