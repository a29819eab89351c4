#include "search/task_notes.h"

#include "base/json.h"
#include "loop/loop_ops.h"

namespace mcc {

void put_tasks(RecordStore& log, const std::vector<Task>& tasks) {
  std::vector<std::pair<std::string, std::string>> notes;
  for (const Task& task : tasks) {
    const nlohmann::ordered_json json = {{"name", task.name},
                                         {"strict", task.strict},
                                         {"warm", task.warm},
                                         {"target", nlohmann::ordered_json::parse(to_json(task.target))},
                                         {"func", loop::print(task.func)}};
    notes.emplace_back(task.key, json_text(json));
  }
  log.put_notes("task", notes);
}

std::vector<Task> noted_tasks(const RecordStore& log) {
  std::vector<Task> tasks;
  for (const auto& [key, text] : log.notes("task")) {
    const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("func") || !json.contains("target")) continue;
    try {
      loop::Func func = loop::parse_func(json["func"].get<std::string>());
      if (!loop::verify(func).empty()) continue;
      Task task = make_task(std::move(func), target_from_json(json["target"].dump()), 1, json.value("strict", false),
                            json.value("warm", false));
      if (task.key == key) tasks.push_back(std::move(task));
    } catch (const Error&) {
      // from an mcc whose loop programs were written otherwise
    } catch (const nlohmann::json::exception&) {
      // not written by mcc
    }
  }
  return tasks;
}

}  // namespace mcc
