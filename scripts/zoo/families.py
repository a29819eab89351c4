"""Small networks of families, sizes and exporters' habits that the zoo of standard topologies does not have.

They are for being right, not for being fast: each is a few kernels of many kinds at odd sizes, and is written the way
some exporter writes it (NHWC with transposes, shape arithmetic at run time, masks from comparisons, QDQ pairs, ...).
"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .classical import CLASSICAL
from .draft import F16, F32, I64, Draft
from .runtime import RUNTIME
from .windows import windows


# -- images ----------------------------------------------------------------------------------------------------------

def densenet(n):
    """DenseNet-BC: BatchNormalization before convolutions, concatenation, average-pool transitions."""
    x, c = n.conv(n.input("x", [1, 3, 50, 46]), 3, 16, 3, bias=False), 16
    for block in range(2):
        for _ in range(4):
            y = n.conv(n.relu(n.bn(x, c)), c, 32, 1, bias=False)
            y = n.conv(n.relu(n.bn(y, 32)), 32, 12, 3, bias=False)
            x, c = n.op("Concat", x, y, axis=1), c + 12
        x = n.conv(n.relu(n.bn(x, c)), c, c // 2, 1, bias=False)
        x, c = n.op("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2]), c // 2
    y = n.op("Flatten", n.op("GlobalAveragePool", n.relu(n.bn(x, c))))
    n.output(n.op("Gemm", y, n.w(10, c), n.w(10), transB=1), "logits")


def shufflenet(n):
    """ShuffleNet v2: halves of the channels, depthwise convolutions, channel shuffle by transposition."""
    x, c = n.conv(n.input("x", [1, 3, 64, 56]), 3, 24, 3, s=2), 24
    for s in (2, 1, 1):
        if s == 2:
            a = n.conv(n.conv(x, c, c, 3, s=2, g=c), c, c, 1)
            b, out = x, 2 * c
        else:
            a, b = n.op("Split", x, n.ints(c // 2, c // 2), outs=2, axis=1)
            out = c
        half = out // 2
        b = n.relu(n.conv(b, half, half, 1))
        b = n.relu(n.conv(n.conv(b, half, half, 3, s=s, g=half), half, half, 1))
        x, c = n.op("Concat", a, b, axis=1), out
        h, w = 16, 14
        x = n.op("Transpose", n.reshape(x, 1, 2, c // 2, h, w), perm=[0, 2, 1, 3, 4])
        x = n.reshape(x, 1, -1, h, w)
    n.output(n.op("ReduceMean", n.relu(n.conv(x, c, 40, 1)), axes=[2, 3], keepdims=0), "features")


def unet(n):
    """U-Net: transposed convolutions up, skips joined."""
    x, skips, c = n.input("x", [1, 2, 48, 40]), [], 2
    for level in (8, 16):
        x = n.relu(n.conv(n.relu(n.conv(x, c, level, 3)), level, level, 3))
        skips.append((x, level))
        x, c = n.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), level
    x = n.relu(n.conv(x, 16, 32, 3))
    for (skip, level), c in zip(reversed(skips), (32, 16)):
        x = n.op("ConvTranspose", x, n.w(c, level, 2, 2, fan=c), n.w(level, fan=100), kernel_shape=[2, 2],
                 strides=[2, 2])
        x = n.op("Concat", skip, x, axis=1)
        x = n.relu(n.conv(x, 2 * level, level, 3))
    n.output(n.op("Softmax", n.conv(x, 8, 5, 1), axis=1), "classes")


def convnext(n):
    """ConvNeXt: 7x7 depthwise, then channels last through LayerNorm and two linear layers, and back."""
    x = n.conv(n.input("x", [1, 3, 60, 44]), 3, 24, 4, s=4, pad=[0] * 4)
    for _ in range(3):
        y = n.op("Transpose", n.conv(x, 24, 24, 7, g=24), perm=[0, 2, 3, 1])
        y = n.linear(n.gelu(n.linear(n.layernorm(y, 24), 24, 96)), 96, 24)
        y = n.op("Transpose", n.op("Mul", y, n.near(24, at=0.5)), perm=[0, 3, 1, 2])
        x = n.op("Add", x, y)
    y = n.layernorm(n.op("ReduceMean", x, axes=[-2, -1], keepdims=0), 24)
    n.output(n.linear(y, 24, 7), "logits")


def efficientnet_se(n):
    """MBConv blocks with squeeze and excitation and SiLU."""
    x, c = n.silu(n.bn(n.conv(n.input("x", [1, 3, 65, 49]), 3, 16, 3, s=2, bias=False), 16)), 16
    for cout, k, s in ((24, 3, 2), (24, 5, 1), (40, 5, 2)):
        y = n.silu(n.bn(n.conv(x, c, 4 * c, 1, bias=False), 4 * c))
        y = n.silu(n.bn(n.conv(y, 4 * c, 4 * c, k, s=s, g=4 * c, bias=False), 4 * c))
        gate = n.conv(n.silu(n.conv(n.op("GlobalAveragePool", y), 4 * c, c // 4, 1)), c // 4, 4 * c, 1)
        y = n.bn(n.conv(n.op("Mul", y, n.op("Sigmoid", gate)), 4 * c, cout, 1, bias=False), cout)
        x, c = n.op("Add", x, y) if cout == c else y, cout
    n.output(n.op("Flatten", n.op("GlobalAveragePool", x)), "features")


def inception(n):
    """Inception v3 pieces: asymmetric kernels, average pools that leave padding out, odd sizes."""
    x = n.relu(n.conv(n.input("x", [1, 3, 75, 75]), 3, 16, 3, s=2, pad=[0] * 4))
    x = n.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    for _ in range(2):
        a = n.relu(n.conv(x, 16, 6, 1))
        b = n.relu(n.conv(n.relu(n.conv(n.relu(n.conv(x, 16, 5, 1)), 5, 5, (1, 7))), 5, 6, (7, 1)))
        p = n.op("AveragePool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4, count_include_pad=0)
        x = n.op("Concat", a, b, n.relu(n.conv(p, 16, 4, 1)), axis=1)
    x = n.op("LRN", x, size=5, alpha=1e-3, beta=0.75, bias=1.0)
    n.output(n.op("LpPool", x, kernel_shape=[3, 3], strides=[3, 3], p=2), "features")


def resnext(n):
    """Grouped convolutions, batch of two, dilated last stage."""
    x, c = n.relu(n.conv(n.input("x", [2, 3, 41, 33]), 3, 32, 7, s=2)), 32
    for d in (1, 2):
        y = n.relu(n.conv(n.relu(n.conv(x, c, 64, 1)), 64, 64, 3, g=16, d=d))
        x = n.relu(n.op("Add", n.conv(x, c, 48, 1), n.conv(y, 64, 48, 1)))
        c = 48
    n.output(n.op("ReduceMax", x, axes=[2, 3], keepdims=0), "features")


def style(n):
    """Style transfer: reflection padding, InstanceNormalization, nearest upsampling, deep residuals."""
    x = n.op("Pad", n.input("x", [1, 3, 33, 29]), n.ints(0, 0, 4, 4, 0, 0, 4, 4), mode="reflect")
    def block(x, cin, cout, k, s=1):
        x = n.op("Pad", x, n.ints(0, 0, k // 2, k // 2, 0, 0, k // 2, k // 2), mode="reflect")
        x = n.conv(x, cin, cout, k, s=s, pad=[0] * 4)
        return n.op("InstanceNormalization", x, n.near(cout), n.near(cout, at=0))
    x = n.relu(block(n.relu(block(x, 3, 8, 9)), 8, 16, 3, s=2))
    for _ in range(2):
        x = n.op("Add", x, block(n.relu(block(x, 16, 16, 3)), 16, 16, 3))
    x = n.op("Resize", x, "", n.const(np.array([1, 1, 2, 2], F32)), mode="nearest",
             coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    n.output(n.op("Tanh", n.conv(n.relu(block(x, 16, 8, 3)), 8, 3, 9)), "image")


def superres(n):
    """ESPCN: convolutions at low resolution and depth to space."""
    x = n.op("Tanh", n.conv(n.input("x", [1, 1, 37, 53]), 1, 24, 5))
    x = n.op("Tanh", n.conv(x, 24, 12, 3))
    n.output(n.op("DepthToSpace", n.conv(x, 12, 9, 3), blocksize=3, mode="CRD"), "image")


def autoencoder(n):
    """Strided convolutions down, transposed ones with output padding up."""
    x = n.relu(n.conv(n.relu(n.conv(n.input("x", [1, 1, 28, 28]), 1, 8, 3, s=2)), 8, 16, 3, s=2))
    z = n.op("Gemm", n.op("Flatten", x), n.w(12, 784), n.w(12, fan=100), transB=1)
    x = n.reshape(n.op("Gemm", z, n.w(12, 784, fan=12), n.w(784, fan=100)), -1, 16, 7, 7)
    for cin, cout in ((16, 8), (8, 1)):
        x = n.op("ConvTranspose", x, n.w(cin, cout, 3, 3, fan=3 * cin), n.w(cout, fan=100), kernel_shape=[3, 3],
                 strides=[2, 2], pads=[1] * 4, output_padding=[1, 1])
        x = n.relu(x) if cout > 1 else n.op("Sigmoid", x)
    n.output(x, "image")
    n.output(z, "code")


def generator(n):
    """DCGAN: latent vector to image by transposed convolutions and batch norms."""
    x, c = n.input("z", [2, 20, 1, 1]), 20
    for cout, k, s, p in ((24, 4, 1, 0), (12, 4, 2, 1), (3, 5, 3, 1)):
        x = n.op("ConvTranspose", x, n.w(c, cout, k, k, fan=c * k), kernel_shape=[k, k], strides=[s, s], pads=[p] * 4)
        x = n.op("LeakyRelu", n.bn(x, cout), alpha=0.2) if cout > 3 else n.op("Tanh", x)
        c = cout
    n.output(x, "image")


def pyramid(n):
    """Feature pyramid at odd sizes: linear resizing to the size of another tensor, found at run time."""
    x, levels, c = n.input("x", [1, 3, 67, 51]), [], 3
    for cout in (8, 12, 16):
        x, c = n.relu(n.conv(x, c, cout, 3, s=2)), cout
        levels.append((x, c))
    top = n.conv(levels[-1][0], 16, 10, 1)
    for i, (x, c) in enumerate(reversed(levels[:-1])):
        side = n.conv(x, c, 10, 1)
        size = n.op("Concat", n.ints(1, 10), n.op("Slice", n.op("Shape", x), n.ints(2), n.ints(4)), axis=0)
        up = n.op("Resize", top, "", "", size, mode="linear",
                  coordinate_transformation_mode=["align_corners", "pytorch_half_pixel"][i])
        top = n.op("Add", side, up)
    n.output(n.conv(top, 10, 4, 3), "heat")


def ssd(n):
    """Detection heads on three scales, joined, decoded with strided slices; two outputs."""
    x, c, boxes, scores = n.input("x", [1, 3, 70, 54]), 3, [], []
    for cout in (16, 24, 32):
        x, c = n.relu(n.conv(x, c, cout, 3, s=2)), cout
        for width, into in ((4, boxes), (5, scores)):
            head = n.op("Transpose", n.conv(x, c, 3 * width, 3), perm=[0, 2, 3, 1])
            into.append(n.reshape(head, 1, -1, width))
    b = n.op("Concat", *boxes, axis=1)
    parts = [n.op("Slice", b, n.ints(i), n.ints(2 ** 31), n.ints(2), n.ints(4)) for i in range(4)]
    half = [n.op("Mul", n.op("Exp", p), n.f(0.5)) for p in parts[2:]]
    corners = [n.op(op, c, h) for op in ("Sub", "Add") for c, h in zip(parts[:2], half)]
    n.output(n.op("Clip", n.op("Concat", *corners, axis=-1), n.f(-3), n.f(3)), "boxes")
    n.output(n.op("Softmax", n.op("Concat", *scores, axis=1), axis=2), "scores")


def keras(n):
    """As tf2onnx writes Keras: NHWC input, a transposition on each side of every convolution, bias as its own Add."""
    x, c = n.input("x:0", [1, 39, 45, 3]), 3
    for i, (cout, s) in enumerate(((8, 2), (16, 1), (16, 2))):
        y = n.op("Transpose", x, perm=[0, 3, 1, 2])
        if s == 2:
            y = n.op("Pad", y, n.ints(0, 0, 0, 0, 0, 0, 1, 1))
        y = n.op("Conv", y, n.w(cout, c, 3, 3, gain=1.4), kernel_shape=[3, 3], strides=[s, s],
                 auto_pad="VALID" if s == 2 else "SAME_UPPER")
        y = n.op("Add", n.op("Transpose", y, perm=[0, 2, 3, 1]), n.w(cout, fan=100))
        y = n.op("Min", n.op("Max", y, n.f(0)), n.f(6)) if i else n.op("LeakyRelu", y, alpha=0.3)
        x, c = y, cout
    y = n.op("Transpose", n.op("Transpose", x, perm=[0, 3, 1, 2]), perm=[0, 2, 3, 1])
    y = n.op("Squeeze", n.op("ReduceMean", y, axes=[1, 2], keepdims=1), n.ints(1, 2))
    n.output(n.op("Softmax", n.linear(y, 16, 6)), "Identity:0")


def qdq(n):
    """Quantised as ONNX Runtime's tools write it: QDQ around convolutions, weights by channel."""
    def fake(x, scale, zero=128):
        q = n.op("QuantizeLinear", x, n.f(scale), n.const(np.uint8(zero)))
        return n.op("DequantizeLinear", q, n.f(scale), n.const(np.uint8(zero)))
    def weights(*shape):
        w = n.const(n.rng.randint(-127, 128, shape).astype(np.int8))
        scale = n.near(shape[0], at=0.02 / np.sqrt(np.prod(shape[1:])), spread=0.004 / np.sqrt(np.prod(shape[1:])))
        return n.op("DequantizeLinear", w, scale, n.const(np.zeros(shape[0], np.int8)), axis=0)
    x = fake(n.input("x", [1, 3, 26, 22]), 0.008)
    x = fake(n.relu(n.op("Conv", x, weights(12, 3, 3, 3), pads=[1] * 4)), 0.02, 0)
    y = fake(n.op("Conv", x, weights(12, 1, 3, 3), pads=[1] * 4, group=12), 0.03)
    x = fake(n.op("Add", x, fake(n.op("Conv", y, weights(12, 12, 1, 1)), 0.031)), 0.0427)
    y = n.op("Flatten", n.op("GlobalAveragePool", x))
    n.output(n.op("Gemm", y, weights(5, 12), transB=1), "logits")


