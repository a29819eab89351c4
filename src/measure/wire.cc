// JSON lines of wire.h.
#include "measure/wire.h"

#include "base/json.h"

namespace mcc {
namespace {

using Json = nlohmann::json;

constexpr const char* kKinds[] = {"reference_ready", "result", "done", "failed", "more"};

Json to_json(const loop::Buffer& buffer) {
  Json json = {{"name", buffer.name},
               {"dtype", name(buffer.dtype)},
               {"shape", buffer.shape},
               {"scope", static_cast<int>(buffer.scope)}};
  if (!buffer.pack.dims.empty()) {
    Json dims = Json::array();
    for (const loop::PackDim& dim : buffer.pack.dims) dims.push_back({dim.axis, dim.scale});
    json["source"] = buffer.pack.source;
    json["winograd"] = buffer.pack.winograd;
    json["pack"] = std::move(dims);
  }
  return json;
}

loop::Buffer buffer_from_json(const Json& json) {
  loop::Buffer buffer;
  buffer.name = json.at("name");
  const auto dtype = dtype_from_name(json.at("dtype").get<std::string>());
  if (!dtype) fail("measuring job: unknown element type");
  buffer.dtype = *dtype;
  buffer.shape = json.at("shape").get<Shape>();
  buffer.scope = static_cast<loop::Scope>(json.at("scope").get<int>());
  if (json.contains("pack")) {
    buffer.pack.source = json.at("source").get<Shape>();
    buffer.pack.winograd = json.at("winograd").get<i64>();
    for (const Json& dim : json.at("pack")) buffer.pack.dims.push_back({dim.at(0).get<int>(), dim.at(1).get<i64>()});
  }
  return buffer;
}

Json to_json(const CandidateJob& candidate) {
  Json params = Json::array();
  for (const loop::Buffer& buffer : candidate.params) params.push_back(to_json(buffer));
  return {{"symbol", candidate.symbol}, {"scratch", candidate.scratch_bytes}, {"params", std::move(params)}};
}

CandidateJob candidate_from_json(const Json& json) {
  CandidateJob candidate;
  candidate.symbol = json.at("symbol");
  candidate.scratch_bytes = json.at("scratch");
  for (const Json& param : json.at("params")) candidate.params.push_back(buffer_from_json(param));
  return candidate;
}

template <typename F>
auto parsed(const char* what, const std::string& line, const F& read) {
  try {
    return read(Json::parse(line));
  } catch (const Json::exception& error) {
    fail("{}: {}", what, error.what());
  }
}

}  // namespace

std::string to_line(const Job& job) {
  Json candidates = Json::array();
  for (const CandidateJob& candidate : job.candidates) candidates.push_back(to_json(candidate));
  return json_text(Json{{"task", job.task},
                        {"library", job.library},
                        {"reference", to_json(job.reference)},
                        {"candidates", std::move(candidates)},
                        {"threads", job.threads},
                        {"best", job.best_seconds},
                        {"warmup", job.warmup_runs},
                        {"repeats", job.repeats},
                        {"passes", job.passes},
                        {"sample", job.min_sample_s},
                        {"stop", job.stop_factor},
                        {"tolerance", job.tolerance},
                        {"cold", job.cold_bytes},
                        {"seed", job.seed}});
}

Job job_from_line(const std::string& line) {
  return parsed("measuring job", line, [](const Json& json) {
    Job job;
    job.task = json.at("task");
    job.library = json.at("library");
    job.reference = candidate_from_json(json.at("reference"));
    for (const Json& candidate : json.at("candidates")) job.candidates.push_back(candidate_from_json(candidate));
    job.threads = json.at("threads");
    job.best_seconds = json.at("best");
    job.warmup_runs = json.at("warmup");
    job.repeats = json.at("repeats");
    job.passes = json.at("passes");
    job.min_sample_s = json.at("sample");
    job.stop_factor = json.at("stop");
    job.tolerance = json.at("tolerance");
    job.cold_bytes = json.at("cold");
    job.seed = json.at("seed");
    return job;
  });
}

std::string to_line(const Reply& reply) {
  Json json = {{"kind", kKinds[static_cast<int>(reply.kind)]}};
  if (reply.kind == Reply::Kind::result) {
    json["outcome"] = name(reply.result.outcome);
    json["seconds"] = reply.result.seconds;
  }
  if (reply.kind == Reply::Kind::more) {
    json["candidate"] = reply.candidate;
    json["seconds"] = reply.result.seconds;
  }
  if (!reply.result.note.empty()) json["note"] = reply.result.note;
  if (reply.kind == Reply::Kind::done) json["clock"] = {reply.clock_before, reply.clock_after};
  return json_text(json);
}

Reply reply_from_line(const std::string& line) {
  return parsed("measuring reply", line, [](const Json& json) {
    Reply reply;
    const std::string kind = json.at("kind");
    for (int k = 0; k < 5; k++) {
      if (kind == kKinds[k]) reply.kind = static_cast<Reply::Kind>(k);
    }
    reply.result.note = json.value("note", "");
    if (reply.kind == Reply::Kind::result) {
      const auto outcome = outcome_from_name(json.at("outcome").get<std::string>());
      if (!outcome) fail("measuring reply: unknown outcome");
      reply.result.outcome = *outcome;
      reply.result.seconds = json.at("seconds").get<std::vector<double>>();
    }
    if (reply.kind == Reply::Kind::more) {
      reply.candidate = json.at("candidate");
      reply.result.seconds = json.at("seconds").get<std::vector<double>>();
    }
    if (reply.kind == Reply::Kind::done) {
      reply.clock_before = json.at("clock").at(0);
      reply.clock_after = json.at("clock").at(1);
    }
    return reply;
  });
}

}  // namespace mcc
