"""Family `binary`: functions of two tensors with broadcasting, and `where`, `lerp`."""

import math

import torch

from .lib import T, between, bools, ints, normal, stepped, transposed

INF, NAN = math.inf, math.nan
GRID = [0.0, -0.0, 1, -1.5, INF, -INF, NAN]


def grid(values=GRID):
    """Every pair of the values, as two inputs."""
    n = len(values)
    return T([v for v in values for _ in range(n)]), T(values * n)


def family_binary(f):
    arithmetic = [
        ("add", torch.add, (-2, 2), False),
        ("sub", torch.sub, (-2, 2), False),
        ("mul", torch.mul, (-2, 2), True),
        ("div", torch.div, (0.5, 3), True),
        ("pow", torch.pow, (0.5, 2), True),
        ("maximum", torch.maximum, (-2, 2), False),
        ("minimum", torch.minimum, (-2, 2), False),
        ("fmax", torch.fmax, (-2, 2), False),
        ("fmin", torch.fmin, (-2, 2), False),
        ("mod", torch.remainder, (0.6, 3), False),
        ("fmod", torch.fmod, (0.6, 3), False),
        ("atan2", torch.atan2, (-2, 2), True),
        ("hypot", torch.hypot, (0.3, 2), True),
        ("logAddExp", torch.logaddexp, (-2, 2), True),
    ]
    for fn, compute, domain, second in arithmetic:
        usual(f, fn, compute, domain, second)
    special_points(f)
    scalars(f)
    integers(f)
    compares(f)
    logic(f)
    ternary(f)


def usual(f, fn, compute, domain, second):
    rng = f.rng(fn)
    make = lambda shape, dtype="float32": between(rng, shape, *domain, dtype)
    add = lambda a, b, name, **kw: f.case(fn, [a, b], compute, name=name, **kw)
    add(make([2, 3]), make([2, 3]), "same shape")
    add(make([4], "float64"), make([4], "float64"), "float64", second=second)
    add(make([2, 3]), make([3]), "row broadcasts")
    add(make([2, 1, 3]), make([4, 1]), "both broadcast")
    add(make([]), make([2, 2]), "rank 0 and matrix")
    add(make([]), make([]), "rank 0")
    add(make([0, 3]), make([3]), "empty")
    add(transposed(make([3, 2])), make([3, 2]), "transposed and contiguous")
    add(stepped(rng, make([2, 3])) if domain[0] < 0 else T(make([2, 7]).array).view("slice", 1, 1, 7, 2),
        transposed(make([2, 3])), "stepped and transposed")
    add(T(make([3]).array).view("expand", [2, 3]), make([2, 3]), "expanded view")
    # Widened first: PyTorch's own gradients would take logarithms of the float32 side in float32.
    f.case(fn, [make([3]), make([3], "float64")], lambda a, b: compute(a.double(), b), name="float32 with float64")


