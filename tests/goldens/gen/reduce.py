"""Families `reduce` (reductions, positions of extremes, cumulative functions) and `creation`."""

import math

import numpy as np
import torch

from .lib import UNDEFINED, Index, T, bools, distinct, ints, normal, stepped, transposed

INF, NAN = math.inf, math.nan


def family_reduce(f):
    float_reductions(f)
    truth(f)
    norms(f)
    positions(f)
    cumulative(f)


def options(keepdim):
    return [{"keepdim": True}] if keepdim else []


def calls(f, fn, compute, make, *, second=False, empty=True):
    """The axis variants every reduction gets. `compute(x, axes | None, keepdim)`."""
    rng = f.rng(fn)
    axes_of = lambda t, axis: list(range(t.array.ndim)) if axis is None else axis
    def add(t, axis, keepdim, name, **kw):
        args = [t] + ([] if axis is None and not keepdim else [UNDEFINED if axis is None else axis]) + options(keepdim)
        f.case(fn, args, lambda v: compute(v, axes_of(t, axis), keepdim), name=name, **kw)
    add(make(rng, [2, 3]), None, False, "all")
    add(make(rng, [2, 3]), None, True, "all, keepdim")
    add(make(rng, [2, 3, 4]), 1, False, "middle axis")
    add(make(rng, [2, 3, 4]), -1, True, "last axis, keepdim")
    add(make(rng, [2, 3, 4]), [0, 2], False, "two axes")
    add(make(rng, [2, 3, 4]), [-1, 0], True, "two axes, keepdim, unordered")
    add(make(rng, [7], "float64"), None, False, "float64", second=second)
    add(make(rng, [2, 5], "float64"), 1, False, "float64 rows", second=second)
    add(make(rng, []), None, False, "rank 0")
    add(transposed(make(rng, [4, 3])), 0, False, "transposed")
    add(stepped(rng, make(rng, [3, 2]), 0), 1, False, "stepped")
    add(T(make(rng, [1, 3]).array).view("expand", [4, 3]), 0, False, "expanded")
    if empty:
        add(make(rng, [0, 3]), None, False, "empty", grad=fn not in ("mean", "nanMean"))
        add(make(rng, [0, 3]), 0, False, "empty axis")
        add(make(rng, [0, 3]), 1, False, "empty other axis")


