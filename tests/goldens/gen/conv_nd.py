"""Family `conv_nd`: convolution and pooling of sequences and volumes, transposed convolution, their layers."""

import math

import torch
import torch.nn.functional as TF

from .lib import Index, T, UNDEFINED, between, distinct, normal


def layer(f, fn, ctor, call, compute, name, *, params=None, buffers=None, mode=None, wrt=None, after=(), **kw):
    """A case of a layer; `params` (state names) and `buffers` are set before the call of `call`."""
    extra = {"call": call}
    for key, value in (("params", params), ("buffers", buffers), ("mode", mode)):
        if value:
            extra[key] = value
    if wrt is None:
        wrt = list(range(len(call) + len(params or {})))
    f.case("nn." + fn, ctor, compute, name=name, extra=extra, wrt=wrt, after=after, **kw)


def spread(value, rank):
    return [value] * rank if isinstance(value, int) else list(value)


def sides(padding, sizes, kernel, stride, dilation):
    """Plesio's paddings as [before, after] for each axis."""
    rank = len(sizes)
    if padding == "valid":
        return [[0, 0]] * rank
    if padding == "same":
        ends = []
        for n, k, s, d in zip(sizes, kernel, stride, dilation):
            total = max((math.ceil(n / s) - 1) * s + (k - 1) * d + 1 - n, 0)
            ends.append([total // 2, total - total // 2])
        return ends
    if isinstance(padding, list) and isinstance(padding[0], list):
        return padding
    return [[p, p] for p in spread(padding, rank)]


CONV = {1: TF.conv1d, 2: TF.conv2d, 3: TF.conv3d}
TRANSPOSE = {1: TF.conv_transpose1d, 2: TF.conv_transpose2d, 3: TF.conv_transpose3d}


def conv(x, w, b, o):
    """Pads first, so that sides may differ."""
    rank = x.dim() - 2
    stride, dilation = spread(o.get("stride", 1), rank), spread(o.get("dilation", 1), rank)
    ends = sides(o.get("padding", 0), x.shape[2:], w.shape[2:], stride, dilation)
    x = TF.pad(x, [n for pair in reversed(ends) for n in pair])
    return CONV[rank](x, w, b, stride, 0, dilation, o.get("groups", 1))


def transpose(x, w, b, o):
    """Without padding, then cut to size: sides may differ, and Paddle's outputPadding ends where padding begins."""
    rank = x.dim() - 2
    stride, dilation = spread(o.get("stride", 1), rank), spread(o.get("dilation", 1), rank)
    ends = sides(o.get("padding", 0), x.shape[2:], w.shape[2:], stride, dilation)
    whole = TRANSPOSE[rank](x, w, None, stride, 0, 0, o.get("groups", 1), dilation)
    for axis, (before, after) in enumerate(ends):
        size = whole.shape[2 + axis] - before - after
        if "outputSize" in o:
            size = spread(o["outputSize"], rank)[axis]
        else:
            size += spread(o.get("outputPadding", 0), rank)[axis]
        short = max(before + size - whole.shape[2 + axis], 0)
        whole = TF.pad(whole, [0, 0] * (rank - 1 - axis) + [0, short])
        whole = whole.narrow(2 + axis, before, size)
    return whole if b is None else whole + b.reshape([-1] + [1] * rank)


def family_conv_nd(f):
    def case(fn, x, w, b, o, name, **kw):
        run = conv if "Transpose" not in fn else transpose
        args = [x, w] + ([b] if b else []) + ([] if not o else [o] if b else [UNDEFINED, o])
        f.case("F." + fn, args, lambda x, w, *b: run(x, w, b[0] if b else None, o), name=name, **kw)

    rng = f.rng("F.conv1d")
    n = lambda *s: normal(rng, list(s))
    n64 = lambda *s: normal(rng, list(s), "float64")
    case("conv1d", n(1, 1, 5), n(1, 1, 3), None, {}, "plain")
    case("conv1d", n(2, 2, 6), n(3, 2, 3), n(3), {"padding": 1}, "batch, channels, bias, padding")
    case("conv1d", n64(2, 4, 7), n64(2, 2, 2), n64(2), {"stride": 2, "dilation": 2, "groups": 2}, "float64, options", second=True)
    case("conv1d", n(1, 2, 5), n(2, 2, 3), None, {"padding": [[2, 0]]}, "causal")
    case("conv1d", n(1, 2, 7), n(2, 2, 4), None, {"padding": "same", "stride": 2}, "same, stride")
    case("conv1d", n(2, 5, 3).view("permute", [0, 2, 1]), n(2, 3, 2), None, {}, "channels last in memory")

    case("conv3d", n(1, 1, 3, 3, 3), n(1, 1, 2, 2, 2), None, {}, "plain")
    case("conv3d", n(2, 2, 3, 4, 3), n(3, 2, 3, 3, 3), n(3), {"padding": 1}, "batch, channels, bias, padding")
    case("conv3d", n64(1, 2, 4, 4, 3), n64(2, 1, 2, 2, 2), n64(2),
         {"stride": [2, 1, 1], "dilation": [1, 2, 1], "groups": 2}, "float64, options", second=True)
    case("conv3d", n(1, 1, 3, 3, 4), n(2, 1, 2, 1, 3), None, {"padding": [[1, 0], [0, 2], [0, 1]]}, "padding of each side")
    case("conv3d", n(1, 2, 5, 3, 4), n(1, 2, 3, 2, 3), None, {"padding": "same", "stride": 2}, "same, stride")
    case("conv3d", n(2, 2, 3, 4, 2).view("permute", [0, 1, 3, 2, 4]), n(2, 2, 1, 2, 2), None, {}, "permuted view")

    for rank in (1, 2, 3):
        fn = f"conv{rank}dTranspose"
        case(fn, n(1, 1, *[3] * rank), n(1, 1, *[2] * rank), None, {}, "plain")
        case(fn, n(2, 3, *[3, 2, 2][:rank]), n(3, 2, *[3, 2, 2][:rank]), n(2), {"stride": 2, "padding": 1}, "bias, stride, padding")
        case(fn, n64(1, 4, *[3, 2, 2][-rank:]), n64(4, 1, *[2] * rank), n64(2),
             {"stride": 2, "dilation": 2, "groups": 2, "outputPadding": 1}, "float64, options", second=True)
        case(fn, n(1, 2, *[3, 2, 2][:rank]), n(2, 1, *[3] * rank), None,
             {"stride": 3, "padding": [[1, 0], [0, 2], [1, 1]][:rank]}, "padding of each side")
        case(fn, n(1, 1, *[2] * rank), n(1, 2, *[3] * rank), None, {"stride": 2, "outputSize": [6, 5, 6][:rank]}, "outputSize")
        case(fn, n(1, 2, *[4, 3, 2][:rank]), n(2, 1, *[3, 3, 2][:rank]), None, {"stride": 2, "padding": "same"}, "same")
    pools(f)
    layers(f)


def pools(f):
    rng = f.rng("F.maxPool1d")
    n = lambda *s: normal(rng, list(s))
    d = lambda *s: distinct(rng, list(s))
    shapes = {1: [1, 2, 7], 3: [1, 2, 4, 5, 4]}
    for rank in (1, 3):
        top = TF.max_pool1d if rank == 1 else TF.max_pool3d
        mean = TF.avg_pool1d if rank == 1 else TF.avg_pool3d
        for o, name in (
            ({}, "kernel"),
            ({"stride": 1}, "overlapping"),
            ({"stride": 2, "padding": 1}, "padding"),
            ({"stride": 2, "padding": 1, "ceilMode": True}, "ceilMode"),
        ):
            kernel = 2 if not o else 3
            given = [o] if o else []
            run = lambda x: top(x, kernel, o.get("stride"), o.get("padding", 0), ceil_mode=o.get("ceilMode", False))
            f.case(f"F.maxPool{rank}d", [d(*shapes[rank]), kernel, *given], run, name=name)
            for exclusive in (True, False):
                options = {**o, **({} if exclusive else {"exclusive": False})}
                run = lambda x: mean(x, kernel, o.get("stride"), o.get("padding", 0), o.get("ceilMode", False), not exclusive)
                f.case(f"F.avgPool{rank}d", [n(*shapes[rank]), kernel, *([options] if options else [])], run,
                       name=name + ("" if exclusive else ", padding is counted"))
        def masked(x):
            values, where = top(x, 2, 2, 0, return_indices=True)
            return [values, Index(where)]
        f.case(f"F.maxPool{rank}d", [d(*shapes[rank]), 2, {"returnMask": True}], masked, name="returnMask")
        ties = T(rng.integers(0, 2, shapes[rank]), "float32")
        f.case(f"F.maxPool{rank}d", [ties, 3, {"stride": 1, "returnMask": True}],
               lambda x: (lambda o: [o[0], Index(o[1])])(top(x, 3, 1, 0, return_indices=True)), name="ties: the first")


def layers(f):
    rng = f.rng("layers")
    n = lambda *s: normal(rng, list(s))
    both = lambda w, b: {"weight": w, "bias": b}
    layer(f, "Conv1D", [2, 3, 3], [n(1, 2, 5)], TF.conv1d, "plain", params=both(n(3, 2, 3), n(3)))
    layer(f, "Conv1D", [2, 4, 2, {"stride": 2, "padding": 1, "groups": 2, "bias": False}], [n(2, 2, 5)],
          lambda x, w: TF.conv1d(x, w, None, 2, 1, 1, 2), "options", params={"weight": n(4, 1, 2)})
    layer(f, "Conv3D", [1, 2, [1, 2, 2], {"padding": [0, 1, 0]}], [n(1, 1, 2, 2, 3)],
          lambda x, w, b: TF.conv3d(x, w, b, 1, [0, 1, 0]), "kernel and padding an axis", params=both(n(2, 1, 1, 2, 2), n(2)))
    layer(f, "Conv1DTranspose", [3, 2, 3, {"stride": 2}], [n(1, 3, 3)],
          lambda x, w, b: TF.conv_transpose1d(x, w, b, 2), "stride", params=both(n(3, 2, 3), n(2)))
    layer(f, "Conv2DTranspose", [2, 2, 3, {"stride": 2, "padding": 1, "outputPadding": 1, "groups": 2}], [n(1, 2, 2, 3)],
          lambda x, w, b: TF.conv_transpose2d(x, w, b, 2, 1, 1, 2), "options", params=both(n(2, 1, 3, 3), n(2)))
    layer(f, "Conv2DTranspose", [1, 1, 2, {"stride": 2, "bias": False}], [n(1, 1, 2, 2), [5, 4]],
          lambda x, w: TF.pad(TF.conv_transpose2d(x, w, None, 2), [0, 0, 0, 1]), "outputSize of the call",
          params={"weight": n(1, 1, 2, 2)}, wrt=[0, 1])
    layer(f, "Conv3DTranspose", [1, 2, 2], [n(1, 1, 2, 1, 2)], TF.conv_transpose3d, "plain", params=both(n(1, 2, 2, 2, 2), n(2)))

    for training in (True, False):
        def norm(x, w, b, m, v):
            out = TF.batch_norm(x, m.detach().clone(), v.detach().clone(), w, b, training, 0.0, 1e-5)
            if not training:
                return [out], {3: m, 4: v}
            dims = [0, 2, 3, 4]
            mean, var = x.detach().mean(dims), x.detach().var(dims, correction=0)
            return [out], {3: m * 0.9 + mean * 0.1, 4: v * 0.9 + var * 0.1}
        layer(f, "BatchNorm3D", [2], [n(2, 2, 2, 1, 2)], norm, "train" if training else "eval", params=both(n(2), n(2)),
              buffers={"runningMean": n(2), "runningVar": between(rng, [2], 0.5, 2)},
              mode="train" if training else "eval", after=(3, 4))
    for rank, tail in ((1, [6]), (3, [2, 4, 2])):
        top, mean = (TF.max_pool1d, TF.avg_pool1d) if rank == 1 else (TF.max_pool3d, TF.avg_pool3d)
        layer(f, f"MaxPool{rank}D", [2], [distinct(rng, [1, 2, *tail])], lambda x: top(x, 2), "kernel")
        layer(f, f"AvgPool{rank}D", [2, {"stride": 1, "padding": 1}], [n(1, 2, *tail)],
              lambda x: mean(x, 2, 1, 1, False, False), "padding is not counted")
