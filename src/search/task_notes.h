// Tasks written into the log beside their records (notes of kind "task"), so that a log can be learned from without the
// model it came from.
#pragma once
#include <string>
#include <vector>

#include "records/record.h"
#include "schedule/task.h"

namespace mcc {

void put_tasks(RecordStore& log, const std::vector<Task>& tasks);
// Those that have the key they are kept under: a log from an mcc whose loop programs printed otherwise loses them.
std::vector<Task> noted_tasks(const RecordStore& log);

}  // namespace mcc
