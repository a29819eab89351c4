// See weights.h. Packing is done in parallel, one job for each (constant, layout); places are given afterwards in the
// order of first use, so the block does not depend on which job ended first.
#include "package/weights.h"

#include <tbb/parallel_for.h>

#include "base/hash.h"
#include "package/views.h"

namespace mcc {
namespace {

struct Job {
  std::shared_ptr<const Tensor> source;
  const loop::Buffer* layout = nullptr;  // null: plain
  Tensor data;
  std::string hash;
};

// What makes two packed forms of one constant the same.
std::string layout_key(ValueId source, const loop::Buffer* layout) {
  std::string key = fmt::format("{}", source);
  if (!layout) return key;
  key += fmt::format(" {} {} w{}", to_string(layout->shape), to_string(layout->pack.source), layout->pack.winograd);
  for (const loop::PackDim& dim : layout->pack.dims) key += fmt::format(" {}*{}", dim.axis, dim.scale);
  return key;
}

std::string_view content(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes()), static_cast<size_t>(tensor.byte_size())};
}

void run(Job& job) {
  job.data = job.layout ? loop::pack_constant(*job.layout, *job.source) : *job.source;
  job.hash = hash_hex(content(job.data));
}

// The values whose data the arguments need, and which job makes each.
struct Jobs {
  std::vector<Job> jobs;
  std::map<std::string, size_t> by_key;
  struct Use {
    std::pair<int, int> call_and_arg;
    size_t job;
    i64 extra;  // bytes from the start of the job's data
  };
  std::vector<Use> uses;
};

Jobs list_jobs(const LoweredModel& model, const std::vector<loop::Func>& scheduled) {
  Jobs all;
  const std::vector<Resolved> resolved = resolve_views(model);
  for (size_t c = 0; c < model.calls.size(); c++) {
    const std::vector<int> params = loop::params(scheduled[c]);
    MCC_CHECK(params.size() == model.calls[c].args.size());
    for (size_t a = 0; a < params.size(); a++) {
      ValueId source = model.calls[c].args[a];
      i64 extra = 0;
      if (!model.graph.value(source).constant) {
        const Resolved& at = resolved[static_cast<size_t>(source)];
        source = at.root;
        extra = at.offset;
      }
      const auto& constant = model.graph.value(source).constant;
      if (!constant) continue;
      const loop::Buffer& buffer = scheduled[c].buffers[static_cast<size_t>(params[a])];
      const loop::Buffer* layout = buffer.pack.dims.empty() ? nullptr : &buffer;
      const auto [found, fresh] = all.by_key.try_emplace(layout_key(source, layout), all.jobs.size());
      if (fresh) all.jobs.push_back({constant, layout, {}, {}});
      all.uses.push_back({{static_cast<int>(c), static_cast<int>(a)}, found->second, extra});
    }
  }
  return all;
}

}  // namespace

WeightBlob collect_weights(const LoweredModel& model, const std::vector<loop::Func>& scheduled) {
  Jobs all = list_jobs(model, scheduled);
  tbb::parallel_for(size_t{0}, all.jobs.size(), [&](size_t j) { run(all.jobs[j]); });

  WeightBlob blob;
  std::map<std::string, i64> by_hash;
  std::vector<i64> offset_of;
  for (Job& job : all.jobs) {
    const auto [found, fresh] = by_hash.try_emplace(fmt::format("{} {}", job.hash, job.data.byte_size()), blob.bytes);
    offset_of.push_back(found->second);
    if (!fresh || job.data.byte_size() == 0) continue;
    blob.pieces.push_back({blob.bytes, std::move(job.data)});
    blob.bytes = round_up(blob.bytes + blob.pieces.back().data.byte_size(), 64);
  }
  for (const Jobs::Use& use : all.uses) blob.offsets[use.call_and_arg] = offset_of[use.job] + use.extra;
  return blob;
}

}  // namespace mcc
