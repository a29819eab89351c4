// Everything an artifact is made of, decided; what the writers of the different forms (table, C source, manifest,
// header) read.
#pragma once
#include "package/kernels.h"
#include "package/weights.h"
#include "runtime/mcc_runtime.h"

namespace mcc {

struct Contents {
  LoweredModel model;
  PackageOptions options;
  std::string name;  // options.model_name as a C identifier
  Kernels kernels;
  MemoryPlan plan;
  WeightBlob weights;
};

std::string table_symbol(const Contents&);  // of the mcc_model
std::string weights_symbol(const Contents&);

// One step of the model: call number c's kernel and where its arguments are.
std::vector<mcc_location> locations(const Contents&, size_t call);
int max_args(const Contents&);

// The number that the tables and the manifest give values[i], of the graph's inputs or outputs: that of the model file.
int tensor_number(const Graph& graph, const std::vector<ValueId>& values, size_t i);

}  // namespace mcc
