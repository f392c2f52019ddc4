#ifndef CACHEINF_TESTS_BENCH_MODES_REPLAY_H_
#define CACHEINF_TESTS_BENCH_MODES_REPLAY_H_

#include "tests/bench/mode_course.h"
#include "tests/bench/mode_runner.h"
#include "tests/bench/mode_subject.h"
#include "tests/bench/mode_table.h"

namespace cacheinf {

// Replays the subject's modes through links of all bandwidths, from what its frames cost; then the
// planners' plans and mode cacheinf, for which it measures costs that no mode has.
void ReplayCells(Subject* subject, const RunPlace& place, const ModeCourse& course,
                 ModeTable* table);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_MODES_REPLAY_H_