def float_reductions(f):
    def prod(v, axes, keepdim):
        axes = [axes] if isinstance(axes, int) else axes
        for axis in sorted((a % v.dim() for a in axes), reverse=True):
            v = torch.prod(v, axis, keepdim=keepdim)
        return v

    away = lambda rng, shape, dtype="float32": T(rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape), dtype)
    spread = lambda rng, shape, dtype="float32": distinct(rng, shape, dtype, 0.5)
    calls(f, "sum", lambda v, a, k: torch.sum(v, a, keepdim=k), normal)
    calls(f, "mean", lambda v, a, k: torch.mean(v, a, keepdim=k), normal)
    calls(f, "prod", prod, away, second=True)
    calls(f, "logSumExp", lambda v, a, k: torch.logsumexp(v, a, keepdim=k), normal, second=True)
    calls(f, "nanSum", lambda v, a, k: torch.nansum(v, a, keepdim=k), normal)
    calls(f, "nanMean", lambda v, a, k: torch.nanmean(v, a, keepdim=k), normal)
    for fn, compute in (("max", torch.amax), ("min", torch.amin), ("amax", torch.amax), ("amin", torch.amin)):
        calls(f, fn, lambda v, a, k: compute(v, a, keepdim=k), spread, empty=False)
        f.case(fn, [T([[3.0, 1, 3], [1, 1, 1]]), 1], lambda v: compute(v, 1), name="ties share the gradient")
        f.case(fn, [T([[3.0, 1, 3], [1, 1, 1]])], lambda v: compute(v, [0, 1]), name="ties share the gradient, all")
        f.case(fn, [T([[NAN, 1], [2, 3], [INF, -INF]]), 1], lambda v: compute(v, 1), name="NaN and Inf", grad=False)
        f.case(fn, [normal(f.rng(fn), [0, 3]), 1], lambda v: compute(v, 1), name="empty other axis", grad=False)
        f.case(fn, [T([0.0, -0.0])], lambda v: compute(v, 0), name="zeros", grad=False)
        for dtype in ("int32", "int64"):
            f.case(fn, [ints(f.rng(fn), [2, 3], -99, 100, dtype), 0], lambda v: compute(v, 0), name=dtype, grad=False)
        f.case(fn, [T([2**53, 2**53 + 1], "int64")], lambda v: compute(v, 0), name="int64 past 2^53", grad=False)
    for fn, torch_fn in (("variance", torch.var), ("std", torch.std)):
        spreads(f, fn, torch_fn)
    for dtype in ("int32", "int64"):
        rng = f.rng("sum")
        x = ints(rng, [2, 3], -99, 100, dtype)
        f.case("sum", [x], torch.sum, name=f"{dtype} gives int64", grad=False)
        f.case("sum", [x, 0], lambda v: torch.sum(v, 0), name=f"{dtype} axis gives int64", grad=False)
        f.case("prod", [ints(rng, [2, 3], 1, 5, dtype), 1], lambda v: torch.prod(v, 1), name=f"{dtype} gives int64", grad=False)
        f.case("sum", [x, UNDEFINED, {"dtype": "float64"}], lambda v: torch.sum(v, dtype=torch.float64),
               name=f"{dtype} as float64", grad=False)
    f.case("sum", [T([2**31 - 1, 2**31 - 1], "int32")], torch.sum, name="int32 past its range", grad=False)
    f.case("sum", [T([2**53 + 1, 2, 0], "int64")], torch.sum, name="int64 past 2^53", grad=False)
    f.case("sum", [T([[True, False], [True, True]], "bool"), 1], lambda v: torch.sum(v, 1), name="bool gives int64", grad=False)
    f.case("sum", [T([1e8, 1, -1e8]), UNDEFINED, {"dtype": "float64"}], lambda v: torch.sum(v, dtype=torch.float64),
           name="float32 as float64", native=True)
    for fn, compute in (("sum", torch.sum), ("mean", torch.mean), ("nanSum", torch.nansum), ("nanMean", torch.nanmean)):
        f.case(fn, [T([[NAN, 1, 2], [INF, 1, 2], [INF, -INF, 0], [NAN, NAN, NAN]]), 1], lambda v: compute(v, 1),
               name="NaN and Inf", grad=False)
    for fn, compute in (("nanSum", torch.nansum), ("nanMean", torch.nanmean)):
        f.case(fn, [T([[NAN, 1, 2], [4, NAN, NAN]]), 1], lambda v: compute(v, 1), name="gradient past NaN")
    f.case("prod", [T([[0.0, 2, 3], [4, 0, 0], [2, 3, 4]]), 1], lambda v: torch.prod(v, 1), name="zeros")
    f.case("prod", [T([2.0, 0, 3], "float64")], torch.prod, name="one zero, all")
    f.case("prod", [T([0.0, 0, 3], "float64")], torch.prod, name="two zeros, all")
    lse = lambda v: torch.logsumexp(v, 1)
    f.case("logSumExp", [T([[1000.0, 1001, 0], [-1000, -1001, -1002], [-INF, 0, 1]]), 1], lse, name="far from zero")
    f.case("logSumExp", [T([[INF, 0], [-INF, -INF], [NAN, 0]]), 1], lse, name="special points", grad=False)


def spreads(f, fn, torch_fn):
    rng = f.rng(fn)
    def add(t, axis, opts, name, **kw):
        correction = 1 if opts.get("unbiased", True) else 0
        args = [t] + ([] if axis is None and not opts else [UNDEFINED if axis is None else axis]) + ([opts] if opts else [])
        dims = list(range(t.array.ndim)) if axis is None else axis
        f.case(fn, args, lambda v: torch_fn(v, dims, correction=correction, keepdim=opts.get("keepdim", False)), name=name, **kw)
    add(normal(rng, [2, 3]), None, {}, "all")
    add(normal(rng, [2, 3, 4]), 1, {}, "middle axis")
    add(normal(rng, [2, 3, 4]), [0, -1], {"keepdim": True}, "two axes, keepdim")
    add(normal(rng, [2, 5]), 1, {"unbiased": False}, "biased")
    add(normal(rng, [6], "float64"), None, {}, "float64", second=True)
    add(normal(rng, [2, 5], "float64"), -1, {"unbiased": False, "keepdim": True}, "float64 biased, keepdim", second=True)
    add(transposed(normal(rng, [4, 3])), 0, {}, "transposed")
    add(stepped(rng, normal(rng, [2, 4])), 1, {}, "stepped")
    add(T([[1.0, 1, 1]]), 1, {}, "no spread", grad=fn == "variance")
    add(T([[3.0], [4.0]]), 1, {}, "one element, unbiased", grad=False)
    add(T([[3.0], [4.0]]), 1, {"unbiased": False}, "one element, biased", grad=fn == "variance")
    x = T(10000 + np.array([1.0, 2, 3, 4, 5, 6]))
    add(x, None, {}, "large mean")
    add(T([[1, NAN, 2], [1, INF, 2]]), 1, {}, "NaN and Inf", grad=False)


