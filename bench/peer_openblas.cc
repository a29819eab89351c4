// OpenBLAS as a peer: matrix products and, as products over the pixels, 1x1 convolutions of stride 1. Bias, residual
// and activation follow in one pass over the result, as a program around a BLAS would do it.
#include <cblas.h>
#include <unistd.h>

#include "peer.h"

namespace {

using namespace peer;

// C[m,n] = A[m,k] B[k,n], times `batch`; then the epilogue.
struct Product {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transposed = false;   // B is [n,k]
  bool bias_by_row = false;  // of C, else by column
  std::string activation;
  double low = 0, high = 0;
  Tensor a, b, c, bias, residual;
  bool has_bias = false, has_residual = false;

  Product(const Json& s, int64_t batch_, int64_t m_, int64_t n_, int64_t k_)
      : batch(batch_),
        m(m_),
        n(n_),
        k(k_),
        activation(s.value("activation", "")),
        low(s.value("low", 0.0)),
        high(s.value("high", 0.0)),
        a(batch * m * k),
        b(batch * k * n),
        c(batch * m * n),
        bias(std::max(m, n)),
        residual(batch * m * n),
        has_bias(s.value("bias", false)),
        has_residual(s.value("residual", false)) {
    if (activation == "gelu") no_such_op("Gelu");
  }

  void multiply() {
    for (int64_t i = 0; i < batch; i++) {
      const float *x = a.data() + i * m * k, *y = b.data() + i * k * n;
      float* z = c.data() + i * m * n;
      if (m == 1)
        cblas_sgemv(CblasRowMajor, transposed ? CblasNoTrans : CblasTrans, transposed ? n : k, transposed ? k : n, 1, y,
                    transposed ? k : n, x, 1, 0, z, 1);
      else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasTrans : CblasNoTrans, m, n, k, 1, x, k, y,
                    transposed ? k : n, 0, z, n);
    }
  }

  void finish() {
    if (!has_bias && !has_residual && activation.empty()) return;
    for (int64_t row = 0; row < batch * m; row++) {
      float* z = c.data() + row * n;
      const float* r = residual.data() + row * n;
      if (has_bias) {
        for (int64_t j = 0; j < n; j++) z[j] += bias.data()[bias_by_row ? row % m : j];
      }
      for (int64_t j = 0; has_residual && j < n; j++) z[j] += r[j];
      for (int64_t j = 0; activation == "relu" && j < n; j++) z[j] = std::max(z[j], 0.0f);
      for (int64_t j = 0; activation == "clip" && j < n; j++)
        z[j] = std::min(std::max(z[j], static_cast<float>(low)), static_cast<float>(high));
    }
  }
};

Product product_of(const Json& s) {
  const std::string op = s.at("op");
  if (op == "matmul") {
    Product p(s, s.at("batch"), s.at("m"), s.at("n"), s.at("k"));
    p.transposed = s.at("transposed");
    return p;
  }
  const auto all = [&](const char* key, int64_t value) {
    const Shape list = s.at(key);
    return std::all_of(list.begin(), list.end(), [&](int64_t v) { return v == value; });
  };
  if (op != "conv" || s.at("groups") != 1 || !all("kernel", 1) || !all("strides", 1) || !all("pads", 0)) no_such_op(op);
  const Shape in = s.at("in"), out = s.at("out");
  Product p(s, in[0], out[1], out[2] * out[3], in[1]);
  p.bias_by_row = true;
  return p;
}

// OpenBLAS takes machines newer than itself for old ones; with AVX-512 its kernels for the first such machine are
// right. It reads the variable when it is loaded, so the program starts itself again.
void use_widest_kernels([[maybe_unused]] char** argv) {
#ifdef __AVX512F__
  if (std::getenv("OPENBLAS_CORETYPE")) return;
  setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 1);
  execv("/proc/self/exe", argv);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  use_widest_kernels(argv);
  const Job job = read_job(argc, argv);
  if (job.steps.size() != 1) no_such_op("chain of ops");
  Product p = product_of(job.steps[0]);
  openblas_set_num_threads(job.threads);
  print("OpenBLAS", time_runs([&] { p.multiply(), p.finish(); }, job.seconds));
}
