// Instances of the family matmul; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline void add_products(std::vector<OpInstance>& all) {
  const std::vector<std::vector<std::string>> shapes = {
      {"f32[3,4]", "f32[4,5]"},   {"f32[2,3,4]", "f32[4,5]"},     {"f32[2,3,4]", "f32[2,4,5]"},
      {"f32[3,4]", "f32[2,4,5]"}, {"f32[2,1,3,4]", "f32[3,4,2]"}, {"f32[4]", "f32[4,5]"},
      {"f32[3,4]", "f32[4]"},     {"f32[4]", "f32[4]"},           {"f32[4]", "f32[2,4,5]"},
      {"f32[2,3,4]", "f32[4]"},   {"f32[1,1]", "f32[1,1]"},       {"f32[33,70]", "f32[70,9]"},
      {"f16[3,4]", "f16[4,5]"},   {"bf16[3,4]", "bf16[4,5]"},     {"f64[3,4]", "f64[4,5]"},
      {"i32[3,4]", "i32[4,5]"},   {"i64[2,3,4]", "i64[4,5]"},     {"u32[3,4]", "u32[4,5]"},
  };
  for (const auto& in : shapes) all.push_back({"MatMul", {}, in});
  all.push_back({"MatMul", {{"transA", i64{1}}}, {"f32[4,3]", "f32[4,5]"}});
  all.push_back({"MatMul", {{"transB", i64{1}}}, {"f32[2,3,4]", "f32[2,5,4]"}});
  all.push_back({"MatMul", {{"transA", i64{1}}, {"transB", i64{1}}}, {"f32[2,4,3]", "f32[5,4]"}});
  all.push_back({"MatMul", {{"transB", i64{1}}}, {"f32[4]", "f32[5,4]"}});
  all.push_back({"Gemm", {}, {"f32[3,4]", "f32[4,5]"}});
  all.push_back({"Gemm",
                 {{"alpha", 0.5}, {"beta", 2.0}, {"transA", i64{1}}, {"transB", i64{1}}},
                 {"f32[4,3]", "f32[5,4]", "f32[5]"}});
}

inline void add_einsums(std::vector<OpInstance>& all) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> equations = {
      {"ij,jk->ik", {"f32[3,4]", "f32[4,5]"}},
      {"ij,jk", {"f32[3,4]", "f32[4,5]"}},
      {"bij, bjk -> bik", {"f32[2,3,4]", "f32[2,4,5]"}},
      {"...ij,...jk->...ik", {"f32[2,1,3,4]", "f32[3,4,5]"}},
      {"...ii->...i", {"f32[2,3,3]"}},
      {"ii", {"f32[3,3]"}},
      {"ij->ji", {"f32[3,4]"}},
      {"ij->i", {"f32[3,4]"}},
      {"i,i", {"f32[4]", "f32[4]"}},
      {"i,j->ij", {"f32[3]", "f32[4]"}},
      {"bij,bjk,k->bi", {"f32[2,3,4]", "f32[2,4,5]", "f32[5]"}},
      {"bqhd,bkhd->bhqk", {"f32[2,3,2,4]", "f32[2,5,2,4]"}},
      {"ij,jk->ik", {"f16[3,4]", "f16[4,5]"}},
      {"ij,jk->ik", {"i32[3,4]", "i32[4,5]"}},
  };
  for (const auto& [equation, in] : equations) all.push_back({"Einsum", {{"equation", equation}}, in});
}

inline std::vector<OpInstance> matmul_instances() {
  std::vector<OpInstance> all;
  add_products(all);
  add_einsums(all);
  for (const char* input :
       {"f32[2,2]", "f32[3,4,4]", "f32[2,1,3,3] -0.0625..0.0625", "f32[1,1]", "f32[5,5]", "f16[2,3,3]"})
    all.push_back({"Det", {}, {input}, 1, 1e-4});
  all.back().tolerance = 1e-2;
  return all;
}

}  // namespace mcc::testing
