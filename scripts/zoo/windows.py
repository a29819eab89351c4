"""Models of random convolutions and pools: 1 to 3 spatial dimensions, every way of padding, strides, dilations, groups,
output padding, ceil_mode and batch sizes. Each node has an input and an output of its own."""

NODES = 24


def sizes(rng, rank, low, high):
    return [int(v) for v in rng.randint(low, high + 1, rank)]


def padding(rng, rank, kernel, dilations, for_pool):
    """auto_pad, or explicit pads that leave something of every window inside."""
    mode = rng.choice(["explicit", "explicit", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if mode == "VALID" or (mode != "explicit" and max(dilations) == 1):  # ONNX Runtime refuses SAME with dilations
        return {"auto_pad": str(mode)}
    most = [(k - 1) * d if not for_pool else min(k - 1, (k - 1) * d) for k, d in zip(kernel, dilations)]
    return {"pads": [int(rng.randint(0, m + 1)) for m in most + most]}


def convolution(n, x, rng, rank, channels):
    group = int(rng.choice([1, 1, 2, channels]))
    kernel, dilations = sizes(rng, rank, 1, 3), sizes(rng, rank, 1, 2)
    out = group * int(rng.randint(1, 4))
    inputs = [x, n.w(out, channels // group, *kernel)] + ([n.w(out, fan=4)] if rng.randint(2) else [])
    return n.op("Conv", *inputs, kernel_shape=kernel, strides=sizes(rng, rank, 1, 3), dilations=dilations, group=group,
                **padding(rng, rank, kernel, dilations, False))


def transposed(n, x, rng, rank, channels):
    group = int(rng.choice([1, 1, 2]))
    kernel, dilations, strides = sizes(rng, rank, 1, 4), sizes(rng, rank, 1, 2), sizes(rng, rank, 1, 3)
    inputs = [x, n.w(channels, int(rng.randint(1, 4)), *kernel, fan=channels)]
    extra = {"output_padding": [int(rng.randint(0, s)) for s in strides]}
    extra |= {"pads": [int(rng.randint(0, k)) for k in kernel + kernel]} if rng.randint(3) else {}
    return n.op("ConvTranspose", *inputs, kernel_shape=kernel, strides=strides, dilations=dilations, group=group,
                **extra)


def pool(n, x, rng, rank, channels):
    op = str(rng.choice(["MaxPool", "AveragePool", "AveragePool"]))
    kernel = sizes(rng, rank, 1, 4)
    dilations = sizes(rng, rank, 1, 2) if op == "MaxPool" else [1] * rank
    extra = {"dilations": dilations} if op == "MaxPool" else {"count_include_pad": int(rng.randint(2))}
    extra |= padding(rng, rank, kernel, dilations, True)
    if "pads" in extra:
        extra["ceil_mode"] = int(rng.randint(2))
    strides = [min(s, k) for s, k in zip(sizes(rng, rank, 1, 3), kernel)]
    return n.op(op, x, kernel_shape=kernel, strides=strides, **extra)


def windows(n):
    """Random convolutions, transposed convolutions and pools."""
    rng = n.rng
    for i in range(NODES):
        rank, channels = int(rng.randint(1, 4)), int(rng.choice([2, 4, 6]))
        x = n.input(f"x{i}", [int(rng.randint(1, 4)), channels] + sizes(rng, rank, 8, 13))
        y = (convolution, transposed, pool)[i % 3](n, x, rng, rank, channels)
        n.output(y, f"y{i}", rank=rank + 2)

