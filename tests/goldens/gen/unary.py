"""Families `unary` and `activation`: functions of one tensor, element by element."""

import math

import torch
import torch.nn.functional as TF

from .lib import UNDEFINED, T, between, ints, normal, stepped, transposed

INF, NAN = math.inf, math.nan
BIG, TINY = 3e38, 1e-40  # near float32's largest; a subnormal
POINTS = [0.0, -0.0, 1, -1, 0.5, -0.5, 2.5, -2.5, 7, -7, INF, -INF, NAN]
HUGE = POINTS + [BIG, -BIG, TINY, -TINY]
TIES = [0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, 0.49999997, -0.49999997, 8388607.5, 16777216]

ELEMENTARY = {
    "rtol": 1e-6,
    "atol": 1e-37,
    "why": "elementary functions are right within 2 ulp; 8 ulp here, and no absolute slack",
}


def family_unary(f):
    """(name, function, domain, special points, points where the gradient is checked too)"""
    smooth = [
        ("exp", torch.exp, (-3, 3), HUGE + [88.5, -87, -100, 89], [0.0, -0.0, -80, 10]),
        ("expm1", torch.expm1, (-3, 3), HUGE + [1e-6, -1e-6, 88.5, -30], [0.0, 1e-6]),
        ("exp2", torch.exp2, (-3, 3), HUGE + [127, 128, -126, -130], [0.0, 3, -80]),
        ("log", torch.log, (0.1, 9), HUGE + [1.0000001, 0.9999999], [1, 0.0, INF, TINY * 1e3]),
        ("log2", torch.log2, (0.1, 9), HUGE + [8, 1.0000001], [1, 8]),
        ("log10", torch.log10, (0.1, 9), HUGE + [1000, 1.0000001], [1, 100]),
        ("log1p", torch.log1p, (-0.9, 3), HUGE + [1e-7, -1e-7, 1e-20], [0.0, 1e-7, -0.5]),
        ("sqrt", torch.sqrt, (0.1, 9), HUGE, [1, 4, 0.0, INF]),
        ("rsqrt", torch.rsqrt, (0.1, 9), HUGE, [1, 4, INF]),
        ("reciprocal", torch.reciprocal, (0.2, 4), HUGE, [1, -2, INF]),
        ("square", torch.square, (-3, 3), HUGE, [0.0, -0.0, 3]),
        ("sin", torch.sin, (-6, 6), POINTS + [1e-5, 3.1415927, 100, -1000], [0.0, 1.5707964]),
        ("cos", torch.cos, (-6, 6), POINTS + [1e-5, 1.5707964, 100, -1000], [0.0, 3.1415927]),
        ("tan", torch.tan, (-1.2, 1.2), POINTS + [1e-5, 1.5707964, 100], [0.0, 0.7853982]),
        ("asin", torch.asin, (-0.9, 0.9), HUGE + [1e-5, 0.9999999], [0.0, 0.5]),
        ("acos", torch.acos, (-0.9, 0.9), HUGE + [1e-5, 0.9999999], [0.0, 0.5]),
        ("atan", torch.atan, (-4, 4), HUGE + [1e-5], [0.0, 1, 1e10]),
        ("sinh", torch.sinh, (-3, 3), HUGE + [1e-5, 20, 89, -89], [0.0, 5]),
        ("cosh", torch.cosh, (-3, 3), HUGE + [1e-5, 20, 89, -89], [0.0, 5]),
        ("tanh", torch.tanh, (-2, 2), HUGE + [1e-5, 9, 20, -20], [0.0, -0.0, 20]),
        ("asinh", torch.asinh, (-4, 4), HUGE + [1e-5, 1e10, -1e10], [0.0, 1e5]),
        ("acosh", torch.acosh, (1.1, 9), HUGE + [1.0000001, 1e10], [2, 1e5]),
        ("atanh", torch.atanh, (-0.9, 0.9), HUGE + [1e-5, 0.9999999], [0.0, 0.5]),
        ("erf", torch.erf, (-2, 2), HUGE + [1e-5, 3, 4, -4], [0.0, 3]),
        ("erfc", torch.erfc, (-2, 2), HUGE + [1e-5, 3, 5, 9, -4], [0.0, 3]),
        ("erfinv", torch.erfinv, (-0.9, 0.9), [0.0, -0.0, 1, -1, 0.5, 2, NAN, 1e-5, 0.9999999], [0.0, 0.5]),
        ("sigmoid", torch.sigmoid, (-3, 3), HUGE + [20, -20, 80, -80, 100, -100], [0.0, 20, -20]),
    ]
    loose = {"erfinv"}  # a rational approximation with Newton steps, not an elementary function
    odd = {"expm1", "log1p", "sqrt", "sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf"}
    for fn, compute, domain, points, grad_points in smooth:
        tol = None if fn in loose else ELEMENTARY
        usual(f, fn, compute, domain, points, grad_points, tol=tol, second=True,
              zero_sign=fn in odd, int_to_float=domain)

    step = [
        ("neg", torch.neg, HUGE, [0.0, 1]),
        ("abs", torch.abs, HUGE, [0.0, -0.0, 2, -2]),
        ("sign", lambda x: torch.where(torch.isnan(x), x, torch.sign(x)) if x.is_floating_point() else torch.sign(x),
         HUGE, [0.0, 2, -2]),
        ("floor", torch.floor, HUGE + TIES, [0.5, 2]),
        ("ceil", torch.ceil, HUGE + TIES, [0.5, 2]),
        ("round", torch.round, HUGE + TIES, [0.5, 2]),
        ("trunc", torch.trunc, HUGE + TIES, [0.5, 2]),
        ("frac", torch.frac, [0.0, 1, -1, 0.5, -0.5, 2.75, -2.75, 8388607.5, NAN], [0.5, 2]),
        ("deg2rad", torch.deg2rad, [0.0, -0.0, 180, -90, INF, NAN], [0.0, 90]),
        ("rad2deg", torch.rad2deg, [0.0, -0.0, 3.1415927, -1, INF, NAN], [0.0, 1]),
    ]
    signed = {"neg", "abs", "floor", "ceil", "round", "trunc"}
    whole = {"neg", "abs", "sign", "floor", "ceil", "round", "trunc", "square"}
    for fn, compute, points, grad_points in step:
        usual(f, fn, compute, (-5, 5), points, grad_points, zero_sign=fn in signed)
    for fn in sorted(whole):
        compute = getattr(torch, fn)
        if fn == "sign":
            compute = torch.sign
        for dtype in ("int32", "int64"):
            x = T([[0, 1, -1], [7, -8, 1000]], dtype)
            f.case(fn, [x], compute, name=f"{dtype} stays", grad=False)

    for fn in ("isNan", "isInf", "isFinite"):
        compute = {"isNan": torch.isnan, "isInf": torch.isinf, "isFinite": torch.isfinite}[fn]
        for dtype in ("float32", "float64"):
            f.case(fn, [T([[0.0, NAN, INF], [-INF, 1, -0.0]], dtype)], compute, name=dtype, grad=False)
        f.case(fn, [T([1, 0, -5], "int32")], compute, name="int32", grad=False)
        f.case(fn, [T(NAN)], compute, name="rank 0", grad=False)
        f.case(fn, [T([]).view("slice", 0, 0, 0, 1)], compute, name="empty", grad=False)
        f.case(fn, [transposed(T([[NAN, 1], [INF, 2], [3, -INF]]))], compute, name="transposed", grad=False)
    f.case("logicalNot", [T([True, False, True], "bool")], torch.logical_not, name="bool", grad=False)
    f.case("logicalNot", [T([0, 3, -1], "int32")], torch.logical_not, name="int32", grad=False)
    f.case("logicalNot", [T([0.0, -0.0, 0.5, NAN, INF])], torch.logical_not, name="float32", grad=False)
    f.case("logicalNot", [T(True, "bool")], torch.logical_not, name="rank 0", grad=False)
    for dtype in ("int32", "int64"):
        x = T([[0, 1, -1], [5, -8, 2**31 - 1]], dtype)
        f.case("bitwiseNot", [x], torch.bitwise_not, name=dtype, grad=False)
        f.case("bitwiseNot", [transposed(x)], torch.bitwise_not, name=f"{dtype} transposed", grad=False)
    f.case("bitwiseNot", [T([True, False], "bool")], torch.bitwise_not, name="bool", grad=False)
    casts(f)
    clips(f)