def special_points(f):
    for fn, compute in (
        ("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("div", torch.div), ("fmod", torch.fmod),
        ("maximum", torch.maximum), ("minimum", torch.minimum), ("fmax", torch.fmax), ("fmin", torch.fmin),
        ("hypot", torch.hypot), ("logAddExp", torch.logaddexp),
    ):
        f.case(fn, list(grid()), compute, name="special points", grad=False)
    f.case("atan2", list(grid([0.0, -0.0, 1, -1, INF, -INF, NAN])), torch.atan2, name="special points", grad=False)
    f.case("pow", list(grid([0.0, -0.0, 1, -1, 0.5, 2, 3, -2, -3, INF, -INF, NAN])), torch.pow,
           name="special points", grad=False)
    # PyTorch's remainder by an infinity of the other sign is not Python's; only finite divisors here.
    a, b = grid([0.0, 1, -1.5, 5.5, -5.5, 2, -2])
    f.case("mod", [a, b], torch.remainder, name="signs and zero divisor", grad=False)
    f.case("mod", [T([NAN, INF, -INF, 1]), T([1, 1, 2, NAN])], torch.remainder, name="special points", grad=False)
    for fn, compute in (("maximum", torch.maximum), ("minimum", torch.minimum), ("fmax", torch.fmax), ("fmin", torch.fmin)):
        f.case(fn, [T([1, 2, 3, -1]), T([1, 5, 3, -2])], compute, name="ties in the gradient")
    for fn, compute in (("fmax", torch.fmax), ("fmin", torch.fmin)):
        f.case(fn, [T([NAN, 2, 1]), T([1, NAN, 3])], compute, name="gradient past NaN")
    f.case("pow", [T([0.0, 0, 0, 2, 2, 1]), T([0.0, 1, 2, 0, -1, 5])], torch.pow, name="gradient at zero")
    f.case("pow", [T([-2.0, -1.5, -3]), 3], lambda x: torch.pow(x, 3), name="negative base, whole exponent")
    f.case("pow", [T([-2.0, 0, 3]), 2], lambda x: torch.pow(x, 2), name="square")
    f.case("pow", [T([0.25, 4, 9]), 0.5], lambda x: torch.pow(x, 0.5), name="root")
    f.case("pow", [T([-2.0, 0.5, 3]), 0], lambda x: torch.pow(x, 0), name="to the 0")
    f.case("pow", [T([-2.0, 0.5, 4]), -1], lambda x: torch.pow(x, -1), name="to the -1")
    f.case("pow", [2, T([-2.0, 0, 0.5, 3])], lambda x: torch.pow(2, x), name="scalar base")
    f.case("div", [T([1.0, -1, 0]), T([0.0, 0, 0])], torch.div, name="by zero", grad=False)
    f.case("mod", [T([5.5, -5.5, 5.5, -5.5]), T([2.0, 2, -2, -2])], torch.remainder, name="gradient, all signs")
    f.case("fmod", [T([5.5, -5.5, 5.5, -5.5]), T([2.0, 2, -2, -2])], torch.fmod, name="gradient, all signs")
    f.case("hypot", [T([3.0, 1e30, 1e-30, 0]), T([4.0, 1e30, 1e-30, -2])], torch.hypot, name="no overflow", grad=False)
    f.case("logAddExp", [T([1000.0, -1000, 0, 88]), T([1000.0, -1001, -200, 90])], torch.logaddexp, name="far from zero")
    f.case("atan2", [T([1.0, -1, 1, -1]), T([1.0, 1, -1, -1])], torch.atan2, name="quadrants")


def scalars(f):
    rng = f.rng("scalars")
    for fn, compute in (
        ("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("div", torch.div),
        ("mod", torch.remainder), ("fmod", torch.fmod),
    ):
        x = between(rng, [2, 2], 0.5, 3)
        f.case(fn, [x, 2.5], lambda v: compute(v, 2.5), name="scalar right")
        if fn not in ("fmod", "mod"):
            f.case(fn, [2.5, x], lambda v: compute(torch.tensor(2.5, dtype=v.dtype), v), name="scalar left")
        f.case(fn, [between(rng, [2], 0.5, 3, "float64"), 0.1], lambda v: compute(v, 0.1), name="scalar is weak: float64")
        f.case(fn, [T([7, -7, 3], "int32"), 2], lambda v: compute(v, 2), name="int32 with a whole scalar", grad=False)
        f.case(fn, [T([7, -7, 3], "int64"), 2], lambda v: compute(v, 2), name="int64 with a whole scalar", grad=False)
        f.case(fn, [T([7, -7, 3], "int32"), 2.5], lambda v: compute(v, 2.5), name="int32 with a fraction", grad=False)
    for fn, compute in (("maximum", torch.maximum), ("minimum", torch.minimum)):
        f.case(fn, [T([-1.0, 0.5, 2, 0]), 0.5], lambda v: compute(v, torch.tensor(0.5, dtype=v.dtype)),
               name="scalar right", wrt=[0])
        f.case(fn, [0.5, T([-1.0, 0.25, 2, 0])], lambda v: compute(torch.tensor(0.5, dtype=v.dtype), v),
               name="scalar left", wrt=[0])


def integers(f):
    rng = f.rng("integers")
    for fn, compute in (
        ("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("maximum", torch.maximum), ("minimum", torch.minimum),
        ("div", torch.div),
    ):
        for dtype in ("int32", "int64"):
            a, b = ints(rng, [2, 3], -9, 10, dtype), T(rng.integers(1, 9, [3]) * rng.choice([-1, 1], [3]), dtype)
            f.case(fn, [a, b], compute, name=dtype, grad=False)
        f.case(fn, [T([7, -7, 3], "int32"), T([2, 2, -2], "int64")], compute, name="int32 with int64", grad=False)
        f.case(fn, [T([7, -7, 3], "int32"), T([2, 0.5, -2])], compute, name="int32 with float32", wrt=[1], native=True)
        f.case(fn, [T([2, 0.5, -2], "float64"), T([7, -7, 3], "int64")], compute, name="float64 with int64", wrt=[0])
    f.case("add", [T([2**31 - 1, -(2**31)], "int32"), T([1, -1], "int32")], torch.add, name="int32 wraps", grad=False)
    f.case("mul", [T([2**40 + 1, -3], "int64"), T([2**20, 2**61], "int64")], torch.mul, name="int64 wraps", grad=False)
    f.case("mul", [T([65537, -46341], "int32"), T([65537, 46341], "int32")], torch.mul, name="int32 wraps", grad=False)
    f.case("add", [T([2**53, -(2**53)], "int64"), T([1, -1], "int64")], torch.add, name="int64 past 2^53", grad=False)
    f.case("add", [T([True, False, True], "bool"), T([1, 2, 3], "int32")], torch.add, name="bool with int32", grad=False)
    f.case("mul", [T([True, False, True], "bool"), T([1.5, 2, 3])], torch.mul, name="bool with float32", wrt=[1])
    f.case("pow", [T([2, -3, 5, 0], "int32"), T([10, 3, 0, 0], "int32")], torch.pow, name="int32", grad=False)
    f.case("pow", [T([2, -3], "int64"), T([40, 21], "int64")], torch.pow, name="int64", grad=False)
    f.case("pow", [T([2, -3, 5], "int32"), 3], lambda v: torch.pow(v, 3), name="int32 with a scalar", grad=False)
    a = T([7, -7, 7, -7, 6, -6, 0], "int32")
    b = T([3, 3, -3, -3, 3, -3, 5], "int32")
    a64, b64 = T(a.array, "int64"), T(b.array, "int64")
    for fn, compute in (
        ("floorDivide", torch.floor_divide), ("mod", torch.remainder), ("fmod", torch.fmod),
    ):
        f.case(fn, [a, b], compute, name="int32, all signs", grad=False)
        f.case(fn, [a64, b64], compute, name="int64, all signs", grad=False)
    floor = lambda x, y, name: f.case("floorDivide", [x, y], torch.floor_divide, name=name, grad=False)
    floor(T([[7.5, -7.5], [7.5, -7.5]]), T([[2.0, 2], [-2, -2]]), "float32, all signs")
    floor(T([[7.5], [-7.5]], "float64"), T([0.7, -0.7], "float64"), "float64 broadcasts")
    floor(T([]), T(2.0), "empty")
    floor(T(7.0), T(2.0), "rank 0")
    floor(transposed(T([[7.5, -7.5, 1], [2, 3, -4]])), T([[2.0, -3, 2], [-1, 2, 3]]), "transposed")
    f.case("floorDivide", [T([7.0, -7, 0.5]), 2], lambda v: torch.floor_divide(v, 2), name="scalar", grad=False)
    f.case("floorDivide", [T([7, -7], "int32"), 2], lambda v: torch.floor_divide(v, 2), name="int32 scalar", grad=False)


def compares(f):
    for fn, compute in (
        ("equal", torch.eq), ("notEqual", torch.ne), ("lessThan", torch.lt),
        ("lessEqual", torch.le), ("greaterThan", torch.gt), ("greaterEqual", torch.ge),
    ):
        rng = f.rng(fn)
        add = lambda a, b, name: f.case(fn, [a, b], compute, name=name, grad=False)
        add(*grid(), "special points")
        add(ints(rng, [2, 3], -1, 2), ints(rng, [3], -1, 2), "int32 broadcasts")
        add(T([2**53, 2**53 + 1, -1], "int64"), T([2**53 + 1, 2**53 + 1, 1], "int64"), "int64 past 2^53")
        add(bools(rng, [4]), bools(rng, [4]), "bool")
        add(T([1.0, 2, 3], "float64"), T([2, 2, 2], "int32"), "float64 with int32")
        add(T(1.0), T(1.0), "rank 0")
        add(normal(rng, [0, 2]), normal(rng, [2]), "empty")
        add(transposed(ints(rng, [2, 3], 0, 2)), ints(rng, [2, 3], 0, 2), "transposed")
        f.case(fn, [T([0.5, 1, 2]), 1], lambda v: compute(v, 1), name="scalar right", grad=False)
        f.case(fn, [1, T([0.5, 1, 2])], lambda v: compute(torch.tensor(1.0, dtype=v.dtype), v), name="scalar left", grad=False)


def logic(f):
    for fn, compute in (
        ("logicalAnd", torch.logical_and), ("logicalOr", torch.logical_or), ("logicalXor", torch.logical_xor),
    ):
        add = lambda a, b, name: f.case(fn, [a, b], compute, name=name, grad=False)
        add(T([True, True, False, False], "bool"), T([True, False, True, False], "bool"), "bool")
        add(T([0, 2, -1], "int32"), T([1, 0, 4], "int32"), "int32: truth, not bits")
        add(T([0.0, -0.0, NAN, 0.5]), T([1.0, 1, 1, 0]), "float32")
        add(T([[True], [False]], "bool"), T([True, False], "bool"), "broadcasts")
        add(T(True, "bool"), T(False, "bool"), "rank 0")
        add(transposed(T([[True, False], [True, True]], "bool")), T([[True, False], [False, True]], "bool"), "transposed")
    for fn, compute in (
        ("bitwiseAnd", torch.bitwise_and), ("bitwiseOr", torch.bitwise_or), ("bitwiseXor", torch.bitwise_xor),
    ):
        rng = f.rng(fn)
        add = lambda a, b, name: f.case(fn, [a, b], compute, name=name, grad=False)
        add(ints(rng, [2, 3], -99, 100), ints(rng, [3], -99, 100), "int32 broadcasts")
        add(T([2**40 + 5, -1, 7], "int64"), T([2**40 + 3, 12, -8], "int64"), "int64")
        add(bools(rng, [4]), bools(rng, [4]), "bool")
        add(T(6, "int32"), T(3, "int32"), "rank 0")
        add(transposed(ints(rng, [3, 2], -9, 9)), ints(rng, [3, 2], -9, 9), "transposed")
        f.case(fn, [T([5, -6], "int32"), 3], lambda v: compute(v, 3), name="scalar", grad=False)
    for fn, compute in (("leftShift", torch.bitwise_left_shift), ("rightShift", torch.bitwise_right_shift)):
        add = lambda a, b, name: f.case(fn, [a, b], compute, name=name, grad=False)
        add(T([1, 5, -5, 1000, -1], "int32"), T([3, 1, 1, 4, 0], "int32"), "int32, arithmetic")
        add(T([[1, -(2**40)]], "int64"), T([[35], [2]], "int64"), "int64 broadcasts")
        add(T(8, "int32"), T(1, "int32"), "rank 0")
        f.case(fn, [T([8, -9], "int32"), 2], lambda v: compute(v, 2), name="scalar", grad=False)


def ternary(f):
    rng = f.rng("where")
    add = lambda c, a, b, name, **kw: f.case("where", [c, a, b], torch.where, name=name, **kw)
    add(bools(rng, [2, 3]), normal(rng, [2, 3]), normal(rng, [2, 3]), "same shape")
    add(bools(rng, [3]), normal(rng, [2, 1], "float64"), normal(rng, [1, 3], "float64"), "all broadcast")
    add(T(True, "bool"), T(1.0), T(2.0), "rank 0")
    add(bools(rng, [0, 2]), normal(rng, [0, 2]), normal(rng, [2]), "empty")
    add(transposed(bools(rng, [2, 3])), transposed(normal(rng, [2, 3])), stepped(rng, normal(rng, [2, 3])), "views")
    add(T([True, False, True], "bool"), T([1.0, NAN, INF]), T([NAN, 2, -INF]), "NaN in the branch not taken")
    add(bools(rng, [4]), ints(rng, [4], -9, 9), ints(rng, [4], -9, 9), "int32", grad=False)
    add(bools(rng, [4]), ints(rng, [4], -9, 9, "int64"), ints(rng, [4], -9, 9, "int64"), "int64", grad=False)
    add(bools(rng, [4]), bools(rng, [4]), bools(rng, [4]), "bool", grad=False)
    c = T([True, False, True], "bool")
    f.case("where", [c, normal(rng, [3]), 0], lambda c, a: torch.where(c, a, 0), name="scalar right")
    f.case("where", [c, -1.5, normal(rng, [3])], lambda c, b: torch.where(c, -1.5, b), name="scalar left")

    rng = f.rng("lerp")
    add = lambda a, b, w, name, **kw: f.case("lerp", [a, b, w], torch.lerp, name=name, **kw)
    add(normal(rng, [2, 3]), normal(rng, [2, 3]), between(rng, [2, 3], 0, 1), "tensor weight")
    add(normal(rng, [3], "float64"), normal(rng, [3], "float64"), between(rng, [3], 0, 1, "float64"), "float64", second=True)
    add(normal(rng, [2, 1]), normal(rng, [3]), between(rng, [3], -1, 2), "broadcasts")
    add(T(1.0), T(3.0), T(0.25), "rank 0")
    add(normal(rng, [0]), normal(rng, [0]), T(0.5), "empty")
    add(transposed(normal(rng, [2, 3])), normal(rng, [2, 3]), T(0.5), "transposed")
    add(T([1.0, -2, 5]), T([3.0, 7, 5]), T([0.0, 1, 0.5]), "ends")
    for w in (0.25, 0.75):
        f.case("lerp", [normal(rng, [3]), normal(rng, [3]), w], lambda a, b: torch.lerp(a, b, w), name=f"scalar weight {w}")