def truth(f):
    for fn, compute in (("any", torch.any), ("all", torch.all)):
        rng = f.rng(fn)
        add = lambda args, run, name: f.case(fn, args, run, name=name, grad=False)
        add([bools(rng, [2, 3])], compute, "all axes")
        add([bools(rng, [2, 3, 2]), 1], lambda v: compute(v, 1), "middle axis")
        add([bools(rng, [2, 3]), -1, {"keepdim": True}], lambda v: compute(v, -1, keepdim=True), "keepdim")
        add([bools(rng, [2, 3, 2]), [0, 2]], lambda v: compute(compute(v, 2), 0), "two axes")
        add([T([[0, 0, 3], [0, 0, 0]], "int32"), 1], lambda v: compute(v, 1), "int32")
        add([T([[0.0, NAN], [0.5, -0.0], [1, 1]]), 1], lambda v: compute(v, 1), "float32, NaN is true")
        add([T(True, "bool")], compute, "rank 0")
        add([bools(rng, [0, 2])], compute, "empty")
        add([bools(rng, [0, 2]), 0], lambda v: compute(v, 0), "empty axis")
        add([transposed(bools(rng, [4, 2])), 0], lambda v: compute(v, 0), "transposed")
    rng = f.rng("countNonzero")
    add = lambda args, run, name: f.case("countNonzero", args, run, name=name, grad=False)
    add([ints(rng, [2, 3], -1, 2)], torch.count_nonzero, "int32, all")
    add([T([[0.0, -0.0, NAN], [1, 0, INF]]), 1], lambda v: torch.count_nonzero(v, 1), "float32 axis")
    add([bools(rng, [2, 3, 2]), [0, 2]], lambda v: torch.count_nonzero(v, (0, 2)), "bool two axes")
    add([bools(rng, [2, 3]), 1, {"keepdim": True}], lambda v: torch.count_nonzero(v, 1)[:, None], "keepdim")
    add([bools(rng, [0, 3])], torch.count_nonzero, "empty")
    add([transposed(ints(rng, [2, 3], 0, 2, "int64")), 0], lambda v: torch.count_nonzero(v, 0), "int64 transposed")


def norms(f):
    rng = f.rng("norm")
    def add(t, opts, name, **kw):
        p = opts.get("p", 2)
        p = 2 if p == "fro" else p
        run = lambda v: torch.linalg.vector_norm(v, p, opts.get("axis"), keepdim=opts.get("keepdim", False))
        f.case("norm", [t] + ([opts] if opts else []), run, name=name, **kw)
    add(normal(rng, [2, 3]), {}, "2-norm of all")
    add(normal(rng, [2, 3, 4]), {"axis": 1}, "middle axis")
    add(normal(rng, [2, 3, 4]), {"axis": [0, -1], "keepdim": True}, "two axes, keepdim")
    add(normal(rng, [5], "float64"), {}, "float64", second=True)
    add(normal(rng, [2, 5], "float64"), {"p": 3, "axis": 1}, "p 3", second=True)
    add(normal(rng, [2, 5], "float64"), {"p": 1.5, "axis": 1}, "p 1.5")
    add(normal(rng, [2, 5]), {"p": 1, "axis": -1}, "p 1")
    add(normal(rng, [2, 5]), {"p": INF, "axis": 1}, "p Inf")
    add(normal(rng, [2, 5]), {"p": -INF, "axis": 1}, "p -Inf")
    add(T([[0.0, 1, -2], [0, 0, 3]]), {"p": 0, "axis": 1}, "p 0 counts", grad=False)
    add(normal(rng, [2, 3]), {"p": "fro"}, "fro")
    add(T(-3.0), {}, "rank 0")
    add(T([[0.0, 0], [3, 4]]), {"axis": 1}, "gradient at zero is 0")
    add(T([[0.0, -2], [3, 4]]), {"p": 1, "axis": 1}, "p 1 gradient at zero is 0")
    add(T([]), {}, "empty", grad=False)
    add(transposed(normal(rng, [4, 3])), {"axis": 0}, "transposed")
    add(T([[NAN, 1], [INF, 1]]), {"axis": 1}, "NaN and Inf", grad=False)


