"""Small networks with the operators of ONNX Runtime's own domain, as it saves models that it has optimised or
quantised, and with those that ONNX has had since for the same.
"""
import numpy as np
from onnx import TensorProto

from .draft import F32

I32 = np.int32


def qoperator(n):
    """Convolutions with sum and activation in one node, then the quantised operators of a CNN, then dynamic ones."""
    x = n.input("x", [1, 3, 14, 12])
    y = n.ms("FusedConv", x, n.w(8, 3, 3, 3), n.w(8, fan=100), pads=[1] * 4, activation="Relu")
    y = n.ms("FusedConv", y, n.w(8, 8, 3, 3), n.w(8, fan=100), y, pads=[1] * 4, activation="LeakyRelu",
             activation_params=[0.1])
    y = n.ms("FusedConv", y, n.w(8, 8, 1, 1), activation="Clip", activation_params=[-1.0, 1.5])

    def scale(value, zero):
        return n.f(value), n.const(np.uint8(zero))
    s, t = scale(0.011, 100), scale(0.017, 90)
    q = n.op("QuantizeLinear", y, *s)
    w = n.const(n.rng.randint(-127, 128, (8, 8, 3, 3)).astype(np.int8))
    a = n.op("QLinearConv", q, *s, w, n.near(8, at=1e-3, spread=2e-4), n.const(np.zeros(8, np.int8)), *t, pads=[1] * 4)
    b = n.ms("QLinearLeakyRelu", a, *t, *t, alpha=0.2)
    gate = n.ms("QLinearSigmoid", n.ms("QLinearGlobalAveragePool", b, *t, *t), *t, *scale(1 / 255, 0))
    b = n.ms("QLinearMul", b, *t, gate, *scale(1 / 255, 0), *t)
    b = n.ms("QLinearAdd", b, *t, q, *s, *t)
    b = n.ms("QLinearConcat", *t, a, *t, b, *t, q, *s, axis=1)
    turned = n.op("Transpose", b, perm=[0, 2, 3, 1])
    pooled = n.ms("NhwcMaxPool", turned, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1], ceil_mode=1)
    n.output(n.op("Cast", pooled, to=TensorProto.FLOAT), "pooled", rank=4)
    b = n.ms("QLinearAveragePool", b, *t, *t, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    b = n.reshape(n.ms("QLinearGlobalAveragePool", b, *t, *t), 1, 24)
    w = n.const(n.rng.randint(-127, 128, (10, 24)).astype(np.int8))
    c = n.const(n.rng.randint(-500, 500, 10).astype(I32))
    b = n.ms("QGemm", b, *t, w, n.f(4e-3), n.const(np.int8(0)), c, *t, transB=1)
    n.output(n.op("DequantizeLinear", n.ms("QLinearSoftmax", b, *t, *scale(1 / 255, 0), axis=1, opset=13),
                  *scale(1 / 255, 0)), "classes", rank=2)
    y = n.reshape(n.op("GlobalAveragePool", y), 1, 8)
    w = n.const(n.rng.randint(-127, 128, (8, 6)).astype(np.int8))
    y = n.ms("DynamicQuantizeMatMul", y, w, n.near(6, at=3e-3, spread=1e-3), "", n.w(6, fan=100))
    q, s, zero = n.op("DynamicQuantizeLinear", y, outs=3)
    w = n.const(n.rng.randint(0, 256, (6, 6)).astype(np.uint8))
    y = n.ms("MatMulIntegerToFloat", q, w, s, n.f(3e-3), zero, n.const(np.uint8(128)))
    n.output(y, "features", rank=2)
    tokens, mask = n.input("tokens", [2, 7, 24]), n.input("mask", [2, 7], TensorProto.INT32)
    for zero, scales in ((0, ()), (3, (36,))):
        q, s, offset = n.op("DynamicQuantizeLinear", tokens, outs=3)
        w = n.const(n.rng.randint(-127, 128, (24, 36)).astype(np.int8))
        y = n.ms("QAttention", q, w, n.w(36, fan=100), s, n.near(*scales, at=3e-3, spread=1e-3), mask, offset,
                 n.const(np.full(scales, zero, np.int8)), num_heads=3, unidirectional=int(zero != 0))
        tokens = n.op("MatMul", y, n.w(12, 24, fan=12))
    n.output(tokens, "attended", rank=3)


def ort_bert(n):
    """BERT: embeddings, attention with a mask and normalisation in one node each; a second layer with keys apart."""
    ids, mask = n.input("ids", [2, 17], TensorProto.INT32), n.input("mask", [2, 17], TensorProto.INT32)
    segments = n.const(np.repeat([[0, 1]], 2, 0).repeat([9, 8], 1).astype(I32))
    x, count, _ = n.ms("EmbedLayerNormalization", ids, segments, n.w(100, 24, fan=4), n.w(32, 24, fan=4),
                       n.w(2, 24, fan=4), n.near(24), n.near(24, at=0), mask, outs=3, epsilon=1e-5)
    for layer in range(2):
        if layer == 0:
            y = n.ms("Attention", x, n.w(24, 72, fan=24), n.w(72, fan=100), mask, num_heads=3)
        else:
            q, k, v = [n.ms("FusedMatMul", x, n.w(24, 24), alpha=1.1, transB=1) for _ in range(3)]
            y = n.ms("MultiHeadAttention", q, k, v, n.w(72, fan=100), mask, num_heads=3)
        y = n.op("MatMul", y, n.w(24, 24))
        x = n.ms("SkipLayerNormalization", y, x, n.near(24), n.near(24, at=0), n.w(24, fan=100), epsilon=1e-5)
        y = n.ms("BiasGelu", n.op("MatMul", x, n.w(24, 48, fan=24)), n.w(48, fan=100))
        y = n.op("MatMul", y, n.w(48, 24, fan=48))
        x = n.ms("SkipLayerNormalization", y, x, n.near(24), n.near(24, at=0), epsilon=1e-5)
    first = n.reshape(n.op("Slice", x, n.ints(0), n.ints(1), n.ints(1)), 2, 24)
    n.output(n.ms("FusedGemm", first, n.w(5, 24), n.w(5, fan=100), transB=1, activation="Tanh"), "pooled", rank=2)
    n.output(n.op("Cast", count, to=TensorProto.FLOAT), "words", rank=1)
    n.output(x, "states", rank=3)


def llama(n):
    """Opset 23 with a past: root-mean-square norms, rotated positions, fewer heads of keys than of queries."""
    x, past = n.input("x", [1, 6, 32]), [n.input(f"past_{kind}", [1, 2, 5, 8]) for kind in ("key", "value")]
    angle = np.arange(16)[:, None] * 0.3 ** np.arange(4)
    cos, sin = n.const(np.cos(angle).astype(F32)), n.const(np.sin(angle).astype(F32))
    y = n.op("RMSNormalization", x, n.near(32), epsilon=1e-6)
    q, k, v = [n.op("MatMul", y, n.w(32, size, fan=32)) for size in (32, 16, 16)]
    places = n.const(np.arange(5, 11)[None])
    q, k = [n.op("RotaryEmbedding", v, cos, sin, places, num_heads=heads) for v, heads in ((q, 4), (k, 2))]
    y, key, value = n.op("Attention", q, k, v, "", *past, outs=3, is_causal=1, q_num_heads=4, kv_num_heads=2)
    y = n.op("MatMul", y, n.w(32, 32))
    y, _, _, x = n.ms("SkipSimplifiedLayerNormalization", y, x, n.near(32), outs=4, epsilon=1e-6)
    def packed(cin, cout, zeros):
        blocks = -(-cin // 16)
        bytes_ = [n.const(n.rng.randint(0, 256, shape).astype(np.uint8)) for shape in
                  ((cout, blocks, 8), (cout * -(-blocks // 2),))]
        return bytes_[0], n.near(cout * blocks, at=0.04, spread=0.02), *bytes_[1:][:zeros]
    gate = n.ms("QuickGelu", n.op("MatMul", y, n.w(32, 40, fan=32)), alpha=1.0)
    y = n.op("Mul", gate, n.ms("MatMulNBits", y, *packed(32, 40, 0), K=32, N=40, bits=4, block_size=16))
    y = n.ms("MatMulNBits", y, *packed(40, 32, 1), K=40, N=32, bits=4, block_size=16)
    y = n.op("Add", x, y)
    y = n.ms("RotaryEmbedding", y, n.const(np.array([3])), cos, sin, interleaved=1)
    n.output(n.op("SimplifiedLayerNormalization", y, n.near(32)), "states", rank=3)
    n.output(key, "key", rank=4)
    n.output(value, "value", rank=4)


def decoder(n):
    """A step of a generative model as ONNX Runtime's own exporter writes it: caches that the mask fills, two texts."""
    x, mask = n.input("x", [2, 1, 32]), n.input("mask", [2, 9], TensorProto.INT64)
    words = n.op("Max", n.op("ReduceSum", mask, n.ints(1), keepdims=0), n.ints(1))
    last = n.op("Cast", n.op("Sub", words, n.ints(1)), to=TensorProto.INT32)
    total = n.op("Cast", n.op("Gather", n.op("Shape", mask), n.const(np.int64(1))), to=TensorProto.INT32)
    angle = np.arange(16)[:, None] * 0.3 ** np.arange(8)
    tables = n.const(np.cos(angle).astype(F32)), n.const(np.sin(angle).astype(F32))
    for layer, extra in enumerate(({}, {"local_window_size": 4, "rotary_interleaved": 1}, {"softcap": 0.8})):
        past = [n.input(f"past_{kind}_{layer}", [2, 2, 8, 16]) for kind in ("key", "value")]
        y = n.op("SimplifiedLayerNormalization", x, n.near(32), epsilon=1e-6)
        if layer == 1:
            q, k, v = n.op("MatMul", y, n.w(32, 128, fan=32)), "", ""
        else:
            q, k, v = [n.op("MatMul", y, n.w(32, size, fan=32)) for size in (64, 32, 32)]
        y, key, value = n.ms("GroupQueryAttention", q, k, v, *past, last, total, *tables, outs=3, num_heads=4,
                             kv_num_heads=2, do_rotary=1, **extra)
        x = n.op("Add", x, n.op("MatMul", y, n.w(64, 32, fan=64)))
        n.output(key, f"key_{layer}", rank=4)
        n.output(value, f"value_{layer}", rank=4)
    n.output(x, "states", rank=3)


def four_bits(n):
    """Opset 21: weights of four bits in blocks or a scale a column, an activation rounded to four bits."""
    x = n.input("x", [3, 36])
    w = n.op("DequantizeLinear", n.four_bits(36, 20), n.near(3, 20, at=0.04, spread=0.02), axis=0, block_size=12)
    y = n.relu(n.op("MatMul", x, w))
    scale = n.f(0.09)
    y = n.op("DequantizeLinear", n.op("QuantizeLinear", y, scale, n.four_bits(signed=False)), scale)
    turned = n.op("Transpose", n.four_bits(15, 20, signed=False), perm=[1, 0])
    w = n.op("DequantizeLinear", turned, n.near(15, at=0.04, spread=0.02), n.four_bits(15, signed=False), axis=1)
    n.output(n.op("Gemm", y, w, n.w(15, fan=100)), "y", rank=2)


RUNTIME = (qoperator, ort_bert, llama, decoder, four_bits)