# -- sequences -------------------------------------------------------------------------------------------------------

def gru(n):
    """Embedding, bidirectional GRU, maximum over time."""
    x = n.op("Gather", n.w(100, 16, fan=1), n.input("ids", [2, 19], TensorProto.INT64))
    x = n.op("Transpose", x, perm=[1, 0, 2])
    y, last = n.op("GRU", x, n.w(2, 60, 16, fan=16), n.w(2, 60, 20, fan=20), n.w(2, 120, fan=100), outs=2,
                   hidden_size=20, direction="bidirectional", linear_before_reset=1)
    y = n.reshape(n.op("Transpose", y, perm=[0, 2, 1, 3]), 19, 2, 40)
    n.output(n.linear(n.op("ReduceMax", y, axes=[0], keepdims=0), 40, 3), "logits")
    n.output(last, "state")


def bilstm(n):
    """Two bidirectional LSTM layers with initial states, a tag for each step."""
    x, c = n.input("x", [13, 2, 24]), 24
    for layer in range(2):
        zero = n.op("ConstantOfShape", n.op("Concat", n.ints(2), n.op("Slice", n.op("Shape", x), n.ints(1), n.ints(2)),
                                            n.ints(18), axis=0), value=numpy_helper.from_array(np.array([0.1], F32)))
        y, h, state = n.op("LSTM", x, n.w(2, 72, c, fan=c), n.w(2, 72, 18, fan=18), n.w(2, 144, fan=100), "", zero,
                           zero, outs=3, hidden_size=18, direction="bidirectional")
        x, c = n.reshape(n.op("Transpose", y, perm=[0, 2, 1, 3]), 0, 0, -1), 36
    n.output(n.op("LogSoftmax", n.linear(x, 36, 9), axis=-1), "tags")
    n.output(n.op("Concat", h, state, axis=2), "states")


