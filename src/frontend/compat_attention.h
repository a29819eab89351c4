// What the kinds of attention share; see compat_attention.cc and, for rotation, compat_rotary.cc.
#pragma once
#include "frontend/importer.h"

namespace mcc::frontend {

// Values [batch, length, heads * size] and [batch, heads, length, size], one as the other.
ValueId split_heads(const OnnxCall& call, ValueId v, i64 heads);
ValueId merge_heads(const OnnxCall& call, ValueId v);

constexpr size_t kBatch = 0, kHeads = 1, kLength = 2, kSize = 3;

// q, k and v, each [batch, heads, length, size].
struct Heads {
  ValueId q, k, v;
};

struct Scores {
  double scale = 1, softcap = 0;
  std::vector<ValueId> added;  // after the cap; each broadcasts to [batch, heads, queries, keys]
};

ValueId attend(const OnnxCall& call, const Heads& h, const Scores& scores);  // softmax(scores) v

double scale_of(const OnnxCall& call, const Heads& h);               // attribute 'scale', by default 1 / sqrt(size)
ValueId kept(const OnnxCall& call, ValueId keep, DType dtype);       // what is added: 0, or -infinity as good as
ValueId repeated_heads(const OnnxCall& call, ValueId v, i64 times);  // each head `times` times
std::vector<ValueId> parts(const OnnxCall& call, ValueId v, const std::vector<i64>& sizes);  // along the last axis

// The angles that turn pairs of numbers: cosines and sines, each [1 or batch, steps, pairs].
struct Angles {
  ValueId cos, sin;
};
Angles angles_at(const OnnxCall& call, const Angles& table, ValueId places);  // table [positions, pairs]
// x [batch, heads, steps, size]: of each head the first `rotary` numbers, in pairs (a, b), become
// (a cos - b sin, a sin + b cos). Pairs are neighbours when interleaved, else the same places of two halves.
ValueId rotated(const OnnxCall& call, ValueId x, i64 rotary, Angles angles, bool interleaved);

}  // namespace mcc::frontend