def usual(f, fn, compute, domain, points, grad_points, *, args=(), tol=None, second=False,
          zero_sign=False, int_to_float=None, label=""):
    """The cases every function of one float tensor gets."""
    rng = f.rng(fn)
    lo, hi = domain
    x = between(rng, [3, 4], lo, hi)
    args = list(args)
    pre = f"{label} " if label else ""
    add = lambda t, name, **kw: f.case(fn, [t, *args], compute, name=pre + name, **kw)
    add(between(rng, [2, 3], lo, hi), "matrix", tol=tol)
    add(between(rng, [5], lo, hi, "float64"), "float64", second=second)
    add(between(rng, [], lo, hi), "rank 0", tol=tol)
    add(T(x.array[:0]), "empty")
    add(transposed(x), "transposed", tol=tol)
    add(stepped(rng, between(rng, [2, 4], lo, hi)) if lo < 0 else
        T(between(rng, [2, 9], lo, hi).array).view("slice", 1, 1, 9, 2), "stepped", tol=tol)
    if points:
        add(T(points), "special points", grad=False, tol=tol, zero_sign=zero_sign)
    if grad_points:
        add(T(grad_points), "gradient at points")
    if int_to_float:
        low, high = math.ceil(int_to_float[0]), math.floor(int_to_float[1])
        for dtype in ("int32", "int64"):
            add(ints(rng, [4], low, high + 1, dtype), f"{dtype} gives float32", grad=False)