def scan(n):
    """A recurrent cell written with Scan, reading a value of the outer graph."""
    info = helper.make_tensor_value_info
    w = n.w(10, 10, fan=10)
    body = helper.make_graph(
        [helper.make_node("MatMul", ["h", w], ["hw"]), helper.make_node("Add", ["hw", "x_t"], ["s"]),
         helper.make_node("Tanh", ["s"], ["h_out"]), helper.make_node("Relu", ["h_out"], ["y_t"])], "cell",
        [info("h", TensorProto.FLOAT, [3, 10]), info("x_t", TensorProto.FLOAT, [3, 10])],
        [info("h_out", TensorProto.FLOAT, [3, 10]), info("y_t", TensorProto.FLOAT, [3, 10])])
    h, y = n.op("Scan", np.zeros((3, 10), F32), n.input("x", [7, 3, 10]), outs=2, body=body, num_scan_inputs=1)
    n.output(h, "state")
    n.output(y, "steps")


def tcn(n):
    """Causal dilated 1-D convolutions, padded in front, with PRelu and residuals."""
    x, c = n.input("x", [1, 6, 101]), 6
    for d in (1, 2, 4, 8):
        y = n.op("Pad", x, n.ints(0, 0, 2 * d, 0, 0, 0))
        y = n.op("PRelu", n.conv(y, c, 16, 3, d=d, pad=[0, 0], rank=1), n.near(16, 1, at=0.2))
        x, c = n.op("Add", y, x if c == 16 else n.conv(x, c, 16, 1, rank=1)), 16
    n.output(n.op("AveragePool", x, kernel_shape=[4], strides=[3], pads=[1, 2], count_include_pad=1), "features")


