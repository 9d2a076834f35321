"""Families `matmul` (contractions) and `conv_pool` (convolution, pooling, im2col)."""

import math

import torch
import torch.nn.functional as TF

from .lib import UNDEFINED, Index, T, distinct, normal, stepped, transposed

INF, NAN = math.inf, math.nan


def family_matmul(f):
    rng = f.rng("matmul")
    n = lambda *shape: normal(rng, list(shape))
    n64 = lambda *shape: normal(rng, list(shape), "float64")

    def add(a, b, name, opts=None, **kw):
        flip = lambda v, on: v.transpose(-1, -2) if on and v.dim() > 1 else v
        o = opts or {}
        run = lambda x, y: torch.matmul(flip(x, o.get("transposeX")), flip(y, o.get("transposeY")))
        f.case("matmul", [a, b] + ([opts] if opts else []), run, name=name, **kw)

    add(n(2, 3), n(3, 4), "matrices")
    add(n64(2, 3), n64(3, 2), "float64", second=True)
    add(n(3), n(3), "vectors give rank 0")
    add(n(3), n(3, 2), "vector and matrix")
    add(n(2, 3), n(3), "matrix and vector")
    add(n(2, 2, 3), n(2, 3, 2), "batch")
    add(n(2, 1, 2, 3), n(3, 3, 2), "batches broadcast")
    add(n(2, 2, 3), n(3), "batch and vector")
    add(n(3), n(2, 3, 2), "vector and batch")
    add(n(2, 2, 3), n(3, 2), "batch and matrix")
    add(n(3, 2), n(3, 4), "transposeX", {"transposeX": True})
    add(n(2, 3), n(4, 3), "transposeY", {"transposeY": True})
    add(n64(2, 3, 2), n64(2, 4, 3), "both, batch, float64", {"transposeX": True, "transposeY": True})
    add(transposed(n(2, 3)), n(3, 2), "transposed view left")
    add(n(2, 3), transposed(n(3, 2)), "transposed view right")
    add(stepped(rng, n(2, 3)), stepped(rng, n(3, 2), 0), "stepped views")
    add(T(n(2, 1).array).view("expand", [2, 3]), n(3, 2), "expanded view")
    add(n(2, 0), n(0, 3), "nothing to sum gives zeros")
    add(n(0, 3), n(3, 2), "no rows")
    add(n(0, 2, 3), n(3, 2), "empty batch")
    add(n(1, 1), n(1, 1), "one by one")
    add(n(17, 9), n(9, 19), "odd sizes past a tile")
    add(n(4, 33), n(33, 5), "long sums")
    add(T([[NAN, 0], [1, 2]]), T([[0.0, 1], [1, 1]]), "NaN", grad=False)
    add(T([[INF, 1], [0, 1]]), T([[1.0, 0], [1, 1]]), "Inf times 0 is NaN", grad=False)

    def both(fn, a, b, compute, name, **kw):
        f.case(fn, [a, b], compute, name=name, **kw)

    both("mm", n(2, 3), n(3, 4), torch.mm, "matrices")
    both("mm", n64(2, 3), n64(3, 2), torch.mm, "float64", second=True)
    both("mm", transposed(n(2, 3)), transposed(n(3, 2)), torch.mm, "transposed")
    both("mm", n(2, 0), n(0, 2), torch.mm, "nothing to sum")
    both("bmm", n(2, 2, 3), n(2, 3, 4), torch.bmm, "batch")
    both("bmm", n64(2, 2, 3), n64(2, 3, 2), torch.bmm, "float64", second=True)
    both("bmm", transposed(n(2, 2, 3)), n(2, 3, 2), torch.bmm, "batch axis not outermost in memory")
    both("bmm", n(0, 2, 3), n(0, 3, 2), torch.bmm, "empty batch")
    both("dot", n(4), n(4), torch.dot, "vectors")
    both("dot", n64(4), n64(4), torch.dot, "float64", second=True)
    both("dot", n(0), n(0), torch.dot, "empty gives 0")
    both("dot", stepped(rng, n(4)), n(4), torch.dot, "stepped")
    both("outer", n(2), n(3), torch.outer, "vectors")
    both("outer", n64(2), n64(3), torch.outer, "float64", second=True)
    both("outer", stepped(rng, n(2)), stepped(rng, n(3)), torch.outer, "stepped")
    both("outer", n(0), n(3), torch.outer, "empty")

    def add_mm(a, b, c, opts, name, **kw):
        f.case("addmm", [a, b, c] + ([opts] if opts else []),
               lambda x, y, z: torch.addmm(x, y, z, beta=opts.get("beta", 1), alpha=opts.get("alpha", 1)), name=name, **kw)
    add_mm(n(2, 4), n(2, 3), n(3, 4), {}, "plain")
    add_mm(n(4), n(2, 3), n(3, 4), {}, "bias row broadcasts")
    add_mm(n64(2, 2), n64(2, 3), n64(3, 2), {"alpha": 0.5, "beta": -2}, "alpha and beta, float64", second=True)
    add_mm(n(2, 1), transposed(n(2, 3)), transposed(n(3, 4)), {"alpha": 2}, "views")
    add_mm(n(2, 2), n(2, 0), n(0, 2), {"beta": 3}, "nothing to sum")

    def ein(spec, ts, name=None, **kw):
        f.case("einsum", [spec, *ts], lambda *vs: torch.einsum(spec, *vs), name=name or spec, **kw)
    ein("ij,jk->ik", [n(2, 3), n(3, 4)])
    ein("ij,jk", [n64(2, 3), n64(3, 2)], "implicit output, float64", second=True)
    ein("bij,bjk->bik", [n(2, 2, 3), n(2, 3, 2)])
    ein("bhqd,bhkd->bhqk", [n(1, 2, 3, 2), n(1, 2, 4, 2)])
    ein("...ij,...jk->...ik", [n(2, 1, 2, 3), n(4, 3, 2)], "ellipsis broadcasts")
    ein("ii->i", [n(3, 3)], "diagonal")
    ein("ii", [n(3, 3)], "trace")
    ein("ij->ji", [n(2, 3)], "transpose")
    ein("ij->j", [n(2, 3)], "sum of rows")
    ein("ij->", [n(2, 3)], "sum of all")
    ein("i,j->ij", [n(2), n(3)], "outer")
    ein("ij,ij->", [n(2, 3), n(2, 3)], "inner of all")
    ein("ba", [n(2, 3)], "implicit output is alphabetical")
    ein("ij,jk,kl->il", [n(2, 3), n(3, 2), n(2, 4)], "three")
    ein("i j, j k -> i k", [n(2, 3), n(3, 2)], "spaces")
    ein("i...,i->...", [n(2, 3, 2), n(2)], "ellipsis out")
    ein("ij,jk->ik", [transposed(n(2, 3)), stepped(rng, n(3, 2))], "views")
    ein("ij,jk->ik", [n(2, 0), n(0, 3)], "nothing to sum")
    ein(",ij->ij", [n(), n(2, 2)], "rank 0")

    def tensordot(a, b, axes, name, **kw):
        f.case("tensordot", [a, b, axes], lambda x, y: torch.tensordot(x, y, axes), name=name, **kw)
    tensordot(n(2, 3), n(3, 4), 1, "one axis")
    tensordot(n64(2, 3, 2), n64(3, 2, 2), 2, "two axes, float64", second=True)
    tensordot(n(2, 3, 4), n(4, 2), [[2, 0], [0, 1]], "named axes")
    tensordot(n(2), n(3), 0, "outer")
    tensordot(n(2, 3), n(2, 3), 2, "all axes give rank 0")
    tensordot(transposed(n(2, 3)), stepped(rng, n(3, 2)), [[1], [0]], "views")

    rng = f.rng("F.linear")
    # Plesio's weight is [in, out]; PyTorch's is [out, in].
    def linear(x, w, b, name, **kw):
        run = lambda x, w, *b: TF.linear(x, w.transpose(0, 1), *b)
        f.case("F.linear", [x, w] + ([b] if b else []), run, name=name, **kw)
    linear(n(2, 3), n(3, 4), n(4), "bias")
    linear(n(2, 3), n(3, 4), None, "no bias")
    linear(n64(2, 3), n64(3, 2), n64(2), "float64", second=True)
    linear(n(3), n(3, 2), n(2), "vector")
    linear(n(2, 2, 3), n(3, 2), n(2), "leading axes")
    linear(n(0, 3), n(3, 2), n(2), "empty batch")
    linear(transposed(n(2, 3)), transposed(n(3, 2)), stepped(rng, n(2)), "views")


