"""The networks of the zoo: a function each, and the table of all."""

import math

import numpy as np
from onnx import TensorProto

from .builder import F32, I64, T


# ----------------------------------------------------------------------------
# Image classifiers
# ----------------------------------------------------------------------------

def resnet18(n):
    """ResNet-18 at 224."""
    x = n.input("input", (1, 3, 224, 224))
    x = n.conv_bn(x, 64, 7, 2, act=n.relu)
    x = n.maxpool(x, 3, 2, 1)
    for stage, c in enumerate((64, 128, 256, 512)):
        for block in range(2):
            s = 2 if stage and not block else 1
            y = n.conv_bn(x, c, 3, s, act=n.relu)
            y = n.conv_bn(y, c, 3, scale=0.6)
            if s != 1 or x.shape[1] != c:
                x = n.conv_bn(x, c, 1, s)
            x = n.relu(n.add(y, x))
    n.classifier(x, 1000)


def resnet50(n):
    """Version 1.5: the stride is on the 3x3 convolution."""
    x = n.input("input", (1, 3, 224, 224))
    x = n.conv_bn(x, 64, 7, 2, act=n.relu)
    x = n.maxpool(x, 3, 2, 1)
    for stage, (c, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            s = 2 if stage and not block else 1
            y = n.conv_bn(x, c, 1, act=n.relu)
            y = n.conv_bn(y, c, 3, s, act=n.relu)
            y = n.conv_bn(y, 4 * c, 1, scale=0.6)
            if not block:
                x = n.conv_bn(x, 4 * c, 1, s)
            x = n.relu(n.add(y, x))
    n.classifier(x, 1000)


# (output channels, stride) of the 13 depthwise-separable blocks of MobileNet v1
MOBILENET_V1 = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1),
                (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1)]


def mobilenet_v1(n):
    """Width 1.0 at 224, ReLU6."""
    x = n.input("input", (1, 3, 224, 224))
    x = n.conv_bn(x, 32, 3, 2, act=n.relu6)
    for c, s in MOBILENET_V1:
        x = n.conv_bn(x, x.shape[1], 3, s, act=n.relu6, g=x.shape[1])
        x = n.conv_bn(x, c, 1, act=n.relu6)
    n.classifier(x, 1000)


def mbconv(n, x, cout, k, s, expand, act, same=False, eps=1e-5):
    """An inverted residual block without squeeze-and-excitation."""
    cin = x.shape[1]
    y = n.conv_bn(x, cin * expand, 1, act=act, eps=eps) if expand != 1 else x
    y = n.conv_bn(y, y.shape[1], k, s, act=act, g=y.shape[1], same=same, eps=eps)
    y = n.conv_bn(y, cout, 1, eps=eps)
    return n.add(x, y) if s == 1 and cin == cout else y