def wavenet(n):
    """Gated dilated convolutions, the sum of skips."""
    x, skips = n.conv(n.input("x", [1, 1, 90]), 1, 12, 1, rank=1), []
    for d in (1, 2, 4, 8, 16):
        both = n.conv(x, 12, 24, 2, d=d, pad=[d, 0], rank=1)
        a, b = n.op("Split", both, outs=2, axis=1)
        y = n.op("Mul", n.op("Tanh", a), n.op("Sigmoid", b))
        skips.append(n.conv(y, 12, 20, 1, rank=1))
        x = n.op("Add", x, n.conv(y, 12, 12, 1, rank=1))
    y = n.relu(n.op("Sum", *skips))
    n.output(n.op("Softmax", n.conv(y, 20, 32, 1, rank=1), axis=1), "samples")


def gpt(n):
    """GPT-2: causal mask from positions at run time, one product for q, k and v, tanh GELU, tied output weights."""
    table = n.w(90, 32, fan=4)
    ids = n.input("ids", [1, 17], TensorProto.INT64)
    length = n.op("Gather", n.op("Shape", ids), n.const(I64(1)))
    steps = n.op("Range", n.const(I64(0)), length, n.const(I64(1)))
    later = n.op("Less", n.op("Unsqueeze", steps, n.ints(1)), n.op("Unsqueeze", steps, n.ints(0)))
    x = n.op("Add", n.op("Gather", table, ids), n.op("Gather", n.w(64, 32, fan=4), steps))
    for _ in range(2):
        qkv = n.linear(n.layernorm(x, 32), 32, 96)
        q, k, v = [n.heads(part, 4, 8) for part in n.op("Split", qkv, n.ints(32, 32, 32), outs=3, axis=2)]
        bias = n.op("Where", later, n.f(-1e9), n.f(0))
        y = n.op("Reshape", n.attention(q, k, v, 8, bias), n.op("Shape", x))
        x = n.op("Add", x, n.linear(y, 32, 32))
        y = n.linear(n.layernorm(x, 32), 32, 128)
        cubic = n.op("Add", y, n.op("Mul", n.op("Pow", y, n.f(3)), n.f(0.044715)))
        gate = n.op("Add", n.op("Tanh", n.op("Mul", cubic, n.f(0.7978845608))), n.f(1))
        x = n.op("Add", x, n.linear(n.op("Mul", n.op("Mul", y, n.f(0.5)), gate), 128, 32))
    n.output(n.op("MatMul", n.layernorm(x, 32), n.op("Transpose", table, perm=[1, 0])), "logits", rank=3)