def casts(f):
    x = [[0.0, 1.5, -1.5, 2.999, -2.999], [100.25, -7, 0.5, -0.5, 1e6]]
    add = lambda t, dtype, name, **kw: f.case(
        "cast", [t, dtype], lambda v: v.to(getattr(torch, dtype)), name=name, grad=False, native=True, **kw)
    for source in ("float32", "float64"):
        for target in ("int32", "int64", "bool"):
            add(T(x, source), target, f"{source} to {target}")
    add(T([0.0, -0.0, NAN, INF, -INF, TINY]), "bool", "special points to bool")
    add(T([1.1, 1e300, -1e300, 1e-300, NAN, INF, 16777217, 3.4028235677973366e38, -0.0], "float64"), "float32",
        "rounds to nearest even", zero_sign=True)
    add(T([0.0, -0.0, 1.1, NAN, INF, -INF, 1e-40, BIG]), "float64", "float32 to float64", zero_sign=True)
    for source in ("int32", "int64"):
        for target in ("float32", "float64", "bool", "int32", "int64"):
            add(T([[0, 1, -1], [7, -8, 16777217]], source), target, f"{source} to {target}")
    for target in ("float32", "float64", "int32", "int64", "bool"):
        add(T([True, False], "bool"), target, f"bool to {target}")
    add(T([2**53 + 1, -(2**62), 2**62 + 1], "int64"), "float32", "large int64 to float32")
    add(T([2**53 + 1, -(2**62), 2**62 + 1], "int64"), "float64", "large int64 to float64")
    add(T(2.5), "int32", "rank 0")
    add(transposed(T([[1.5, 2.5], [3.5, -4.5], [5.5, 6.5]])), "int32", "transposed")
    f.case("cast", [T([[1.5, -2.25], [3, 0.1]]), "float64"], lambda v: v.double(), name="gradient up", native=True)
    f.case("cast", [T([[1.5, -2.25], [3, 0.1]], "float64"), "float32"], lambda v: v.float(), name="gradient down")
    f.case("cast", [T([1.5, -2.25]), "float32"], lambda v: v.clone(), name="same dtype", native=True)
    values = [0.0, -0.0, 1.1, -2049, 2051, 65504, 65519.996, 65520, 1e-7, 6e-8, 2.9802322e-08, 3e-8, 1e-3, INF, -INF,
              NAN, 0.33333334, 1.00048828125, 1.00146484375]
    wide = values + [3.38953139e38, BIG, 1e-40, 9.2e-41, 1.00390625, 1.01171875, -1.00390625]
    for dtype, points in (("float16", values), ("bfloat16", wide)):
        half = getattr(torch, dtype)
        # There and back: narrow dtypes have no typed array that every engine can read.
        f.case("cast.roundTrip", [T(points), dtype], lambda v: v.to(half).float(), name=f"float32 {dtype}",
               grad=False, native=True, zero_sign=True)
        f.case("cast.roundTrip", [T([1.1, 1 + 2**-11 + 2**-40, 1 + 2**-8 + 2**-40, -3e5], "float64"), dtype],
               lambda v: v.to(half).double(), name=f"float64 {dtype}", grad=False)