def mobilenet_v2(n):
    """Width 1.0 at 224, ReLU6, linear bottlenecks."""
    x = n.input("input", (1, 3, 224, 224))
    x = n.conv_bn(x, 32, 3, 2, act=n.relu6)
    for expand, c, repeats, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                       (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(repeats):
            x = mbconv(n, x, c, 3, 1 if i else stride, expand, n.relu6)
    x = n.conv_bn(x, 1280, 1, act=n.relu6)
    n.classifier(x, 1000)


def mobilenet_v3_small(n):
    """Hard swish: HardSigmoid+Mul at opset 13, HardSwish at opset 14 (_op14)."""
    def divisible(v):
        d = max(8, (v + 4) // 8 * 8)
        return d + 8 if d < 0.9 * v else d

    x = n.input("input", (1, 3, 224, 224))
    x = n.conv_bn(x, 16, 3, 2, act=n.hardswish, eps=1e-3)
    for k, expanded, cout, se, hs, s in (
            (3, 16, 16, 1, 0, 2), (3, 72, 24, 0, 0, 2), (3, 88, 24, 0, 0, 1), (5, 96, 40, 1, 1, 2),
            (5, 240, 40, 1, 1, 1), (5, 240, 40, 1, 1, 1), (5, 120, 48, 1, 1, 1),
            (5, 144, 48, 1, 1, 1), (5, 288, 96, 1, 1, 2), (5, 576, 96, 1, 1, 1),
            (5, 576, 96, 1, 1, 1)):
        act = n.hardswish if hs else n.relu
        cin = x.shape[1]
        y = n.conv_bn(x, expanded, 1, act=act, eps=1e-3) if expanded != cin else x
        y = n.conv_bn(y, expanded, k, s, act=act, g=expanded, eps=1e-3)
        if se:
            gate = n.relu(n.conv(n.gap(y), divisible(expanded // 4), 1, bias=True, unit=True))
            gate = n.hardsigmoid(n.conv(gate, expanded, 1, bias=True, unit=True))
            y = n.node("Mul", [gate, y], y.shape, 0.5 * y.mean, 0.28 * y.var)
        y = n.conv_bn(y, cout, 1, eps=1e-3)
        x = n.add(y, x) if s == 1 and cin == cout else y
    x = n.conv_bn(x, 576, 1, act=n.hardswish, eps=1e-3)
    x = n.hardswish(n.gemm(n.flatten(n.gap(x)), 1024))
    n.output(n.gemm(x, 1000), "logits")


def efficientnet_lite0(n):
    """With TensorFlow SAME padding: asymmetric wherever the stride is 2."""
    x = n.input("input", (1, 3, 224, 224))
    x = n.conv_bn(x, 32, 3, 2, act=n.relu6, same=True, eps=1e-3)
    for expand, k, s, c, repeats in ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2),
                                     (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
                                     (6, 3, 1, 320, 1)):
        for i in range(repeats):
            x = mbconv(n, x, c, k, 1 if i else s, expand, n.relu6, same=True, eps=1e-3)
    x = n.conv_bn(x, 1280, 1, act=n.relu6, eps=1e-3)
    n.classifier(x, 1000)


def squeezenet1_1(n):
    """SqueezeNet 1.1 at 224: no BatchNormalization, ceil-mode pooling."""
    def crelu(t, c, k, s=1, p=0):
        return n.relu(n.conv(t, c, k, s, p, bias=True, unit=True))

    x = n.input("input", (1, 3, 224, 224))
    x = n.maxpool(crelu(x, 64, 3, 2), 3, 2, ceil=True)
    for i, (squeeze, expand) in enumerate(((16, 64), (16, 64), (32, 128), (32, 128),
                                           (48, 192), (48, 192), (64, 256), (64, 256))):
        if i in (2, 4):
            x = n.maxpool(x, 3, 2, ceil=True)
        x = crelu(x, squeeze, 1)
        x = n.concat([crelu(x, expand, 1), crelu(x, expand, 3, p=1)])
    x = crelu(x, 1000, 1)
    n.output(n.flatten(n.gap(x)), "logits")


def vgg16(n):
    """VGG-16 at 224, without BatchNormalization."""
    x = n.input("input", (1, 3, 224, 224))
    for c, repeats in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(repeats):
            x = n.relu(n.conv(x, c, 3, bias=True, unit=True))
        x = n.maxpool(x, 2, 2)
    x = n.flatten(x)
    x = n.relu(n.gemm(x, 4096))
    x = n.relu(n.gemm(x, 4096))
    n.output(n.gemm(x, 1000), "logits")


def googlenet(n):
    """Inception v1 with BatchNormalization, without the auxiliary heads.
    As in torchvision, the "5x5" branch is a 3x3."""
    def cbr(t, c, k, s=1):
        return n.conv_bn(t, c, k, s, act=n.relu, eps=1e-3)

    def inception(t, c1, c3r, c3, c5r, c5, cp):
        return n.concat([cbr(t, c1, 1),
                         cbr(cbr(t, c3r, 1), c3, 3),
                         cbr(cbr(t, c5r, 1), c5, 3),
                         cbr(n.maxpool(t, 3, 1, 1, ceil=True), cp, 1)])

    x = n.input("input", (1, 3, 224, 224))
    x = n.maxpool(cbr(x, 64, 7, 2), 3, 2, ceil=True)
    x = n.maxpool(cbr(cbr(x, 64, 1), 192, 3), 3, 2, ceil=True)
    x = inception(x, 64, 96, 128, 16, 32, 32)
    x = inception(x, 128, 128, 192, 32, 96, 64)
    x = n.maxpool(x, 3, 2, ceil=True)
    x = inception(x, 192, 96, 208, 16, 48, 64)
    x = inception(x, 160, 112, 224, 24, 64, 64)
    x = inception(x, 128, 128, 256, 24, 64, 64)
    x = inception(x, 112, 144, 288, 32, 64, 64)
    x = inception(x, 256, 160, 320, 32, 128, 128)
    x = n.maxpool(x, 2, 2, ceil=True)
    x = inception(x, 256, 160, 320, 32, 128, 128)
    x = inception(x, 384, 192, 384, 48, 128, 128)
    n.classifier(x, 1000)


# ----------------------------------------------------------------------------
# Detector
# ----------------------------------------------------------------------------

def yolov5n(n):
    """YOLOv5n v6 at 320x320: backbone, neck and the decoding head, 80 classes."""
    def cbs(t, c, k, s=1, p=None):
        return n.conv_bn(t, c, k, s, act=n.silu, p=p, eps=1e-3)

    def c3(t, c, repeats, shortcut=True):
        hidden = c // 2
        y = cbs(t, hidden, 1)
        for _ in range(repeats):
            z = cbs(cbs(y, hidden, 1), hidden, 3)
            y = n.add(y, z) if shortcut else z
        return cbs(n.concat([y, cbs(t, hidden, 1)]), c, 1)

    x = n.input("images", (1, 3, 320, 320))
    x = cbs(x, 16, 6, 2, p=2)
    x = c3(cbs(x, 32, 3, 2), 32, 1)
    p3 = c3(cbs(x, 64, 3, 2), 64, 2)
    p4 = c3(cbs(p3, 128, 3, 2), 128, 3)
    x = c3(cbs(p4, 256, 3, 2), 256, 1)
    x = cbs(x, 128, 1)                                      # SPPF
    pools = [x]
    for _ in range(3):
        pools.append(n.maxpool(pools[-1], 5, 1, 2))
    x = cbs(n.concat(pools), 256, 1)

    top = cbs(x, 128, 1)
    x = c3(n.concat([n.upsample2(top), p4]), 128, 1, shortcut=False)
    mid = cbs(x, 64, 1)
    small = c3(n.concat([n.upsample2(mid), p3]), 64, 1, shortcut=False)
    medium = c3(n.concat([cbs(small, 64, 3, 2), mid]), 128, 1, shortcut=False)
    large = c3(n.concat([cbs(medium, 128, 3, 2), top]), 256, 1, shortcut=False)

    anchors = ((10, 13, 16, 30, 33, 23), (30, 61, 62, 45, 59, 119), (116, 90, 156, 198, 373, 326))
    rows = []
    for t, stride, anchor in zip((small, medium, large), (8, 16, 32), anchors):
        h, w = t.shape[2:]
        y = n.conv(t, 255, 1, bias=True, unit=True)
        y = n.transpose(n.reshape(y, (1, 3, 85, h, w)), (0, 1, 3, 4, 2))
        y = n.sigmoid(y)
        split = n.const([2, 2, 81], I64)
        lead = (1, 3, h, w)
        xy, wh, conf = n.node("Split", [y, split], [lead + (2,), lead + (2,), lead + (81,)], axis=4)
        gy, gx = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
        grid = np.stack((gx, gy), -1).reshape(1, 1, h, w, 2) - 0.5
        grid = np.ascontiguousarray(np.broadcast_to(grid, (1, 3, h, w, 2)))
        size = np.asarray(anchor, dtype=F32).reshape(1, 3, 1, 1, 2)
        size = np.ascontiguousarray(np.broadcast_to(size, (1, 3, h, w, 2)))
        xy = n.node("Mul", [xy, n.const(2.0)], xy.shape)
        xy = n.node("Add", [xy, n.const(grid)], xy.shape)
        xy = n.node("Mul", [xy, n.const(float(stride))], xy.shape)
        wh = n.node("Mul", [wh, n.const(2.0)], wh.shape)
        wh = n.node("Pow", [wh, n.const(2.0)], wh.shape)
        wh = n.node("Mul", [wh, n.const(size)], wh.shape)
        rows.append(n.reshape(n.concat([xy, wh, conf], axis=4), (1, 3 * h * w, 85)))
    n.output(n.concat(rows, axis=1), "output0")


# ----------------------------------------------------------------------------
# Transformers
# ----------------------------------------------------------------------------

def bert_mask(n, attention_mask):
    """[1, seq] of 0/1 to the additive [1, 1, 1, seq] mask."""
    seq = attention_mask.shape[1]
    m = n.node("Unsqueeze", [attention_mask, n.const([1], I64)], (1, 1, seq))
    m = n.node("Unsqueeze", [m, n.const([2], I64)], (1, 1, 1, seq))
    m = n.node("Cast", [m], m.shape, to=TensorProto.FLOAT)
    m = n.node("Sub", [n.const(1.0), m], m.shape)
    return n.node("Mul", [m, n.const(-10000.0)], m.shape)


def bert_layer(n, x, heads, mask):
    _, seq, hidden = x.shape
    dim = hidden // heads

    def split_heads(t, perm):
        return n.transpose(n.reshape(t, (1, seq, heads, dim)), perm)

    q, k, v = n.linear(x, hidden), n.linear(x, hidden), n.linear(x, hidden)
    ctx = n.attend(split_heads(q, (0, 2, 1, 3)), split_heads(k, (0, 2, 3, 1)),
                   split_heads(v, (0, 2, 1, 3)), dim, mask)
    ctx = n.reshape(n.transpose(ctx, (0, 2, 1, 3)), (1, seq, hidden))
    x = n.layernorm(n.add(n.linear(ctx, hidden), x), 1e-12)
    y = n.linear(n.gelu(n.linear(x, 4 * hidden)), hidden)
    return n.layernorm(n.add(y, x), 1e-12)


def bert_mini(n, layers=4, hidden=256, heads=4, seq=128, vocab=30522):
    """BERT mini from token ids: 4 layers, hidden 256, 4 heads, 128 tokens."""
    ids = n.input("input_ids", (1, seq), TensorProto.INT64)
    mask = n.input("attention_mask", (1, seq), TensorProto.INT64)
    types = n.input("token_type_ids", (1, seq), TensorProto.INT64)
    shape = (1, seq, hidden)
    mask = bert_mask(n, mask)
    word = n.node("Gather", [n.init("embeddings.word", n.randn((vocab, hidden), 0.02)), ids], shape)
    kind = n.node("Gather", [n.init("embeddings.type", n.randn((2, hidden), 0.02)), types], shape)
    where = n.init("embeddings.position_ids", np.arange(seq, dtype=I64).reshape(1, seq))
    place = n.node("Gather", [n.init("embeddings.position", n.randn((512, hidden), 0.02)), where],
                   shape)
    x = n.layernorm(n.add(n.add(word, kind), place), 1e-12)
    for _ in range(layers):
        x = bert_layer(n, x, heads, mask)
    last = n.node("Identity", [x], x.shape)
    pooled = n.gemm(n.pick(x, 0, 1), hidden)
    n.output(last, "last_hidden_state")
    n.output(n.node("Tanh", [pooled], pooled.shape), "pooler_output")


def bert_base_layer(n):
    """Two encoder layers of BERT base, from hidden states: no embedding."""
    x = n.input("hidden_states", (1, 128, 768))
    mask = bert_mask(n, n.input("attention_mask", (1, 128), TensorProto.INT64))
    for _ in range(2):
        x = bert_layer(n, x, 12, mask)
    n.output(x, "last_hidden_state")


def vit_tiny(n, layers=4, hidden=192, heads=3):
    """ViT-Ti/16 at 224, four of its twelve layers."""
    dim = hidden // heads
    x = n.input("input", (1, 3, 224, 224))
    x = n.conv(x, hidden, 16, 16, p=0, bias=True, unit=True)
    x = n.transpose(n.reshape(x, (1, hidden, 196)), (0, 2, 1))
    cls = T(n.init("cls_token", n.randn((1, 1, hidden))), (1, 1, hidden))
    x = n.concat([cls, x], axis=1)
    seq = x.shape[1]
    x = n.add(x, T(n.init("pos_embed", n.randn((1, seq, hidden), 0.5)), x.shape, 0.0, 0.25))
    for _ in range(layers):
        y = n.linear(n.layernorm(x, 1e-6), 3 * hidden)
        y = n.transpose(n.reshape(y, (1, seq, 3, heads, dim)), (2, 0, 3, 1, 4))
        q, k, v = n.pick(y, 0, 0), n.pick(y, 1, 0), n.pick(y, 2, 0)
        scores = n.matmul(q, n.transpose(k, (0, 1, 3, 2)))
        scores = n.node("Mul", [scores, n.const(dim ** -0.5)], scores.shape)
        ctx = n.matmul(n.softmax(scores), v, var=0.1)
        ctx = n.reshape(n.transpose(ctx, (0, 2, 1, 3)), (1, seq, hidden))
        x = n.add(x, n.linear(ctx, hidden))
        y = n.gelu(n.linear(n.layernorm(x, 1e-6), 4 * hidden))
        x = n.add(x, n.linear(y, hidden))
    n.output(n.gemm(n.pick(n.layernorm(x, 1e-6), 0, 1), 1000), "logits")


# ----------------------------------------------------------------------------
# Recurrent
# ----------------------------------------------------------------------------

def lstm_kws(n, steps=98, features=40, hidden=128, layers=2, classes=12):
    """Keyword spotting: two LSTM layers over 98 frames of 40 features."""
    x = n.input("features", (1, steps, features))
    x = n.transpose(x, (1, 0, 2))
    for _ in range(layers):
        cin = x.shape[2]
        bound = 1.5 / math.sqrt(hidden)
        w_bound = math.sqrt(3.0 / (cin * x.ms))
        w = n.init("lstm.W", n.uniform((1, 4 * hidden, cin), -w_bound, w_bound))
        r = n.init("lstm.R", n.uniform((1, 4 * hidden, hidden), -bound, bound))
        b = n.init("lstm.B", n.uniform((1, 8 * hidden), -bound, bound))
        h0 = n.init("lstm.h0", np.zeros((1, 1, hidden), F32))
        c0 = n.init("lstm.c0", np.zeros((1, 1, hidden), F32))
        y = n.node("LSTM", [x, w, r, b, "", h0, c0], [(steps, 1, 1, hidden)],
                   hidden_size=hidden)[0]
        x = n.node("Squeeze", [y, n.const([1], I64)], (steps, 1, hidden), 0.0, 0.12)
    x = n.pick(x, -1, 0)
    n.output(n.gemm(x, classes), "logits")


# ----------------------------------------------------------------------------
# MLPerf Tiny.  These come from Keras: convolutions have a bias although a
# BatchNormalization follows, padding is SAME, and a Softmax ends the classifiers.
# ----------------------------------------------------------------------------

def ds_cnn(n):
    """Keyword spotting, 49 frames of 10 MFCCs."""
    x = n.input("input_1", (1, 1, 49, 10))
    x = n.conv_bn(x, 64, (10, 4), 2, act=n.relu, bias=True, same=True, eps=1e-3)
    for _ in range(4):
        x = n.conv_bn(x, 64, 3, act=n.relu, g=64, bias=True, same=True, eps=1e-3)
        x = n.conv_bn(x, 64, 1, act=n.relu, bias=True, eps=1e-3)
    k = list(x.shape[2:])
    x = n.node("AveragePool", [x], (1, 64, 1, 1), x.mean, 0.15 * x.var, kernel_shape=k, strides=k)
    n.output(n.softmax(n.gemm(n.flatten(x), 12)), "probabilities")


def resnet8(n):
    """Image classification, CIFAR-10."""
    kw = dict(bias=True, same=True, eps=1e-3)
    x = n.input("input_1", (1, 3, 32, 32))
    x = n.conv_bn(x, 16, 3, act=n.relu, **kw)
    for c, s in ((16, 1), (32, 2), (64, 2)):
        y = n.conv_bn(x, c, 3, s, act=n.relu, **kw)
        y = n.conv_bn(y, c, 3, scale=0.6, **kw)
        if s != 1:
            x = n.conv(x, c, 1, s, bias=True, same=True, unit=True)
        x = n.relu(n.add(x, y))
    x = n.node("AveragePool", [x], (1, 64, 1, 1), x.mean, 0.15 * x.var, kernel_shape=[8, 8],
               strides=[8, 8])
    n.output(n.softmax(n.gemm(n.flatten(x), 10)), "probabilities")


def mobilenet_v1_025(n):
    """Visual wake words: MobileNet v1, width 0.25, at 96."""
    kw = dict(act=n.relu, bias=True, eps=1e-3)
    x = n.input("input_1", (1, 3, 96, 96))
    x = n.conv_bn(x, 8, 3, 2, same=True, **kw)
    for c, s in MOBILENET_V1:
        x = n.conv_bn(x, x.shape[1], 3, s, g=x.shape[1], same=True, **kw)
        x = n.conv_bn(x, c // 4, 1, **kw)
    n.classifier(x, 2, softmax=True)


def fc_autoencoder(n):
    """Anomaly detection: 640-128x4-8-128x4-640, Dense+BatchNormalization+ReLU."""
    x = n.input("input_1", (1, 640))
    for width in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        x = n.relu(n.bn(n.gemm(x, width), 1e-3))
    n.output(n.gemm(x, 640), "reconstruction")


NETS = {f.__name__: f for f in (
    resnet18, resnet50, mobilenet_v1, mobilenet_v2, mobilenet_v3_small, efficientnet_lite0,
    squeezenet1_1, googlenet, vgg16, yolov5n, bert_mini, bert_base_layer, vit_tiny, lstm_kws,
    ds_cnn, resnet8, mobilenet_v1_025, fc_autoencoder)}
NETS["mobilenet_v3_small_op14"] = mobilenet_v3_small
OPSET = {"mobilenet_v3_small_op14": 14}
# A variant takes its weights from the network it is a variant of.
SEED_NAME = {"mobilenet_v3_small_op14": "mobilenet_v3_small"}
LARGE = {"vgg16"}