def t5(n):
    """T5: root-mean-square norm, attention bias by buckets of distance (logarithms and comparisons at run time)."""
    def rms(x):
        mean = n.op("ReduceMean", n.op("Pow", x, n.f(2)), axes=[-1])
        return n.op("Mul", n.op("Div", x, n.op("Sqrt", n.op("Add", mean, n.f(1e-6)))), n.near(24))
    x = n.input("x", [1, 21, 24])
    steps = n.op("Range", n.const(I64(0)), n.op("Squeeze", n.op("Slice", n.op("Shape", x), n.ints(1), n.ints(2))),
                 n.const(I64(1)))
    distance = n.op("Sub", n.op("Unsqueeze", steps, n.ints(0)), n.op("Unsqueeze", steps, n.ints(1)))
    side = n.op("Mul", n.op("Cast", n.op("Greater", distance, n.const(I64(0))), to=TensorProto.INT64), n.const(I64(8)))
    size = n.op("Abs", distance)
    scaled = n.op("Log", n.op("Div", n.op("Cast", size, to=TensorProto.FLOAT), n.f(4)))
    large = n.op("Add", n.op("Cast", n.op("Mul", scaled, n.f(4 / np.log(8))), to=TensorProto.INT64), n.const(I64(4)))
    large = n.op("Min", large, n.const(I64(7)))
    bucket = n.op("Add", side, n.op("Where", n.op("Less", size, n.const(I64(4))), size, large))
    bias = n.op("Unsqueeze", n.op("Transpose", n.op("Gather", n.w(16, 3, fan=1), bucket), perm=[2, 0, 1]), n.ints(0))
    for _ in range(2):
        y = rms(x)
        q, k, v = [n.heads(n.op("MatMul", y, n.w(24, 24)), 3, 8) for _ in range(3)]
        x = n.op("Add", x, n.op("MatMul", n.reshape(n.attention(q, k, v, 8, bias), 0, -1, 24), n.w(24, 24)))
        y = rms(x)
        gate = n.op("MatMul", y, n.w(24, 48, fan=24))
        gated = n.op("Mul", n.gelu(gate), n.op("MatMul", y, n.w(24, 48, fan=24)))
        x = n.op("Add", x, n.op("MatMul", gated, n.w(48, 24)))
    n.output(rms(x), "states")


