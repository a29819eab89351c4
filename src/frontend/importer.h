// What the importer's files share. The walker (onnx_walk.cc) takes ONNX nodes one by one and hands each as an OnnxCall
// to the handler of its operator (onnx_compat.cc has the table); the handler emits nodes of the Graph's own operators
// and returns the values that the ONNX node's outputs stand for. No protobuf type appears here but by forward
// declaration, so that handlers compile quickly.
//
// Folding is eager: emit() evaluates at once whatever has only constant inputs. A handler therefore sees shape
// arithmetic as constants, and turns those of its inputs that the Graph wants as attributes into attributes.
#pragma once
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"

namespace onnx {
class NodeProto;
}

namespace mcc::frontend {

// How much of a value is real whose length along one axis is only known when the model runs: `count`, an i64 scalar.
// The value itself has the largest length there can be. See counted.cc.
struct Counted {
  i64 axis = 0;
  ValueId count = kNone;
};

// Sequences and optionals exist only here: an optional is its element or kEmptyOptional, a sequence is a number below
// that, and what it holds is known. See onnx_sequences.cc.
constexpr ValueId kEmptyOptional = -2;
inline bool is_sequence(ValueId v) { return v < kEmptyOptional; }

// The Graph under construction.
class Builder {
 public:
  Graph graph;
  std::unordered_map<ValueId, Counted> counted;
  std::unordered_set<ValueId> four_bits;  // i8 and u8 values that are 4-bit integers in the model; see four_bits.cc

  ValueId add_sequence(std::vector<ValueId> items);
  const std::vector<ValueId>& sequence(ValueId v) const { return sequences_[at(kEmptyOptional - 1 - v)]; }

  // Copies: what is emitted moves the values they come from.
  TensorType type(ValueId v) const;  // Error for what is no tensor
  Shape shape(ValueId v) const { return type(v).shape; }
  i64 rank(ValueId v) const { return std::ssize(shape(v)); }
  const Tensor* known(ValueId v) const { return v < 0 ? nullptr : graph.value(v).constant.get(); }

  // Appends a node, or its results as constants when all its inputs are constant and the results are of sensible size.
  // Throws Error, with the node's name before it, when the types do not fit.
  std::vector<ValueId> emit(Node node, const std::vector<bool>& wanted);  // kNone for an output that is not wanted
  ValueId constant(const std::string& name, Tensor tensor);

  // Before the import makes a constant that the file does not hold: Error when it, or all of them together, are too
  // large.
  void reserve_constant(const TensorType& type, std::string_view what);

  // `name`, or with a number added when it is taken. Names of the main graph are reserved first and so stay as they
  // are.
  std::string unique(const std::string& name);
  void reserve(const std::string& name) { taken_.emplace(name, 0); }

  // The model inputs that a value is computed from.
  std::vector<std::string> inputs_behind(ValueId v) const;

 private:
  bool worth_folding(const Node& node, const std::vector<TensorType>& out);

  std::unordered_map<std::string, int> taken_;
  std::vector<std::vector<ValueId>> sequences_;
  size_t sequence_items_ = 0;
  i64 folded_bytes_ = 0;
};

using Outputs = std::vector<ValueId>;

// Whether a double, which is what attributes are, holds element i: wide integers beyond 2^53 may be lost, but for their
// type's bounds, which conversion back gives again.
bool is_exact_double(const Tensor& tensor, i64 i);

// One ONNX node, its inputs already values of the graph, its attributes converted (those that hold graphs left out).
struct OnnxCall {
  Builder& builder;
  std::string op, name;
  i64 opset = 0;             // of the node's domain
  std::vector<ValueId> in;   // kNone: missing
  std::vector<bool> wanted;  // outputs that have a name
  Attrs attrs;

  size_t outputs() const { return wanted.size(); }
  bool wants(size_t i) const { return i < wanted.size() && wanted[i]; }

  // Inputs.
  bool has(size_t i) const { return i < in.size() && in[i] != kNone; }
  ValueId input(size_t i) const { return i < in.size() ? in[i] : kNone; }
  ValueId need(size_t i, std::string_view what) const;  // Error when missing
  Shape shape(size_t i) const { return builder.shape(need(i, "input")); }
  i64 rank(size_t i) const { return builder.rank(need(i, "input")); }
  DType dtype(size_t i) const { return builder.type(need(i, "input")).dtype; }
  // Error naming the input and --bind when it is not constant.
  const Tensor& known(size_t i, std::string_view what) const;
  std::vector<i64> known_ints(size_t i, std::string_view what) const;
  i64 known_int(size_t i, std::string_view what) const;        // exactly one element
  double known_number(size_t i, std::string_view what) const;  // likewise; Error when a double cannot hold it