def torch_conv(x, w, b, o):
    """conv2d with Plesio's paddings: number, [h, w], [[t, b], [l, r]], "same", "valid"."""
    pair = lambda v: [v, v] if isinstance(v, int) else list(v)
    stride, dilation, padding = pair(o.get("stride", 1)), pair(o.get("dilation", 1)), o.get("padding", 0)
    if padding == "valid":
        padding = 0
    if padding == "same":
        sides = []
        for k in range(2):
            size, kernel = x.shape[2 + k], (w.shape[2 + k] - 1) * dilation[k] + 1
            total = max((math.ceil(size / stride[k]) - 1) * stride[k] + kernel - size, 0)
            sides.append([total // 2, total - total // 2])
    elif isinstance(padding, list) and isinstance(padding[0], list):
        sides = padding
    else:
        sides = [[p, p] for p in pair(padding)]
    x = TF.pad(x, [*sides[1], *sides[0]])
    return TF.conv2d(x, w, b, stride, 0, dilation, o.get("groups", 1))


def family_conv_pool(f):
    rng = f.rng("F.conv2d")
    n = lambda *shape: normal(rng, list(shape))
    n64 = lambda *shape: normal(rng, list(shape), "float64")

    def conv(x, w, b, o, name, **kw):
        args = [x, w] + ([b] if b else []) + ([] if not o else [o] if b else [UNDEFINED, o])
        f.case("F.conv2d", args, lambda x, w, *b: torch_conv(x, w, b[0] if b else None, o), name=name, **kw)

    conv(n(1, 1, 4, 4), n(1, 1, 3, 3), None, {}, "plain")
    conv(n(2, 2, 5, 4), n(3, 2, 3, 2), n(3), {}, "batch, channels, bias")
    conv(n64(1, 2, 4, 4), n64(2, 2, 3, 3), n64(2), {"padding": 1}, "float64", second=True)
    conv(n64(1, 2, 5, 5), n64(2, 1, 2, 2), None, {"stride": 2, "groups": 2, "dilation": 2}, "float64, stride, groups, dilation", second=True)
    conv(n(1, 2, 5, 6), n(2, 2, 3, 3), n(2), {"padding": 1, "stride": 2}, "padding and stride")
    conv(n(1, 1, 5, 6), n(1, 1, 3, 3), None, {"stride": [2, 1], "padding": [0, 2]}, "pairs")
    conv(n(1, 1, 5, 5), n(1, 1, 3, 2), None, {"padding": [[1, 0], [0, 2]]}, "padding of each side")
    conv(n(1, 1, 6, 6), n(1, 1, 3, 3), None, {"dilation": 2}, "dilation")
    conv(n(1, 1, 6, 7), n(1, 1, 2, 3), None, {"dilation": [3, 2], "padding": [1, 2]}, "dilations")
    conv(n(1, 4, 4, 4), n(4, 2, 3, 3), n(4), {"groups": 2, "padding": 1}, "groups")
    conv(n(2, 3, 4, 4), n(3, 1, 3, 3), None, {"groups": 3, "padding": 1}, "depthwise")
    conv(n(1, 2, 4, 4), n(4, 1, 2, 2), n(4), {"groups": 2}, "depthwise, multiplier 2")
    conv(n(2, 3, 3, 3), n(4, 3, 1, 1), n(4), {}, "1 by 1")
    conv(n(1, 2, 4, 5), n(2, 2, 1, 1), None, {"stride": 2}, "1 by 1, stride")
    conv(n(1, 1, 5, 5), n(1, 1, 3, 3), None, {"padding": "same"}, "same")
    conv(n(1, 1, 5, 6), n(1, 1, 3, 2), None, {"padding": "same", "stride": 2}, "same, stride, uneven")
    conv(n(1, 1, 6, 6), n(1, 1, 3, 3), None, {"padding": "same", "dilation": 2}, "same, dilation")
    conv(n(1, 1, 5, 5), n(1, 1, 3, 3), None, {"padding": "valid", "stride": 2}, "valid")
    conv(n(1, 1, 5, 5), n(1, 1, 2, 2), None, {"stride": 3}, "rows and columns left over")
    conv(n(1, 2, 3, 3), n(2, 2, 3, 3), None, {}, "kernel as large as the image")
    conv(n(1, 1, 3, 3), n(1, 1, 2, 2), None, {"stride": 3, "padding": 2}, "windows of padding only")
    conv(n(0, 2, 4, 4), n(3, 2, 3, 3), n(3), {}, "empty batch")
    conv(transposed(n(2, 2, 4, 4)), n(3, 2, 3, 3), None, {}, "transposed batch and channels")
    conv(n(1, 2, 4, 4).view("permute", [0, 1, 3, 2]), n(2, 2, 2, 3).view("permute", [1, 0, 3, 2]), None, {}, "permuted views")
    conv(T(n(1, 4, 4, 2).array).view("permute", [0, 3, 1, 2]), n(2, 2, 3, 3), None, {"padding": 1}, "channels last in memory")
    conv(n(2, 3, 9, 11), n(5, 3, 3, 3), n(5), {"padding": 1}, "larger, odd sizes")
    conv(n(1, 1, 20, 3), n(2, 1, 5, 1), None, {"stride": [2, 1], "padding": [2, 0]}, "tall")
    pools(f)
    columns(f)


def pools(f):
    pair = lambda v: [v, v] if isinstance(v, int) else list(v)
    rng = f.rng("F.maxPool2d")
    d = lambda *shape, dtype="float32": distinct(rng, list(shape), dtype, 0.25)

    def pool(x, kernel, o, name, **kw):
        def run(v):
            out, index = TF.max_pool2d(v, kernel, o.get("stride"), o.get("padding", 0), 1, o.get("ceilMode", False),
                                       return_indices=True)
            return [out, Index(index)] if o.get("returnMask") else out
        f.case("F.maxPool2d", [x, kernel] + ([o] if o else []), run, name=name, **kw)

    pool(d(1, 1, 4, 4), 2, {}, "stride is the kernel by default")
    pool(d(2, 2, 5, 5), 2, {}, "left over")
    pool(d(1, 2, 5, 6), 3, {"stride": 2, "padding": 1}, "overlapping, padded")
    pool(d(1, 1, 6, 5), [2, 3], {"stride": [1, 2], "padding": [1, 0]}, "pairs")
    pool(d(1, 1, 5, 5), 2, {"ceilMode": True}, "ceilMode")
    pool(d(1, 1, 6, 6, dtype="float64"), 3, {"stride": 2, "ceilMode": True}, "float64, ceilMode")
    pool(d(2, 2, 4, 4), 2, {"returnMask": True}, "mask")
    pool(d(1, 2, 5, 6), 3, {"stride": 2, "padding": 1, "returnMask": True}, "mask, padded")
    pool(T([[[[1.0, 1, 0, 0], [1, 1, 0, 0]]]]), 2, {"returnMask": True}, "ties: the first")
    pool(T([[[[-5.0, -4], [-3, -2]]]]), 3, {"stride": 1, "padding": 1}, "padding never wins")
    pool(T([[[[NAN, 1], [2, 3]], [[INF, 1], [-INF, 0]]]]), 2, {}, "NaN and Inf", grad=False)
    pool(d(0, 2, 4, 4), 2, {}, "empty batch")
    pool(d(1, 2, 4, 4).view("permute", [0, 1, 3, 2]), 2, {}, "transposed planes")
    pool(T(d(1, 4, 4, 2).array).view("permute", [0, 3, 1, 2]), 2, {}, "channels last in memory")

    rng = f.rng("F.avgPool2d")
    n = lambda *shape, dtype="float32": normal(rng, list(shape), dtype)

    def average(x, kernel, o, name, **kw):
        def run(v):
            return TF.avg_pool2d(v, kernel, o.get("stride"), o.get("padding", 0), o.get("ceilMode", False),
                                 count_include_pad=not o.get("exclusive", True))
        f.case("F.avgPool2d", [x, kernel] + ([o] if o else []), run, name=name, **kw)

    average(n(1, 1, 4, 4), 2, {}, "stride is the kernel by default")
    average(n(2, 2, 5, 5), 2, {}, "left over")
    average(n(1, 2, 5, 6), 3, {"stride": 2, "padding": 1}, "padding is not counted")
    average(n(1, 2, 5, 6), 3, {"stride": 2, "padding": 1, "exclusive": False}, "padding is counted")
    average(n(1, 1, 6, 5), [2, 3], {"stride": [1, 2], "padding": [1, 0]}, "pairs")
    average(n(1, 1, 5, 5), 2, {"ceilMode": True}, "ceilMode")
    average(n(1, 1, 5, 5), 2, {"ceilMode": True, "exclusive": False}, "ceilMode, padding is counted")
    average(n(1, 1, 6, 6), 3, {"stride": 2, "padding": 1, "ceilMode": True, "exclusive": False}, "ceilMode past the padding")
    average(n(1, 2, 4, 4, dtype="float64"), 2, {"stride": 1}, "float64")
    average(T([[[[NAN, 1], [2, 3]], [[INF, 1], [2, 0]]]]), 2, {}, "NaN and Inf", grad=False)
    average(n(0, 2, 4, 4), 2, {}, "empty batch")
    average(T(n(1, 4, 4, 2).array).view("permute", [0, 3, 1, 2]), 2, {}, "channels last in memory")

    for fn, compute, make in (
        ("F.adaptiveAvgPool2d", TF.adaptive_avg_pool2d, normal), ("F.adaptiveMaxPool2d", TF.adaptive_max_pool2d, distinct),
    ):
        rng = f.rng(fn)
        add = lambda x, size, name, **kw: f.case(fn, [x, size], lambda v: compute(v, size), name=name, **kw)
        add(make(rng, [1, 2, 4, 4]), 2, "even")
        add(make(rng, [1, 2, 5, 7]), [3, 2], "uneven windows overlap")
        add(make(rng, [2, 2, 3, 4]), 1, "global")
        add(make(rng, [1, 1, 2, 3]), [4, 5], "larger than the input")
        add(make(rng, [1, 2, 5, 5], "float64"), 3, "float64")
        add(make(rng, [1, 2, 4, 5]).view("permute", [0, 1, 3, 2]), 2, "transposed planes")


def columns(f):
    rng = f.rng("F.unfold")
    def add(x, kernel, o, name, **kw):
        f.case("F.unfold", [x, kernel] + ([o] if o else []),
               lambda v: TF.unfold(v, kernel, o.get("dilations", 1), o.get("paddings", 0), o.get("strides", 1)),
               name=name, **kw)
    n = lambda *shape, dtype="float32": normal(rng, list(shape), dtype)
    add(n(1, 1, 3, 3), 2, {}, "plain")
    add(n(2, 2, 4, 3), [2, 3], {}, "channels, pair")
    add(n(1, 1, 5, 5), 3, {"strides": 2, "paddings": 1}, "stride and padding")
    add(n(1, 1, 5, 6), 2, {"dilations": [2, 3]}, "dilations")
    add(n(1, 2, 4, 4, dtype="float64"), 2, {"strides": [1, 2], "paddings": [0, 1]}, "float64, pairs")
    add(n(1, 2, 4, 3).view("permute", [0, 1, 3, 2]), 2, {}, "transposed planes")