def cross(n):
    """Encoder and decoder states met by Einsum attention, with a boolean padding mask."""
    q = n.op("Einsum", n.input("x", [2, 9, 16]), n.w(16, 4, 6, fan=16), equation="bsd,dhk->bshk")
    memory = n.input("memory", [2, 14, 20])
    k = n.op("Einsum", memory, n.w(20, 4, 6, fan=20), equation="bsd,dhk->bshk")
    v = n.op("Einsum", memory, n.w(20, 4, 6, fan=20), equation="bsd,dhk->bshk")
    scores = n.op("Einsum", q, k, equation="bqhk,bshk->bhqs")
    keep = n.op("Cast", n.input("mask", [2, 14], TensorProto.INT64), to=TensorProto.BOOL)
    keep = n.op("Unsqueeze", keep, n.ints(1, 2))
    scores = n.op("Where", keep, scores, n.f(-3.4e38))
    y = n.op("Einsum", n.op("Softmax", scores, axis=3), v, equation="bhqs,bshk->bqhk")
    n.output(n.op("Einsum", y, n.w(4, 6, 16, fan=24), equation="bqhk,hkd->bqd"), "y")


# -- others ----------------------------------------------------------------------------------------------------------

def video(n):
    """3-D convolutions and pools."""
    x = n.relu(n.conv(n.input("x", [1, 3, 9, 20, 18]), 3, 8, 3, rank=3))
    x = n.op("MaxPool", x, kernel_shape=[1, 2, 2], strides=[1, 2, 2])
    x = n.relu(n.conv(x, 8, 12, (3, 1, 1), s=2, rank=3, pad=[1, 0, 0, 1, 0, 0]))
    x = n.op("AveragePool", x, kernel_shape=[2, 2, 2], strides=[2, 2, 2], ceil_mode=1)
    n.output(n.op("Flatten", n.op("GlobalMaxPool", n.relu(n.conv(x, 12, 16, 3, g=4, rank=3)))), "features")


