// What an operator is to the compiler: shape inference, lowering to a loop program, and a plain reference. One file per
// family under ops/, one row per operator in that file's table; TEMPLATE.cc is the guide.
//
// Operators here are the Graph's own (docs/OPS.md lists them): named after their newest ONNX form, but everything that
// must be known at compile time (axes, shapes, pads, ...) is an attribute, never an input. The frontend turns constant
// inputs into attributes and refuses models where such an input is not constant.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "loop/loop.h"

namespace mcc {

// How the fusion pass may combine a node with its neighbours.
//   elementwise: output element depends on the (broadcast) input elements at the same position; fuses anywhere
//   anchor:      a contraction, depthwise, pooling, reduction, softmax, normalisation: one per kernel; takes prologues
//                (elementwise/movement producers read once) and elementwise epilogues
//   movement:    output elements are input elements at other places (Transpose, Slice, Pad, ...); may be inlined into
//                a consumer
//   view:        same bytes, other shape (Reshape); costs nothing, never a kernel of its own unless it must copy
//   opaque:      fuses with nothing
enum class FuseKind : u8 { elementwise, anchor, movement, view, opaque };

using Types = std::span<const TensorType>;  // a missing optional input is f32 of shape {-1}; test with is_missing()
inline bool is_missing(const TensorType& type) { return type.shape.size() == 1 && type.shape[0] == -1; }
inline TensorType missing_type() { return {DType::f32, {-1}}; }

struct OpDef {
  std::string_view name;
  FuseKind fuse = FuseKind::opaque;
  int min_inputs = 0, max_inputs = 0;  // max -1: any number
  // Types of all outputs that the op can have (at least node.out.size()), from input types and attributes. Throws Error
  // with the reason, e.g. "axis 4 is outside rank 3".
  std::vector<TensorType> (*infer)(const Node&, Types in) = nullptr;
  // The loop program in algorithm form (loop.h). Parameters: the present inputs in order (Scope::input; constants are
  // made Scope::constant by the caller), then the present outputs (`in` and `out` as infer_types takes and gives).
  // Null: a pass removes the op before lowering, or it only ever folds.
  loop::Func (*lower)(const Node&, Types in, Types out) = nullptr;
  // Plain, slow, trusted. A missing optional input is a null pointer. `out` tensors are allocated, zero-filled; there
  // is one for each of node.out, wanted or not.
  void (*reference)(const Node&, std::span<const Tensor* const> in, std::span<Tensor> out) = nullptr;
};

const OpDef* find_op(std::string_view name);  // null if unknown
std::span<const OpDef* const> all_ops();      // sorted by name

// Convenience over find_op: infer with arity checks; errors are prefixed with describe(node). One type for each of
// node.out; that of an unwanted output (kNone) is missing_type().
std::vector<TensorType> infer_types(const Node& node, Types in);
std::vector<Tensor> evaluate(const Node& node, std::span<const Tensor* const> in, Types in_types);
// The whole graph by references, node by node: what every artifact is compared with. Inputs in graph order.
std::vector<Tensor> evaluate(const Graph& graph, std::span<const Tensor> inputs);

// Family tables, one per file of ops/.
std::span<const OpDef> elementwise_ops();  // unary.cc/binary.cc: Add, Relu, Clip, Cast, Where, ...
std::span<const OpDef> reduce_ops();       // ReduceSum, ..., ArgMax, CumSum
std::span<const OpDef> movement_ops();     // Reshape, Transpose, Slice, Concat, Split, Pad, Expand, Tile, ...
std::span<const OpDef> gather_ops();       // Gather, GatherElements, ScatterElements, ScatterND, OneHot, TopK, ...
std::span<const OpDef> conv_ops();         // Conv, ConvTranspose (attribute layout = "NCHW" | "NHWC")
std::span<const OpDef> pool_ops();         // MaxPool, AveragePool, GlobalAveragePool, LpPool, ... (same attribute)
std::span<const OpDef> matmul_ops();       // MatMul (transA, transB), Gemm, Einsum
std::span<const OpDef> normalize_ops();    // Softmax, LogSoftmax, LayerNormalization, BatchNormalization, LRN, ...
std::span<const OpDef> recurrent_ops();    // LSTM, GRU, RNN
std::span<const OpDef> resize_ops();       // Resize
std::span<const OpDef> sample_ops();       // GridSample, RoiAlign, MaxRoiPool
std::span<const OpDef> select_ops();       // NonZero, Unique, NonMaxSuppression: the number of results is a result too
std::span<const OpDef> attention_ops();    // recognised composites that are one kernel
std::span<const OpDef> quantize_ops();     // QuantizeLinear, DequantizeLinear, ...

}  // namespace mcc