def positions(f):
    for fn, compute, values in (
        ("argmax", torch.argmax, torch.max), ("argmin", torch.argmin, torch.min),
    ):
        rng = f.rng(fn)
        add = lambda args, run, name: f.case(fn, args, lambda v: Index(run(v)), name=name, grad=False)
        add([distinct(rng, [2, 3])], compute, "flattened")
        add([distinct(rng, [2, 3, 4]), 1], lambda v: compute(v, 1), "middle axis")
        add([distinct(rng, [2, 3, 4]), -1, {"keepdim": True}], lambda v: compute(v, -1, keepdim=True), "keepdim")
        add([distinct(rng, [5], "float64")], compute, "float64")
        for dtype in ("int32", "int64"):
            add([distinct(rng, [2, 4], dtype), 1], lambda v: compute(v, 1), dtype)
        add([T([[1.0, 3, 3, 1], [2, 2, 2, 2]]), 1], lambda v: compute(v, 1), "ties: the first")
        add([T([[1.0, NAN, 3, NAN], [INF, -INF, 0, 1]]), 1], lambda v: compute(v, 1), "NaN wins, Inf")
        add([T(7.0)], compute, "rank 0")
        add([transposed(distinct(rng, [4, 3])), 0], lambda v: compute(v, 0), "transposed")
        add([transposed(distinct(rng, [4, 3]))], compute, "transposed, flattened")
        add([distinct(rng, [0, 3]), 1], lambda v: compute(v, 1), "empty other axis")
        pair = {"argmax": "maxWithIndex", "argmin": "minWithIndex"}[fn]
        def both(t, axis, name, keepdim=False, **kw):
            def run(v):
                found = values(v, axis, keepdim=keepdim)
                return [found.values, Index(found.indices)]
            f.case(pair, [t, axis] + options(keepdim), run, name=name, **kw)
        both(distinct(rng, [2, 3, 4]), 1, "middle axis")
        both(distinct(rng, [2, 3]), -1, "keepdim", True)
        both(distinct(rng, [2, 4], "float64"), 1, "float64")
        both(distinct(rng, [2, 4], "int32"), 0, "int32", grad=False)
        both(T([[1.0, 3, 3, 1], [2, 2, 2, 2]]), 1, "ties: the first")
        both(T([[1.0, NAN, 3], [INF, -INF, 0]]), 1, "NaN and Inf", grad=False)
        both(transposed(distinct(rng, [4, 3])), 0, "transposed")
        both(distinct(rng, [0, 3]), 1, "empty other axis", grad=False)


def cumulative(f):
    away = lambda rng, shape, dtype="float32": T(rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape), dtype)
    for fn, compute, make in (
        ("cumsum", torch.cumsum, normal), ("cumprod", torch.cumprod, away), ("logCumSumExp", torch.logcumsumexp, normal),
    ):
        rng = f.rng(fn)
        add = lambda t, axis, name, **kw: f.case(fn, [t, axis], lambda v: compute(v, axis), name=name, **kw)
        add(make(rng, [5]), 0, "vector")
        add(make(rng, [2, 3, 2]), 1, "middle axis")
        add(make(rng, [2, 4]), -1, "negative axis")
        add(make(rng, [2, 4], "float64"), 1, "float64", second=fn == "cumprod")
        add(make(rng, [3, 2], "float64"), 0, "float64 columns")
        add(make(rng, [2, 0]), 1, "empty")
        add(make(rng, [1]), 0, "one element")
        add(transposed(make(rng, [4, 3])), 0, "transposed")
        add(stepped(rng, make(rng, [2, 4])), 1, "stepped")
        if fn != "logCumSumExp":
            for dtype in ("int32", "int64"):
                add(ints(rng, [2, 4], -4, 5, dtype), 1, f"{dtype} gives int64", grad=False)
            add(T([1, NAN, 2, INF]), 0, "NaN and Inf", grad=False)
    f.case("cumsum", [bools(f.rng("cumsum"), [5]), 0], lambda v: torch.cumsum(v, 0), name="bool gives int64", grad=False)
    f.case("cumprod", [T([[2.0, 0, 3, 4], [0, 2, 0, 3], [1, 2, 3, 4]]), 1], lambda v: torch.cumprod(v, 1), name="zeros")
    lcse = lambda v: torch.logcumsumexp(v, 0)
    f.case("logCumSumExp", [T([1000.0, 1001, -1000]), 0], lcse, name="far from zero")
    f.case("logCumSumExp", [T([-INF, -INF, 0, 1, INF]), 0], lcse, name="Inf", grad=False)
    for fn, compute in (("cummax", torch.cummax), ("cummin", torch.cummin)):
        rng = f.rng(fn)
        def add(t, axis, name, **kw):
            def run(v):
                found = compute(v, axis)
                return [found.values, Index(found.indices)]
            f.case(fn, [t, axis], run, name=name, **kw)
        add(distinct(rng, [6]), 0, "vector")
        add(distinct(rng, [2, 3, 2]), 1, "middle axis")
        add(distinct(rng, [2, 4], "float64"), -1, "float64")
        add(distinct(rng, [2, 4], "int32"), 1, "int32", grad=False)
        add(distinct(rng, [2, 4], "int64"), 0, "int64", grad=False)
        add(T([1.0, 3, 3, 1, 3, 1, 0, 0]), 0, "ties: the last")
        add(T([1.0, INF, 0, NAN, -INF, 2]), 0, "NaN stays", grad=False)
        add(distinct(rng, [0, 3]), 0, "empty")
        add(transposed(distinct(rng, [4, 3])), 0, "transposed")


