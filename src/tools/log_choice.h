// What a tuning log says is fastest, as mcc-compile takes it: with the same log mcc-tune makes the same program.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "records/record.h"
#include "schedule/task.h"

namespace mcc {

using Traces = std::map<std::string, Trace>;  // task key -> trace; a task without one gets the default schedule

struct LogChoice {
  Traces traces;
  std::map<std::string, std::string> record_ids;  // task key -> id of the record that the trace comes from
  int not_applicable = 0;                         // tasks of whose traces in the log none can be applied any more
};

// The best trace of each task that still applies.
LogChoice choose_from_log(const RecordStore& log, const std::vector<Task>& tasks);

// Ids of the best records with these traces; where a task has none, with its default trace.
std::map<std::string, std::string> ids_of(const Traces& traces, const RecordStore& log, const std::vector<Task>& tasks);

}  // namespace mcc
