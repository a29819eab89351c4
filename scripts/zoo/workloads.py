"""The single-subgraph workloads of the zoo (make_zoo.py --ops)."""

import math


def conv_op(h, w, cin, cout, k, s, g=1, p=None):
    def build(n):
        x = n.input("x", (1, cin, h, w))
        n.output(n.conv(x, cout, k, s, p, g=g, bias=True, unit=True), "y")
    return build


def conv_add_relu_op(h, w, cin, cout, k, s):
    """The end of a residual block: convolution, add of the other branch, ReLU."""
    def build(n):
        x = n.input("x", (1, cin, h, w))
        y = n.conv(x, cout, k, s, bias=True, unit=True)
        n.output(n.relu(n.add(y, n.input("residual", y.shape))), "y")
    return build


def conv_bn_relu_op(h, w, cin, cout, k, s):
    def build(n):
        n.output(n.conv_bn(n.input("x", (1, cin, h, w)), cout, k, s, act=n.relu), "y")
    return build


def dw_pw_op(h, w, cin, cout, s):
    """A MobileNet v1 block: depthwise 3x3 and pointwise, each with BatchNormalization, ReLU6."""
    def build(n):
        x = n.conv_bn(n.input("x", (1, cin, h, w)), cin, 3, s, act=n.relu6, g=cin)
        n.output(n.conv_bn(x, cout, 1, act=n.relu6), "y")
    return build


def gemm_op(m, cols, k):
    """A [m, k] input times a constant [k, cols] weight."""
    def build(n):
        a = n.input("a", (m, k))
        b = n.init("b", n.randn((k, cols), math.sqrt(1.0 / (k * a.var))))
        n.output(n.node("MatMul", [a, b], (m, cols)), "y")
    return build


def matmul_op(a_shape, b_shape):
    """Both sides are inputs."""
    def build(n):
        n.output(n.matmul(n.input("a", a_shape), n.input("b", b_shape)), "y")
    return build


def linear_gelu_op(m, cols, k):
    def build(n):
        n.output(n.gelu(n.linear(n.input("x", (1, m, k)), cols)), "y")
    return build


def attention_op(heads, seq, dim):
    def build(n):
        q, k, v = (n.input(c, (1, heads, seq, dim)) for c in "qkv")
        n.output(n.attend(q, n.transpose(k, (0, 1, 3, 2)), v, dim), "y")
    return build


def softmax_op(shape):
    def build(n):
        n.output(n.softmax(n.input("x", shape)), "y")
    return build


def layernorm_op(rows, cols):
    def build(n):
        n.output(n.layernorm(n.input("x", (1, rows, cols))), "y")
    return build


def gelu_op(rows, cols):
    def build(n):
        n.output(n.gelu(n.input("x", (1, rows, cols))), "y")
    return build


def maxpool_op(h, w, c, k, s, p):
    def build(n):
        n.output(n.maxpool(n.input("x", (1, c, h, w)), k, s, p), "y")
    return build


def gap_op(h, w, c):
    def build(n):
        n.output(n.gap(n.input("x", (1, c, h, w))), "y")
    return build


def transpose_op(shape, perm):
    def build(n):
        n.output(n.transpose(n.input("x", shape), perm), "y")
    return build


def neg_op():
    """One element: what a run costs whatever the model does."""
    def build(n):
        n.output(n.node("Neg", [n.input("x", (1,))], (1,)), "y")
    return build