def clips(f):
    rng = f.rng("clip")
    add = lambda t, lo, hi, compute, name, **kw: f.case("clip", [t, lo, hi], compute, name=name, **kw)
    both = lambda v: torch.clamp(v, -1, 1)
    add(normal(rng, [3, 4], scale=2), -1, 1, both, "both bounds")
    add(normal(rng, [5], "float64", 2), -1, 1, both, "float64")
    add(T([-1, 1, -2, 2, 0.5]), -1, 1, both, "gradient at the bounds is 1")
    f.case("clip", [normal(rng, [4]), -0.5], lambda v: torch.clamp(v, min=-0.5), name="lower only")
    add(normal(rng, [4]), UNDEFINED, 0.5, lambda v: torch.clamp(v, max=0.5), "upper only")
    add(T([NAN, INF, -INF, 0.0, BIG]), -1, 1, both, "special points", grad=False)
    add(T(3.0), -1, 1, both, "rank 0")
    add(T([[]]), -1, 1, both, "empty")
    add(transposed(normal(rng, [3, 4], scale=2)), -1, 1, both, "transposed")
    for dtype in ("int32", "int64"):
        add(T([[-5, 0], [3, 9]], dtype), -1, 4, lambda v: torch.clamp(v, -1, 4), dtype, grad=False)

    def nan_to_num(fn_args, compute, name, t=None, **kw):
        f.case("nanToNum", [t or T([0.5, NAN, INF, -INF, -0.0]), *fn_args], compute, name=name, native=True, **kw)

    nan_to_num([], torch.nan_to_num, "defaults", zero_sign=True)
    nan_to_num([], torch.nan_to_num, "float64 defaults", T([0.5, NAN, INF, -INF], "float64"))
    nan_to_num([{"nan": 1.5, "posinf": 9, "neginf": -9}], lambda v: torch.nan_to_num(v, 1.5, 9, -9), "options")
    nan_to_num([{"nan": -1}], lambda v: torch.nan_to_num(v, -1), "nan only")
    nan_to_num([], torch.nan_to_num, "rank 0", T(NAN))
    nan_to_num([], torch.nan_to_num, "transposed", transposed(T([[NAN, 1], [INF, 2], [3, -INF]])))
    f.case("nanToNum", [T([1, -2], "int32")], torch.nan_to_num, name="int32 stays", grad=False)


