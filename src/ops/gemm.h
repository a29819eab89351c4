// The matrix product that references are made of: plain, in one type (double for floats, u64 for integers, because it
// wraps as they do), and blocked just enough that a whole network's reference takes seconds.
#pragma once
#include <algorithm>

#include "base/base.h"

namespace mcc::ops {

// row[0..n) += the sum over i < 4 of a[i] * b[i][0..n), b row-major with `stride` between its rows.
template <typename T>
inline void add_four_rows(i64 n, const T* a, const T* b, i64 stride, T* __restrict row) {
  const T a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
  const T *b0 = b, *b1 = b + stride, *b2 = b + 2 * stride, *b3 = b + 3 * stride;
  for (i64 j = 0; j < n; j++) row[j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
}

// c[m,n] += a[m,k] * b[k,n], all dense and row-major.
template <typename T>
void gemm(i64 m, i64 n, i64 k, const T* a, const T* b, T* c) {
  constexpr i64 kDepth = 64, kWidth = 512;  // a block of b stays in the second-level cache
  for (i64 k0 = 0; k0 < k; k0 += kDepth)
    for (i64 n0 = 0; n0 < n; n0 += kWidth) {
      i64 depth = std::min(kDepth, k - k0), width = std::min(kWidth, n - n0);
      for (i64 i = 0; i < m; i++) {
        const T* from = a + i * k + k0;
        const T* rows = b + k0 * n + n0;
        T* row = c + i * n + n0;
        i64 p = 0;
        for (; p + 4 <= depth; p += 4) add_four_rows(width, from + p, rows + p * n, n, row);
        for (; p < depth; p++)
          for (i64 j = 0; j < width; j++) row[j] += from[p] * rows[p * n + j];
      }
    }
}

}  // namespace mcc::ops