def make_ops():
    """Name -> builder.  Sizes in names: HxWxCin_Cout_KxK_sSTRIDE, and MxNxK for a gemm."""
    ops = {}

    def conv(size, cin, cout, k, s=1, **kw):
        ops["conv_%dx%dx%d_%d_%dx%d_s%d" % (size, size, cin, cout, k, k, s)] = \
            conv_op(size, size, cin, cout, k, s, **kw)

    def depthwise(size, c, k, s):
        ops["dwconv_%dx%dx%d_%dx%d_s%d" % (size, size, c, k, k, s)] = \
            conv_op(size, size, c, c, k, s, g=c)

    # ResNet-50 v1.5: the stem, then every distinct layer of each stage
    conv(224, 3, 64, 7, 2)
    for size, c, cin in ((56, 64, 64), (28, 128, 256), (14, 256, 512), (7, 512, 1024)):
        big = size if c == 64 else 2 * size         # where the stage's first block reads
        conv(big, cin, c, 1)
        if c != 64:
            conv(big, c, c, 3, 2)
            conv(big, cin, 4 * c, 1, 2)
        conv(size, 4 * c, c, 1)
        conv(size, c, c, 3)
        conv(size, c, 4 * c, 1)
    # MobileNet v1: the first layer, depthwise and pointwise layers; two 5x5 from EfficientNet
    conv(224, 3, 32, 3, 2)
    for size, c, s in ((112, 32, 1), (112, 64, 2), (56, 128, 1), (56, 128, 2), (28, 256, 1),
                       (28, 256, 2), (14, 512, 1), (14, 512, 2), (7, 1024, 1)):
        depthwise(size, c, 3, s)
    depthwise(56, 144, 5, 2)
    depthwise(14, 672, 5, 1)
    for size, cin, cout in ((112, 32, 64), (56, 64, 128), (56, 128, 128), (28, 128, 256),
                            (28, 256, 256), (14, 256, 512), (14, 512, 512), (7, 512, 1024),
                            (7, 1024, 1024)):
        conv(size, cin, cout, 1)
    # fused tails and whole blocks
    ops["conv_add_relu_56x56x64_256_1x1_s1"] = conv_add_relu_op(56, 56, 64, 256, 1, 1)
    ops["conv_add_relu_28x28x128_128_3x3_s1"] = conv_add_relu_op(28, 28, 128, 128, 3, 1)
    ops["conv_add_relu_14x14x256_1024_1x1_s1"] = conv_add_relu_op(14, 14, 256, 1024, 1, 1)
    ops["conv_bn_relu_56x56x64_64_3x3_s1"] = conv_bn_relu_op(56, 56, 64, 64, 3, 1)
    ops["conv_bn_relu_14x14x256_256_3x3_s1"] = conv_bn_relu_op(14, 14, 256, 256, 3, 1)
    ops["dw_pw_112x112x32_64_s1"] = dw_pw_op(112, 112, 32, 64, 1)
    ops["dw_pw_14x14x512_512_s1"] = dw_pw_op(14, 14, 512, 512, 1)
    # matrix products: weight constant (gemm), or both sides inputs (matmul)
    for m, cols, k in ((128, 768, 768), (128, 3072, 768), (128, 768, 3072), (1024, 1024, 1024),
                       (1, 1000, 2048), (1, 4096, 4096), (128, 256, 256)):
        ops["gemm_%dx%dx%d" % (m, cols, k)] = gemm_op(m, cols, k)
    ops["matmul_1024x1024x1024"] = matmul_op((1024, 1024), (1024, 1024))
    ops["matmul_qk_12x128x128x64"] = matmul_op((12, 128, 64), (12, 64, 128))
    ops["matmul_pv_12x128x64x128"] = matmul_op((12, 128, 128), (12, 128, 64))
    ops["attention_12x128x64"] = attention_op(12, 128, 64)
    ops["linear_gelu_128x3072x768"] = linear_gelu_op(128, 3072, 768)
    # memory-bound
    ops["softmax_12x128x128"] = softmax_op((12, 128, 128))
    ops["layernorm_128x768"] = layernorm_op(128, 768)
    ops["gelu_128x3072"] = gelu_op(128, 3072)
    ops["maxpool_112x112x64_3x3_s2"] = maxpool_op(112, 112, 64, 3, 2, 1)
    ops["gap_7x7x2048"] = gap_op(7, 7, 2048)
    ops["transpose_128x12x64_to_12x128x64"] = transpose_op((1, 128, 12, 64), (0, 2, 1, 3))
    ops["neg_1"] = neg_op()
    return ops


OPS = make_ops()