def pointnet(n):
    """PointNet: shared layers over points, a maximum over them, a predicted transformation."""
    x = n.input("x", [1, 3, 150])
    def features(x, cin, widths):
        for c in widths:
            x, cin = n.relu(n.bn(n.conv(x, cin, c, 1, rank=1), c)), c
        return n.op("ReduceMax", x, axes=[2], keepdims=0)
    t = n.linear(features(x, 3, (16, 32)), 32, 9, gain=0.3)
    t = n.op("Add", n.reshape(t, -1, 3, 3), np.eye(3, dtype=F32)[None])
    x = n.op("Transpose", n.op("MatMul", n.op("Transpose", x, perm=[0, 2, 1]), t), perm=[0, 2, 1])
    n.output(n.op("LogSoftmax", n.linear(features(x, 3, (16, 48)), 48, 5), axis=1), "classes")


def mixer(n):
    """MLP-Mixer: linear layers over channels and, transposed, over patches."""
    x = n.conv(n.input("x", [1, 3, 40, 48]), 3, 24, 8, s=8, pad=[0] * 4)
    x = n.op("Transpose", n.reshape(x, 1, 24, -1), perm=[0, 2, 1])
    for _ in range(2):
        y = n.op("Transpose", n.layernorm(x, 24), perm=[0, 2, 1])
        y = n.linear(n.gelu(n.linear(y, 30, 16)), 16, 30)
        x = n.op("Add", x, n.op("Transpose", y, perm=[0, 2, 1]))
        x = n.op("Add", x, n.linear(n.gelu(n.linear(n.layernorm(x, 24), 24, 64)), 64, 24))
    n.output(n.linear(n.op("ReduceMean", n.layernorm(x, 24), axes=[1], keepdims=0), 24, 10), "logits")


