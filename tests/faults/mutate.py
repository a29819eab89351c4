"""Damages an ONNX model, in one of two ways.

bytes:      the file is cut short, bits flip, bytes are overwritten, a part is left out or doubled. Most of it ends in the
            parser, and in weights.
structure:  the file stays a well-formed protobuf, and what it says becomes wrong or merely odd: attributes get extreme
            values, other types or go; shapes, element types, operators, inputs, opsets and outputs change. That is what
            the importer, the passes and the operators have to answer for.

All randomness comes from the given random.Random: the same seed damages in the same way.
"""
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

EDGES = [-(2 ** 63), -(2 ** 31), -1000, -2, -1, 0, 1, 2, 3, 7, 64, 65536, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 40, 2 ** 62,
         2 ** 63 - 1]
FLOATS = [float("nan"), float("inf"), float("-inf"), -1.0, 0.0, 1.0, 1e-30, 1e30, 3.5]
TYPES = [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.INT8,
         TensorProto.UINT8, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL, TensorProto.STRING,
         TensorProto.UNDEFINED, 99]


def damage_bytes(data, rng):
    data = bytearray(data)
    kind = rng.randrange(6)
    if kind == 0:
        del data[rng.randrange(len(data)):]
    elif kind == 1:
        for _ in range(rng.choice([1, 1, 2, 8, 64])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == 2:  # near the front and the back are the structure, between are the weights
        for _ in range(rng.choice([1, 4])):
            data[rng.randrange(min(600, len(data)))] ^= 1 << rng.randrange(8)
    elif kind == 3:
        at = rng.randrange(len(data))
        data[at: at + rng.randrange(1, 9)] = rng.randbytes(rng.randrange(1, 9))
    elif kind == 4:
        at = rng.randrange(len(data))
        del data[at: at + rng.randrange(1, 40)]
    else:
        at = rng.randrange(len(data))
        data[at:at] = data[at: at + rng.randrange(1, 200)]
    return bytes(data)


def other_int(value, rng):
    nearby = [v for v in (value - 1, value + 1, -value, value * 2) if -(2 ** 63) <= v < 2 ** 63]
    return rng.choice(EDGES + nearby * 4)


def change_list(values, rng, other):
    """Changes, drops or adds one element of a list; an empty one grows."""
    items = list(values)
    kind = rng.randrange(5)
    if not items or kind == 0:
        items.insert(rng.randrange(len(items) + 1), other(items[0] if items else 1, rng))
    elif kind == 1:
        del items[rng.randrange(len(items))]
    else:
        at = rng.randrange(len(items))
        items[at] = other(items[at], rng)
    del values[:]
    values.extend(items)


def graphs_of(graph):
    """A graph and all that its nodes hold."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] * attribute.HasField("g") + list(attribute.graphs):
                yield from graphs_of(inner)


def some_node(model, rng):
    nodes = [n for g in graphs_of(model.graph) for n in g.node]
    return rng.choice(nodes) if nodes else None


def names_of(graph):
    return [o for n in graph.node for o in n.output] + [i.name for i in graph.input] + [t.name for t in graph.initializer]


def change_attribute(model, rng):
    attributes = [a for g in graphs_of(model.graph) for n in g.node for a in n.attribute]
    if not attributes:
        return
    attribute = rng.choice(attributes)
    kind = rng.randrange(8)
    if kind == 0:
        attribute.name = rng.choice(["axis", "axes", "pads", "strides", "to", "mode", "perm", "body", "nothing", ""])
    elif kind == 1:
        attribute.type = rng.choice(list(AttributeProto.AttributeType.values()))
    elif attribute.type == AttributeProto.INT:
        attribute.i = other_int(attribute.i, rng)
    elif attribute.type == AttributeProto.INTS:
        change_list(attribute.ints, rng, other_int)
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = rng.choice(FLOATS)
    elif attribute.type == AttributeProto.STRING:
        attribute.s = rng.choice([b"", b"nothing", b"\xff\n", attribute.s + b"x", b"reflect", b"SAME_UPPER", b"linear"])
    elif attribute.type == AttributeProto.TENSOR:
        change_tensor(attribute.t, rng)


def drop_attribute(model, rng):
    node = some_node(model, rng)
    if node and node.attribute:
        del node.attribute[rng.randrange(len(node.attribute))]


def add_attribute(model, rng):
    node = some_node(model, rng)
    if node is None:
        return
    name = rng.choice(["axis", "axes", "keepdims", "group", "dilations", "pads", "kernel_shape", "to", "perm", "ceil_mode"])
    value = rng.choice(EDGES) if rng.random() < 0.5 else [rng.choice(EDGES) for _ in range(rng.randrange(1, 5))]
    node.attribute.append(onnx.helper.make_attribute(name, value))


def change_tensor(tensor, rng):
    kind = rng.randrange(4)
    if kind == 0:
        tensor.data_type = rng.choice(TYPES)
    elif kind == 1:
        change_list(tensor.dims, rng, other_int)
    else:
        try:
            array = numpy_helper.to_array(tensor).copy()
        except (TypeError, ValueError, KeyError):  # what an earlier change made of it is no array
            return
        if kind == 2 and array.size and array.dtype.kind in "iu":
            info = array.dtype.type(0)
            value = other_int(int(array.flat[0]), rng)
            array.flat[rng.randrange(array.size)] = info if not -(2 ** 31) <= value < 2 ** 31 else array.dtype.type(value % 128)
            if array.dtype.itemsize == 8 and array.dtype.kind == "i":
                array.flat[rng.randrange(array.size)] = value
        elif array.ndim and array.size:
            array = array[: rng.randrange(array.shape[0] + 1)]
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def change_weight(model, rng):
    tensors = [t for g in graphs_of(model.graph) for t in g.initializer]
    if tensors:
        change_tensor(rng.choice(tensors), rng)


def change_type(model, rng):
    values = [v for g in graphs_of(model.graph) for v in [*g.input, *g.output, *g.value_info]]
    if not values:
        return
    value = rng.choice(values)
    tensor = value.type.tensor_type
    kind = rng.randrange(4)
    if kind == 0:
        tensor.elem_type = rng.choice(TYPES)
    elif kind == 1 and tensor.shape.dim:
        dim = rng.choice(tensor.shape.dim)
        dim.dim_value = other_int(dim.dim_value, rng)
    elif kind == 2:
        tensor.shape.dim.add().dim_value = rng.choice([0, 1, 2, 5])
    elif tensor.shape.dim:
        del tensor.shape.dim[rng.randrange(len(tensor.shape.dim))]


def change_operator(model, rng):
    node = some_node(model, rng)
    if node is None:
        return
    others = [s.name for s in onnx.defs.get_all_schemas()] + ["Relu", "Add", "Identity", "Concat", "Reshape"] * 10
    node.op_type = rng.choice(others + ["Nothing", ""])


def change_inputs(model, rng):
    graph = rng.choice(list(graphs_of(model.graph)))
    if not graph.node:
        return
    node = rng.choice(graph.node)
    kind = rng.randrange(5)
    if kind == 0 and node.input:
        del node.input[rng.randrange(len(node.input))]
    elif kind == 1:
        node.input.append(rng.choice(names_of(graph)))
    elif kind == 2 and node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(["", "nothing there"])
    elif kind == 3:
        inputs = list(node.input)
        rng.shuffle(inputs)
        del node.input[:]
        node.input.extend(inputs)
    elif node.input:  # of later nodes too: a cycle
        node.input[rng.randrange(len(node.input))] = rng.choice(names_of(graph))


def change_outputs(model, rng):
    graph = rng.choice(list(graphs_of(model.graph)))
    kind = rng.randrange(4)
    if kind == 0 and graph.output:
        rng.choice(graph.output).name = rng.choice(names_of(graph) or [""])
    elif kind == 1 and graph.output:
        del graph.output[rng.randrange(len(graph.output))]
    elif kind == 2 and graph.node:
        node = rng.choice(graph.node)
        if node.output:
            node.output[rng.randrange(len(node.output))] = rng.choice(["", *names_of(graph)])
    elif graph.node:
        rng.choice(graph.node).output.append("one more")


def change_nodes(model, rng):
    graph = rng.choice(list(graphs_of(model.graph)))
    if not graph.node:
        return
    at = rng.randrange(len(graph.node))
    kind = rng.randrange(3)
    if kind == 0:
        del graph.node[at]
    elif kind == 1:
        graph.node.add().CopyFrom(graph.node[at])
    else:
        graph.node[at].domain = rng.choice(["", "ai.onnx", "com.microsoft", "nowhere"])


def change_opset(model, rng):
    if model.opset_import:
        rng.choice(model.opset_import).version = rng.choice([*range(1, 24), 99, -1, 2 ** 62])


CHANGES = [change_attribute] * 4 + [drop_attribute, add_attribute, change_weight, change_weight, change_type, change_type,
                                    change_operator, change_inputs, change_inputs, change_outputs, change_nodes,
                                    change_opset]


def damage_structure(data, rng):
    model = onnx.ModelProto()
    model.ParseFromString(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        rng.choice(CHANGES)(model, rng)
    return model.SerializeToString()


def damage(data, rng):
    return (damage_bytes if rng.random() < 0.4 else damage_structure)(data, rng)