  // A list that older opsets give as attribute `key` and newer ones as input i; `otherwise` when there is neither.
  std::vector<i64> ints_from(size_t i, const std::string& key, std::vector<i64> otherwise = {}) const;
  bool gives(size_t i, const std::string& key) const { return has(i) || attrs.has(key); }

  // Results.
  Outputs emit(std::string new_op, std::vector<ValueId> inputs, Attrs new_attrs = {}, int count = 1) const;
  ValueId emit1(std::string new_op, std::vector<ValueId> inputs, Attrs new_attrs = {}) const {
    return emit(std::move(new_op), std::move(inputs), std::move(new_attrs))[0];
  }
  ValueId constant(Tensor tensor) const { return builder.constant(name, std::move(tensor)); }
  ValueId scalar(DType dtype, double value) const;
  ValueId reshape(ValueId v, Shape shape) const;
  ValueId transpose(ValueId v, std::vector<i64> perm) const;
  ValueId cast(ValueId v, DType dtype) const;
};

void take_inputs(const OnnxCall& call, size_t most);              // Error when there are more
void require_rank(const OnnxCall& call, size_t i, i64 rank);      // Error when input i is missing or of another rank
ValueId positions(const OnnxCall& call, i64 count, Shape shape);  // 0, 1, ..., count-1 of i64 in this shape
ValueId rows_of(const OnnxCall& call, ValueId table, ValueId indices);  // along axis 0

// The list with each entry checked to be `least` .. 2^30, so that window arithmetic stays far from overflow.
std::vector<i64> small_ints(std::vector<i64> values, std::string_view what, i64 least, size_t count);

// The part of v from `start` to `end` along one axis.
ValueId slice(const OnnxCall& call, ValueId v, i64 axis, i64 start, i64 end);

Attrs make_attrs(std::initializer_list<std::pair<const char*, AttrValue>> items);
std::vector<i64> range(i64 n);                                         // 0, 1, ..., n-1
std::vector<i64> normalize_axes(std::vector<i64> axes, i64 rank);      // non-negative, sorted, each once: else Error
void require_possible(const TensorType& type, std::string_view what);  // Error when no machine could hold such a value

using Handler = Outputs (*)(OnnxCall&);
struct OnnxOp {
  std::string_view name;
  Handler import;
  std::string_view attrs;        // the attributes it knows, separated by spaces; any other is refused
  std::string_view limits = "";  // what it asks for or refuses, for docs/ONNX.md
  bool takes_sequences = false;
};
const OnnxOp* find_onnx_op(std::string_view domain, std::string_view name);
std::vector<const OnnxOp*> all_onnx_ops();  // sorted by name

// A table per family.
std::span<const OnnxOp> elementwise_imports();
std::span<const OnnxOp> shape_imports();
std::span<const OnnxOp> move_imports();
std::span<const OnnxOp> gather_imports();
std::span<const OnnxOp> reduce_imports();
std::span<const OnnxOp> conv_imports();
std::span<const OnnxOp> normalize_imports();
std::span<const OnnxOp> recurrent_imports();
std::span<const OnnxOp> resize_imports();
std::span<const OnnxOp> quantize_imports();
std::span<const OnnxOp> sample_imports();
std::span<const OnnxOp> select_imports();
std::span<const OnnxOp> sequence_imports();
std::span<const OnnxOp> signal_imports();
std::span<const OnnxOp> random_imports();
std::span<const OnnxOp> fused_imports();
std::span<const OnnxOp> qlinear_imports();
std::span<const OnnxOp> attention_imports();
std::span<const OnnxOp> embed_imports();
std::span<const OnnxOp> rotary_imports();
std::span<const OnnxOp> group_query_imports();
std::span<const OnnxOp> tree_imports();
std::span<const OnnxOp> ml_imports();

// The plainest handler: same operator, inputs and attributes.
Outputs import_plain(OnnxCall& call);

// The result of an operator, named as in the tables, that a node of another one stands for or contains.
ValueId import_as(const OnnxCall& call, std::string_view op, std::vector<ValueId> in, Attrs attrs = {}, i64 opset = 13);

}  // namespace mcc::frontend