def swin(n):
    """Swin: windows cut out by reshapes and transpositions, cyclic shift by slices, attention bias and mask."""
    h = w = 8
    win, c = 4, 24
    x = n.input("x", [1, h * w, c])
    for shift in (0, 2):
        y = n.reshape(n.layernorm(x, c), 1, h, w, c)
        def roll(y, by):
            for axis in (1, 2):
                a = n.op("Slice", y, n.ints(by), n.ints(2 ** 40), n.ints(axis))
                y = n.op("Concat", a, n.op("Slice", y, n.ints(0), n.ints(by), n.ints(axis)), axis=axis)
            return y
        y = roll(y, shift) if shift else y
        y = n.op("Transpose", n.reshape(y, 1, h // win, win, w // win, win, c), perm=[0, 1, 3, 2, 4, 5])
        y = n.linear(n.reshape(y, -1, win * win, c), c, 3 * c)
        y = n.op("Transpose", n.reshape(y, -1, win * win, 3, 3, c // 3), perm=[2, 0, 3, 1, 4])
        q, k, v = [n.op("Gather", y, n.const(I64(i)), axis=0) for i in range(3)]
        bias = n.op("Gather", n.w(49, 3, fan=1), n.const(n.rng.randint(0, 49, win ** 4).astype(I64)))
        bias = n.op("Transpose", n.reshape(bias, win * win, win * win, 3), perm=[2, 0, 1])
        bias = n.op("Unsqueeze", bias, n.ints(0))
        if shift:
            mask = (n.rng.uniform(size=(4, 1, win * win, win * win)) < 0.3) * F32(-100)
            bias = n.op("Add", bias, mask.astype(F32))
        y = n.linear(n.reshape(n.attention(q, k, v, c // 3, bias), -1, win * win, c), c, c)
        y = n.op("Transpose", n.reshape(y, 1, h // win, w // win, win, win, c), perm=[0, 1, 3, 2, 4, 5])
        y = n.reshape(y, 1, h, w, c)
        y = roll(y, h - shift) if shift else y
        x = n.op("Add", x, n.reshape(y, 1, h * w, c))
        x = n.op("Add", x, n.linear(n.gelu(n.linear(n.layernorm(x, c), c, 2 * c)), 2 * c, c))
    n.output(x, "states")


def half(n):
    """Weights and activations in float16 between casts."""
    def w(*shape):
        return n.const((n.rng.standard_normal(shape) / np.sqrt(shape[0])).astype(F16))
    x = n.op("Cast", n.input("x", [5, 40]), to=TensorProto.FLOAT16)
    for cin, cout in ((40, 64), (64, 32)):
        x = n.op("Add", n.op("MatMul", x, w(cin, cout)), w(cout))
        x = n.op("Relu", x)
    x = n.op("Softmax", x, axis=-1)
    n.output(n.op("Cast", x, to=TensorProto.FLOAT), "y")


def graph_net(n):
    """Message passing: rows gathered along edges, summed at their ends by ScatterND."""
    x, edges = n.input("x", [20, 8]), n.rng.randint(0, 20, (2, 60)).astype(I64)
    for _ in range(2):
        message = n.relu(n.linear(n.op("Gather", x, n.const(edges[0])), 8, 8))
        sums = n.op("ScatterElements", np.zeros((20, 8), F32), n.const(np.repeat(edges[1][:, None], 8, 1)), message,
                    axis=0, reduction="add")
        x = n.op("Tanh", n.op("Add", n.linear(x, 8, 8), sums))
    score = n.op("Squeeze", n.linear(x, 8, 1), n.ints(1))
    best, where = n.op("TopK", score, n.ints(5), outs=2)
    n.output(n.op("Gather", x, where), "nodes")
    n.output(best, "scores")


FAMILIES = {f.__name__: f for f in (
    densenet, shufflenet, unet, convnext, efficientnet_se, inception, resnext, style, superres, autoencoder, generator,
    pyramid, ssd, keras, qdq, gru, bilstm, scan, tcn, wavenet, gpt, t5, cross, video, pointnet, mixer, swin, half,
    graph_net) + RUNTIME + CLASSICAL}
FAMILIES |= {f"windows_{i}": windows for i in range(4)}
FAMILY_OPSET = {"graph_net": 16, "llama": 23, "decoder": 21, "four_bits": 21}


def build_family(name):
    draft = Draft(name, FAMILY_OPSET.get(name, 13))
    FAMILIES[name](draft)
    return draft.finish()
