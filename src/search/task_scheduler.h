// Which task gets the next batch: the one whose next batch is expected to save most time of a whole run (after Zheng et
// al., Ansor, OSDI 2020, section 6).
#pragma once
#include <vector>

#include "search/task_search.h"

namespace mcc {

// Index of the task, or -1 when every search is exhausted or given up. `batch`: measurements of one batch. Tasks
// without a batch come first.
int next_task(const std::vector<TaskSearch>& searches, const std::vector<bool>& closed, i64 batch);

}  // namespace mcc