# PyTorch's own gradients of these two hold constants in float32, even for float64 inputs.
def celu(x, alpha=1.0):
    return torch.where(x > 0, x, alpha * torch.expm1(torch.clamp(x, max=0) / alpha))


def hardsigmoid(x):
    inside = torch.where((x > -3) & (x < 3), x / 6 + 0.5, torch.where(x >= 3, 1.0, 0.0))
    return torch.where(torch.isnan(x), x, inside)


def family_activation(f):
    both = lambda fn, *rest, **kw: (activation(f, fn, *rest, **kw), activation(f, "F." + fn, *rest, short=True, **kw))
    far = [0.0, -0.0, 1, -1, 20, -20, 100, -100, INF, -INF, NAN]
    both("relu", torch.relu, far, [0.0, -0.0, 1, -1])
    for dtype in ("int32", "int64"):
        f.case("relu", [T([0, 3, -3], dtype)], torch.relu, name=f"{dtype} stays", grad=False)
    both("relu6", TF.relu6, far + [6, 7], [0.0, 6, 3, 7, -1])
    both("leakyRelu", TF.leaky_relu, far, [0.0, -0.0, 2, -2])
    both("leakyRelu", lambda x: TF.leaky_relu(x, 0.2), None, [0.0, 2, -2], args=[{"negativeSlope": 0.2}], label="slope 0.2")
    both("elu", TF.elu, far, [0.0, 2, -2, -20])
    both("elu", lambda x: TF.elu(x, 1.5), None, [0.0, 2, -2], args=[{"alpha": 1.5}], label="alpha 1.5")
    both("selu", TF.selu, far, [0.0, 2, -2, -20])
    both("celu", celu, far, [0.0, 2, -2, -20])
    both("celu", lambda x: celu(x, 0.7), None, [0.0, 2, -2], args=[{"alpha": 0.7}], label="alpha 0.7")
    both("gelu", TF.gelu, [x for x in far if abs(x) != INF], [0.0, 3, -3, 10, -10])
    both("gelu", lambda x: TF.gelu(x, approximate="tanh"), [0.0, 1, -1, 20, -20, NAN], [0.0, 3, -3, 10],
         args=[{"approximate": True}], label="tanh")
    both("silu", TF.silu, [x for x in far if x != -INF], [0.0, 20, -20])
    both("mish", TF.mish, [x for x in far if x != -INF], [0.0, 20, -20, 25])
    both("softplus", TF.softplus, far, [0.0, 19, 21, -20])
    both("softplus", lambda x: TF.softplus(x, 2, 5), None, [0.0, 2, 3, -4],
         args=[{"beta": 2, "threshold": 5}], label="beta 2 threshold 5")
    both("softsign", TF.softsign, [x for x in far if abs(x) != INF], [0.0, -0.0, 20])
    both("hardtanh", TF.hardtanh, far, [1, -1, 0.5, 2, -2])
    both("hardtanh", lambda x: TF.hardtanh(x, -2, 0.5), None, [-2, 0.5, 0, 3],
         args=[{"min": -2, "max": 0.5}], label="bounds")
    both("hardsigmoid", hardsigmoid, far + [3, -3], [3, -3, 0.0, 4, -4])
    both("hardswish", TF.hardswish, [x for x in far if x != -INF] + [3, -3], [0.0, 1, 4, -4])
    both("tanhshrink", TF.tanhshrink, [x for x in far if abs(x) != INF], [0.0, 3])
    both("softshrink", TF.softshrink, far + [0.5, -0.5], [0.5, -0.5, 0.75, -0.75, 0.0])
    both("softshrink", lambda x: TF.softshrink(x, 1.0), None, [1, -1, 1.5], args=[{"threshold": 1}], label="threshold 1")
    both("hardshrink", TF.hardshrink, far + [0.5, -0.5], [0.5, -0.5, 0.75, -0.75, 0.0])
    both("hardshrink", lambda x: TF.hardshrink(x, 1.0), None, [1, -1, 1.5], args=[{"threshold": 1}], label="threshold 1")
    both("thresholdedRelu", lambda x: TF.threshold(x, 1.0, 0.0), far, [1, 1.5, 0.5])
    both("thresholdedRelu", lambda x: TF.threshold(x, 0.25, 0.0), None, [0.25, 0.5, 0.0],
         args=[{"threshold": 0.25}], label="threshold 0.25")
    both("logSigmoid", TF.logsigmoid, far, [0.0, 20, -20, 100, -100])
    for fn, compute in (("sigmoid", torch.sigmoid), ("tanh", torch.tanh)):
        activation(f, "F." + fn, compute, far, None, short=True)
    softmaxes(f)
    dropouts(f)