def family_creation(f):
    def add(fn, args, compute, name, **kw):
        f.case(fn, args, compute, name=name, **{"grad": False, "native": True, **kw})

    for fn, make in (("zeros", torch.zeros), ("ones", torch.ones)):
        add(fn, [[2, 3]], lambda: make(2, 3), "float32 by default")
        for dtype in ("float64", "int32", "int64", "bool"):
            add(fn, [[2], {"dtype": dtype}], lambda: make(2, dtype=getattr(torch, dtype)), dtype)
        add(fn, [[]], lambda: make([]), "rank 0")
        add(fn, [[0, 2]], lambda: make(0, 2), "empty")
    add("full", [[2, 2], 1.5], lambda: torch.full([2, 2], 1.5), "float32 by default")
    add("full", [[2], 7, {"dtype": "int32"}], lambda: torch.full([2], 7, dtype=torch.int32), "int32")
    add("full", [[2], -7, {"dtype": "int64"}], lambda: torch.full([2], -7, dtype=torch.int64), "int64")
    add("full", [[], 0.1, {"dtype": "float64"}], lambda: torch.full([], 0.1, dtype=torch.float64), "float64 rank 0")
    add("full", [[3], INF], lambda: torch.full([3], INF), "Inf")
    add("full", [[0], NAN], lambda: torch.full([0], NAN), "empty")
    rng = f.rng("like")
    for fn, make in (("zerosLike", torch.zeros_like), ("onesLike", torch.ones_like)):
        for t, name in ((normal(rng, [2, 3]), "float32"), (ints(rng, [2], 0, 9, "int64"), "int64"),
                        (bools(rng, [3]), "bool"), (normal(rng, [0, 2], "float64"), "empty float64")):
            add(fn, [t], make, name)
        add(fn, [normal(rng, [2, 3]), {"dtype": "int32"}], lambda v: make(v, dtype=torch.int32), "other dtype")
        add(fn, [transposed(normal(rng, [2, 3]))], lambda v: make(v).contiguous(), "transposed")
    add("fullLike", [normal(rng, [2, 3]), 2.5], lambda v: torch.full_like(v, 2.5), "float32")
    add("fullLike", [ints(rng, [2], 0, 9), 2], lambda v: torch.full_like(v, 2), "int32")
    add("fullLike", [normal(rng, [2]), 3, {"dtype": "int64"}], lambda v: torch.full_like(v, 3, dtype=torch.int64), "other dtype")
    i32, i64, f32, f64 = ({"dtype": d} for d in ("int32", "int64", "float32", "float64"))
    kind = lambda o: getattr(torch, o["dtype"])
    for o in (i32, i64, f32, f64):
        add("arange", [5, UNDEFINED, o], lambda: torch.arange(5, dtype=kind(o)), f"end only, {o['dtype']}")
        add("arange", [2, 9, {"step": 3, **o}], lambda: torch.arange(2, 9, 3, dtype=kind(o)), f"step, {o['dtype']}")
        add("arange", [5, -4, {"step": -2, **o}], lambda: torch.arange(5, -4, -2, dtype=kind(o)), f"down, {o['dtype']}")
    add("arange", [0, 1, {"step": 0.25, **f64}], lambda: torch.arange(0, 1, 0.25, dtype=torch.float64), "fractions")
    add("arange", [3, 3, i32], lambda: torch.arange(3, 3, dtype=torch.int32), "empty")
    for o in (f32, f64):
        add("linspace", [0, 1, 5, o], lambda: torch.linspace(0, 1, 5, dtype=kind(o)), o["dtype"])
        add("linspace", [3, -2, 7, o], lambda: torch.linspace(3, -2, 7, dtype=kind(o)), f"down, {o['dtype']}")
        add("logspace", [0, 3, 4, o], lambda: torch.logspace(0, 3, 4, dtype=kind(o)), o["dtype"])
        add("logspace", [-1, 2, 5, {"base": 2, **o}], lambda: torch.logspace(-1, 2, 5, 2, dtype=kind(o)), f"base 2, {o['dtype']}")
    add("linspace", [2, 5, 1], lambda: torch.linspace(2, 5, 1), "one point is the start")
    add("linspace", [2, 5, 0], lambda: torch.linspace(2, 5, 0), "none")
    add("eye", [3], lambda: torch.eye(3), "square")
    add("eye", [2, 4], lambda: torch.eye(2, 4), "wide")
    add("eye", [3, 2, i32], lambda: torch.eye(3, 2, dtype=torch.int32), "tall int32")
    add("eye", [0], lambda: torch.eye(0), "empty")
    for fn, torch_fn in (("tril", torch.tril), ("triu", torch.triu)):
        rng = f.rng(fn)
        for k in (0, 1, -1, 5, -5):
            args = [normal(rng, [3, 4])] + ([k] if k else [])
            add(fn, args, lambda v: torch_fn(v, k), f"diagonal {k}", grad=True)
        add(fn, [normal(rng, [2, 3, 3], "float64"), -1], lambda v: torch_fn(v, -1), "batch, float64", grad=True)
        add(fn, [ints(rng, [3, 3], 1, 9)], torch_fn, "int32")
        add(fn, [bools(rng, [3, 3])], torch_fn, "bool")
        add(fn, [normal(rng, [0, 3])], torch_fn, "empty", grad=True)
        add(fn, [transposed(normal(rng, [4, 3])), 1], lambda v: torch_fn(v, 1), "transposed", grad=True)
        add(fn, [T([[NAN, INF], [INF, NAN]])], torch_fn, "NaN outside becomes 0")
    rng = f.rng("diag")
    for k in (0, 1, -2):
        args = [k] if k else []
        add("diag", [normal(rng, [3]), *args], lambda v: torch.diag(v, k), f"to a matrix, offset {k}", grad=True)
        add("diag", [normal(rng, [3, 4]), *args], lambda v: torch.diag(v, k), f"of a matrix, offset {k}", grad=True)
    add("diag", [ints(rng, [2], 1, 9)], torch.diag, "int32")
    add("diag", [stepped(rng, normal(rng, [3]))], torch.diag, "stepped", grad=True)
    add("diag", [transposed(normal(rng, [4, 3], "float64"))], torch.diag, "transposed, float64", grad=True)
    rng = f.rng("meshgrid")
    for indexing in ("ij", "xy"):
        xs = [normal(rng, [2]), normal(rng, [3])]
        add("meshgrid", [xs, {"indexing": indexing}], lambda a, b: list(torch.meshgrid(a, b, indexing=indexing)), indexing, grad=True)
        xs = [normal(rng, [2], "float64"), normal(rng, [1], "float64"), normal(rng, [3], "float64")]
        add("meshgrid", [xs, {"indexing": indexing}], lambda a, b, c: list(torch.meshgrid(a, b, c, indexing=indexing)),
            f"{indexing}, three", grad=True)
    add("meshgrid", [[normal(rng, [2]), normal(rng, [3])]], lambda a, b: list(torch.meshgrid(a, b, indexing="ij")), "ij by default", grad=True)
    add("meshgrid", [[ints(rng, [2], 0, 9), ints(rng, [0], 0, 9)]], lambda a, b: list(torch.meshgrid(a, b, indexing="ij")), "empty int32")