def dropouts(f):
    """What dropout does without chance."""
    for fn in ("dropout", "F.dropout"):
        rng = f.rng(fn)
        add = lambda opts, compute, name: f.case(fn, [normal(rng, [2, 3]), opts], compute, name=name)
        add({"p": 0.4, "training": False}, lambda v: v.clone(), "evaluation changes nothing")
        add({"p": 0}, lambda v: v.clone(), "p 0 changes nothing")
        add({"p": 1}, lambda v: v * 0, "p 1 gives zeros")
    add({"p": 0.4, "training": False, "mode": "downscale_in_infer"}, lambda v: v * 0.6, "downscale_in_infer scales here")


def activation(f, fn, compute, points, grad_points, *, args=(), label="", short=False):
    rng = f.rng(fn)
    if short or label:
        pre = f"{label} " if label else ""
        f.case(fn, [normal(rng, [2, 4], scale=2), *args], compute, name=pre + "matrix")
        if not short:
            f.case(fn, [normal(rng, [4], "float64", 2), *args], compute, name=pre + "float64")
            if grad_points:
                f.case(fn, [T(grad_points), *args], compute, name=pre + "gradient at points")
        return
    kinked = fn in ("relu", "relu6", "leakyRelu", "hardtanh", "hardsigmoid", "hardswish", "softshrink", "hardshrink",
                    "thresholdedRelu")
    usual(f, fn, compute, (-4, 4), points, grad_points, args=args, label=label, second=not kinked)


def softmaxes(f):
    for fn, torch_fn in (("softmax", torch.softmax), ("logSoftmax", torch.log_softmax)):
        name = f"F.{fn}"
        rng = f.rng(name)
        add = lambda t, axis, label, **kw: f.case(
            name, [t] if axis is None else [t, axis],
            lambda v: torch_fn(v, -1 if axis is None else axis), name=label, **kw)
        add(normal(rng, [3, 5]), None, "last axis by default")
        add(normal(rng, [3, 5], "float64"), None, "float64", second=True)
        add(normal(rng, [2, 3, 4]), 1, "middle axis")
        add(normal(rng, [2, 3, 4]), 0, "first axis")
        add(normal(rng, [2, 3]), -2, "negative axis")
        add(T(3.0), None, "rank 0")
        add(T([[2.0], [7.0]]), -1, "one class")
        add(transposed(normal(rng, [4, 3])), -1, "transposed")
        add(stepped(rng, normal(rng, [2, 4])), -1, "stepped")
        add(T([[1000, 1001, 999], [-1000, -1001, -1000], [3e38, 0, -3e38]]), -1, "far from zero")
        add(T([[-INF, 0, 1], [0, -INF, -INF]]), -1, "masked with -Inf")
        add(T([[NAN, 0, 1], [INF, 0, 1]]), -1, "NaN and Inf", grad=False)
        add(T([[2, 2, 2, 2]]), -1, "ties")
    f.case("F.softmax", [T([], "float32")], lambda v: torch.softmax(v, -1), name="empty")
    f.case("F.logSoftmax", [T([], "float32")], lambda v: torch.log_softmax(v, -1), name="empty")
