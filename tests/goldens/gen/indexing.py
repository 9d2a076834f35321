"""Families `indexing` (reading and writing by position, sorting) and `inplace`."""

import math

import numpy as np
import torch

from .lib import Index, T, bools, distinct, ints, normal, stepped, take, transposed

INF, NAN = math.inf, math.nan


def family_indexing(f):
    reads(f)
    writes(f)
    gathers(f)
    scatters(f)
    masks(f)
    sorting(f)


def parse(items):
    """The items of `at` as a NumPy index."""
    index = []
    for item in items:
        if isinstance(item, str):
            for part in item.split(","):
                part = part.strip()
                if part == "...":
                    index.append(...)
                elif ":" in part:
                    index.append(slice(*[int(p) if p else None for p in part.split(":")]))
                else:
                    index.append(int(part))
        elif isinstance(item, T):
            index.append(item.array.transpose(item.views[0][1]) if item.views else item.array)
        elif isinstance(item, list):
            index.append(np.array(item))
        else:
            index.append(item)
    return tuple(index)


READS = [
    ("integer", [4, 3], [1]),
    ("negative integer", [4, 3], [-1]),
    ("all integers give rank 0", [4, 3], [1, -2]),
    ("slice", [5, 3], ["1:4"]),
    ("slice with a step", [5, 3], ["::2"]),
    ("backward", [5], ["::-1"]),
    ("backward by 2 within bounds", [7, 2], ["5:0:-2"]),
    ("negative bounds", [5], ["-3:-1"]),
    ("past the ends", [5], ["-100:100"]),
    ("nothing", [5, 2], ["3:3"]),
    ("several items", [3, 4], ["1:", "::2"]),
    ("one string, several items", [2, 3, 4], ["1:, ..., ::-1"]),
    ("ellipsis in front", [2, 3, 4], ["...", 1]),
    ("ellipsis between", [2, 3, 4], [0, "...", "1:3"]),
    ("ellipsis for nothing", [2, 3], [0, "...", 1]),
    ("new axis", [2, 3], [None]),
    ("new axis behind", [2, 3], ["...", None]),
    ("new axis and integer", [2, 3], [None, 1, None]),
    ("array", [4, 3], [[0, 2, 2]]),
    ("array with negatives", [4, 3], [[-1, 0]]),
    ("array on axis 1", [2, 4], [":", [3, 0]]),
    ("two arrays together", [3, 4], [[0, 1, 2], [3, 0, 1]]),
    ("arrays that broadcast", [3, 4], [[[0], [2]], [1, 3]]),
    ("array after a slice", [2, 3, 4], [":", [0, 2], 1]),
    ("arrays apart go in front", [2, 3, 4], [[0, 1], ":", [3, 0]]),
    ("integer and array apart", [2, 3, 4], [1, ":", [3, 0]]),
    ("new axis between arrays", [3, 4], [[0, 1], None, [3, 0]]),
    ("empty array", [4, 3], [[]]),
]


def reads(f):
    rng = f.rng("Tensor.at")
    at = lambda t, items, name, **kw: f.case(
        "Tensor.at", [t, *items], lambda v, *_: take(v, parse(items)), name=name, **{"wrt": [0], **kw})
    for name, shape, items in READS:
        if items == [[]]:
            f.case("Tensor.at", [normal(rng, shape), []], lambda v: v[torch.zeros(0, dtype=torch.long)], name=name)
        else:
            at(normal(rng, shape), items, name)
    at(normal(rng, []), ["..."], "rank 0")
    at(normal(rng, [0, 3]), [":", 1], "empty")
    at(normal(rng, [4, 3], "float64"), ["1::2", [2, 0]], "float64")
    at(ints(rng, [4, 3], -9, 9), [[1, 1], "::-1"], "int32", grad=False)
    at(ints(rng, [4, 3], -9, 9, "int64"), ["1:", 0], "int64", grad=False)
    at(bools(rng, [4, 3]), [2], "bool", grad=False)
    at(transposed(normal(rng, [4, 3])), ["1:3", "::2"], "of a transposed view")
    at(transposed(normal(rng, [4, 3])), [[3, 0]], "array into a transposed view")
    at(stepped(rng, normal(rng, [2, 4])), [":", "1:3"], "of a stepped view")
    at(normal(rng, [4, 3]), [T([[0, 3], [3, 1]], "int32")], "int32 tensor, repeated rows")
    at(normal(rng, [4, 3]), [T([0, -1, 2], "int64"), T([2, 0, 0], "int64")], "int64 tensors together")
    at(normal(rng, [4, 3]), [T(2, "int32")], "rank 0 tensor")
    at(normal(rng, [4, 3]), [transposed(T([[0, 3], [3, 1]], "int32"))], "transposed index")
    mask = T([True, False, True, False], "bool")
    f.case("Tensor.at", [normal(rng, [4]), mask], lambda v, m: v[m], name="mask")
    f.case("Tensor.at", [normal(rng, [4, 3]), mask], lambda v, m: v[m], name="mask of rows")
    f.case("Tensor.at", [normal(rng, [3, 4]), bools(rng, [3, 4])], lambda v, m: v[m], name="mask of all")
    f.case("Tensor.at", [normal(rng, [2, 4]), ":", mask], lambda v, m: v[:, m], name="mask after a slice")
    f.case("Tensor.at", [normal(rng, [4]), T([False] * 4, "bool")], lambda v, m: v[m], name="mask of nothing")
    f.case("Tensor.at", [ints(rng, [4], -9, 9), mask], lambda v, m: v[m], name="mask, int32", grad=False)
    f.case("Tensor.at", [transposed(normal(rng, [4, 2])), mask, 1], lambda v, m: v[m, 1], name="mask and integer")


def writes(f):
    """`setAt` on a clone: the value afterwards, and the gradients of target and value."""
    rng = f.rng("Tensor.setAt")
    def put(x, index, value, where, name, **kw):
        def run(v, *rest):
            out = v.clone()
            out[where(rest) if callable(where) else where] = rest[-1] if isinstance(value, T) else value
            return out
        f.case("Tensor.setAt", [x, index, value], run, name=name, **kw)
    s = slice
    put(normal(rng, [4, 3]), 1, normal(rng, [3]), 1, "row")
    put(normal(rng, [4, 3]), -1, 2.5, -1, "row, scalar")
    put(normal(rng, [4, 3]), [2, 0], normal(rng, []), (2, 0), "one element: the array is a list of items")
    put(normal(rng, [5]), "1:4", normal(rng, [3]), s(1, 4), "slice")
    put(normal(rng, [5]), "::2", -1, s(None, None, 2), "slice with a step, scalar")
    put(normal(rng, [4, 3]), ["1:3", "::2"], normal(rng, [2, 2]), (s(1, 3), s(None, None, 2)), "two slices")
    put(normal(rng, [4, 3]), "...", normal(rng, [3]), ..., "everything, value broadcasts")
    put(normal(rng, [4, 3]), [":", 1], normal(rng, [1]), (s(None), 1), "column, value broadcasts")
    put(normal(rng, [4, 3]), [[0, 2]], normal(rng, [2, 3]), torch.tensor([0, 2]), "array of rows")
    put(normal(rng, [4, 3]), [[0, 2], [1, 1]], normal(rng, [2]), (torch.tensor([0, 2]), torch.tensor([1, 1])), "pairs of arrays")
    put(normal(rng, [4, 3]), [[3, 1], "1:"], normal(rng, [2, 2]), (torch.tensor([3, 1]), s(1, None)), "array and slice")
    index = T([2, 0], "int32")
    put(normal(rng, [4, 3]), index, normal(rng, [2, 3]), lambda rest: rest[0].long(), "int32 tensor", wrt=[0, 2])
    mask = T([True, False, True, False], "bool")
    put(normal(rng, [4]), mask, 0, lambda rest: rest[0], "mask, scalar")
    put(normal(rng, [4, 3]), mask, normal(rng, [3]), lambda rest: rest[0], "mask of rows, value broadcasts", wrt=[0, 2])
    put(normal(rng, [4, 3], "float64"), "1:3", normal(rng, [2, 3], "float64"), s(1, 3), "float64")
    put(ints(rng, [4], -9, 9), "1:3", 7, s(1, 3), "int32", grad=False)
    put(ints(rng, [4], -9, 9, "int64"), 0, T(2**53 + 1, "int64"), 0, "int64", grad=False)
    put(bools(rng, [4]), "2:", T([True, False], "bool"), s(2, None), "bool", grad=False)
    put(normal(rng, [4, 3]), 0, transposed(normal(rng, [3, 2])).view("slice", 1, 0, 1, 1).view("permute", [1, 0])
        .view("slice", 0, 0, 1, 1), 0, "value is a view")
    put(normal(rng, [4]), "4:", 1, s(4, None), "nothing")


def gathers(f):
    rng = f.rng("gather")
    def add(x, index, axis, name, **kw):
        args = [x, index] + ([] if axis is None else [axis])
        f.case("gather", args, lambda v, i: torch.index_select(v, axis or 0, i.long()), name=name, **{"wrt": [0], **kw})
    add(normal(rng, [4, 3]), T([2, 0, 2], "int32"), None, "rows, repeated")
    add(normal(rng, [4, 3]), T([1, 2], "int64"), 1, "columns")
    add(normal(rng, [2, 3, 2]), T([2, 2, 0, 1], "int32"), -2, "negative axis")
    add(normal(rng, [5], "float64"), T([4, 0], "int32"), 0, "float64")
    add(normal(rng, [4, 3]), T([], "int32"), 0, "empty index")
    add(ints(rng, [4, 3], -9, 9), T([3, 1], "int32"), 0, "int32", grad=False)
    add(ints(rng, [4], -9, 9, "int64"), T([3, 1], "int64"), 0, "int64", grad=False)
    add(bools(rng, [4]), T([3, 1], "int32"), 0, "bool", grad=False)
    add(transposed(normal(rng, [4, 3])), T([3, 3, 1], "int32"), 0, "transposed")
    add(normal(rng, [4, 3]), T([0, 9, 3, 9, 1], "int32").view("slice", 0, 0, 5, 2), 0, "stepped index")

    rng = f.rng("takeAlongAxis")
    add = lambda x, index, axis, name, **kw: f.case(
        "takeAlongAxis", [x, index, axis], lambda v, i: torch.gather(v, axis, i.long()), name=name, **{"wrt": [0], **kw})
    add(normal(rng, [4]), T([3, 0, 0, 1, 2], "int32"), 0, "vector, repeated")
    add(normal(rng, [2, 4]), ints(rng, [2, 3], 0, 4), 1, "rows")
    add(normal(rng, [3, 2]), ints(rng, [5, 2], 0, 3, "int64"), 0, "columns")
    add(normal(rng, [2, 3, 2]), ints(rng, [2, 1, 2], 0, 3), -2, "negative axis")
    add(normal(rng, [2, 4], "float64"), ints(rng, [2, 4], 0, 4), 1, "float64")
    add(ints(rng, [2, 4], -9, 9), ints(rng, [2, 2], 0, 4), 1, "int32", grad=False)
    add(bools(rng, [2, 4]), ints(rng, [2, 2], 0, 4), 1, "bool", grad=False)
    add(transposed(normal(rng, [3, 4])), transposed(ints(rng, [3, 2], 0, 4)), 1, "views")
    add(normal(rng, [2, 4]), ints(rng, [2, 0], 0, 4), 1, "empty")

    rng = f.rng("searchSorted")
    def search(seq, values, right, name):
        args = [seq, values] + ([{"right": True}] if right else [])
        f.case("searchSorted", args, lambda s, v: Index(torch.searchsorted(s.contiguous(), v.contiguous(), right=right)),
               name=name, grad=False)
    line = T([-1.0, 0, 0, 2.5, 7])
    for right in (False, True):
        search(line, T([[-2.0, 0, 2.5], [7, 9, 1]]), right, f"vector, right {right}")
        search(T([[1.0, 3, 5], [2, 4, 6]]), T([[3.0, 0, 6], [4, 7, 1]]), right, f"rows, right {right}")
        search(T([1, 3, 3, 8], "int32"), T([3, 0, 9, 8], "int32"), right, f"int32, right {right}")
    search(T([1.0, 2], "float64"), T(1.5, "float64"), False, "rank 0 value, float64")
    search(line, T([]), False, "no values")
    search(T([]), T([1.0]), False, "nothing sorted")
    search(line, transposed(T([[0.0, 1], [7, 3], [-5, 2]])), False, "transposed values")
    search(T([1, 5], "int64"), T([5, 6], "int64"), True, "int64")
    search(line, T([NAN, INF, -INF]), False, "NaN and Inf")

    rng = f.rng("oneHot")
    hot = lambda t, n, name, fn="oneHot": f.case(
        fn, [t, n], lambda v: torch.nn.functional.one_hot(v.long(), n).float(), name=name, grad=False)
    hot(T([0, 2, 1], "int32"), 3, "int32")
    hot(T([[0, 2], [4, 1]], "int64"), 5, "int64 matrix")
    hot(T(1, "int32"), 2, "rank 0")
    hot(T([], "int32"), 3, "empty")
    hot(transposed(T([[0, 2], [1, 1]], "int32")), 3, "transposed")
    hot(T([0, 2, 1], "int32"), 4, "int32", "F.oneHot")


def scatters(f):
    def adder(fn):
        rng = f.rng(fn)
        return rng, lambda args, run, name, **kw: f.case(fn, args, run, name=name, **kw)

    rng, add = adder("putAlongAxis")
    reduces = {
        "assign": lambda v, i, s, axis: v.scatter(axis, i.long(), s),
        "add": lambda v, i, s, axis: v.scatter_add(axis, i.long(), s),
        "mul": lambda v, i, s, axis: v.scatter_reduce(axis, i.long(), s, "prod", include_self=True),
    }
    for how, run in reduces.items():
        opts = [{"reduce": how}]
        once = T([[2, 0], [1, 3]], "int32")
        twice = T([[2, 2, 0], [1, 1, 1]], "int64")
        put = lambda v, i, s: run(v, i, s, 1)
        add([normal(rng, [2, 4]), once, normal(rng, [2, 2]), 1] + opts, put, f"{how}", wrt=[0, 2])
        if how != "assign":
            add([normal(rng, [2, 4]), twice, normal(rng, [2, 3]), 1] + opts, put, f"{how}, repeated", wrt=[0, 2])
        add([normal(rng, [4, 2], "float64"), T([[3, 0]], "int32"), normal(rng, [1, 2], "float64"), 0] + opts,
            lambda v, i, s: run(v, i, s, 0), f"{how}, axis 0, float64", wrt=[0, 2])
        add([ints(rng, [2, 4], -9, 9), once, ints(rng, [2, 2], -9, 9), -1] + opts, put, f"{how}, int32", grad=False)
        add([transposed(normal(rng, [2, 4])), transposed(once), transposed(normal(rng, [2, 2])), 1] + opts, put, f"{how}, views", wrt=[0, 2])
    add([normal(rng, [2, 4]), T([[2, 0], [1, 3]], "int32"), normal(rng, [2, 2]), 1],
        lambda v, i, s: v.scatter(1, i.long(), s), "assign by default", wrt=[0, 2])
    add([normal(rng, [2, 4]), T([[2, 0], [1, 3]], "int32"), 1.5, 1, {"reduce": "assign"}],
        lambda v, i: v.scatter(1, i.long(), 1.5), "assign a scalar", wrt=[0])

    rng, add = adder("indexAdd")
    put = lambda axis: lambda v, i, s: v.index_add(axis, i.long(), s)
    add([normal(rng, [4, 3]), T([2, 0, 2], "int32"), 0, normal(rng, [3, 3])], put(0), "rows, repeated", wrt=[0, 2])
    add([normal(rng, [2, 4]), T([1, 3], "int64"), 1, normal(rng, [2, 2])], put(1), "columns", wrt=[0, 2])
    add([normal(rng, [2, 4]), T([1, 1], "int32"), -1, normal(rng, [2, 2])], put(-1), "negative axis", wrt=[0, 2])
    add([normal(rng, [5], "float64"), T([4, 4, 0], "int32"), 0, normal(rng, [3], "float64")], put(0), "float64", wrt=[0, 2])
    add([ints(rng, [4], -9, 9), T([2, 2], "int32"), 0, ints(rng, [2], -9, 9)], put(0), "int32", grad=False)
    add([normal(rng, [4, 3]), T([], "int32"), 0, normal(rng, [0, 3])], put(0), "nothing", wrt=[0, 2])
    add([transposed(normal(rng, [4, 3])), T([2, 0], "int32"), 0, transposed(normal(rng, [2, 3]))], put(0), "views", wrt=[0, 2])

    rng, add = adder("scatter")
    def rows(v, i, s):
        return v.index_copy(0, i.long(), s)
    def sums(v, i, s):
        return v.index_fill(0, i.long(), 0).index_add(0, i.long(), s)
    add([normal(rng, [4, 3]), T([2, 0], "int32"), normal(rng, [2, 3])], rows, "overwrite by default", wrt=[0, 2])
    add([normal(rng, [5], "float64"), T([4, 1], "int64"), normal(rng, [2], "float64"), {"overwrite": True}], rows, "overwrite, vector, float64", wrt=[0, 2])
    add([normal(rng, [4, 3]), T([2, 0, 2], "int32"), normal(rng, [3, 3]), {"overwrite": False}], sums, "zeroed, then added", wrt=[0, 2])
    add([normal(rng, [3, 2], "float64"), T([1, 1, 1], "int32"), normal(rng, [3, 2], "float64"), {"overwrite": False}], sums, "added, float64", wrt=[0, 2])
    add([ints(rng, [4], -9, 9), T([2, 0], "int32"), ints(rng, [2], -9, 9)], rows, "int32", grad=False)
    add([normal(rng, [4, 3]), T([], "int32"), normal(rng, [0, 3])], rows, "nothing", wrt=[0, 2])
    add([transposed(normal(rng, [4, 3])), T([2, 0], "int32"), stepped(rng, normal(rng, [2, 3]))], rows, "views", wrt=[0, 2])


def masks(f):
    rng = f.rng("maskedFill")
    def fill(x, mask, value, name, **kw):
        run = (lambda v, m, s: v.masked_fill(m, s)) if isinstance(value, T) else (lambda v, m: v.masked_fill(m, value))
        f.case("maskedFill", [x, mask, value], run, name=name, **kw)
    fill(normal(rng, [2, 3]), bools(rng, [2, 3]), 0, "scalar")
    fill(normal(rng, [2, 3]), bools(rng, [3]), -INF, "mask broadcasts, -Inf")
    fill(normal(rng, [3], "float64"), bools(rng, [3]), 0.1, "float64")
    fill(normal(rng, [2, 3]), T([[True, False, True], [False, True, False]], "bool"), T(2.5), "tensor value", wrt=[0, 2])
    fill(T([NAN, 1, INF]), T([True, False, True], "bool"), 0, "over NaN and Inf")
    fill(ints(rng, [3], -9, 9), bools(rng, [3]), 7, "int32", grad=False)
    fill(ints(rng, [3], -9, 9, "int64"), bools(rng, [3]), 7, "int64", grad=False)
    fill(T(1.5), T(True, "bool"), 0, "rank 0")
    fill(normal(rng, [0, 2]), bools(rng, [2]), 0, "empty")
    fill(transposed(normal(rng, [2, 3])), transposed(bools(rng, [2, 3])), 9, "views")

    rng = f.rng("maskedSelect")
    select = lambda x, mask, name, **kw: f.case("maskedSelect", [x, mask], torch.masked_select, name=name, **kw)
    select(normal(rng, [2, 3]), T([[True, False, True], [False, True, False]], "bool"), "matrix")
    select(normal(rng, [5], "float64"), bools(rng, [5]), "float64")
    select(normal(rng, [4]), T([False] * 4, "bool"), "nothing")
    select(ints(rng, [4], -9, 9), bools(rng, [4]), "int32", grad=False)
    select(ints(rng, [4], -9, 9, "int64"), bools(rng, [4]), "int64", grad=False)
    select(bools(rng, [4]), bools(rng, [4]), "bool", grad=False)
    select(transposed(normal(rng, [3, 4])), transposed(bools(rng, [3, 4])), "views")
    select(normal(rng, [2, 3]), T([True, False, True], "bool"), "mask broadcasts")

    find = lambda t, name: f.case("nonzero", [t], lambda v: Index(torch.nonzero(v)), name=name, grad=False)
    find(T([[0.0, 1, -0.0], [NAN, 0, 2]]), "float32")
    find(T([0, 3, 0, -1], "int32"), "int32 vector")
    find(T([[[True, False], [False, True]]], "bool"), "bool rank 3")
    find(T([0.0, 0]), "nothing")
    find(T([]), "empty")
    find(T([0, 2**40], "int64"), "int64")
    find(transposed(T([[0.0, 1], [1, 0], [0, 1]])), "transposed: row by row of the view")

    one = lambda t, name: f.case("unique", [t], torch.unique, name=name, grad=False)
    one(T([3.0, 1, 3, -2, 1]), "float32, sorted")
    one(T([[3, 1], [1, 3]], "int32"), "int32 matrix is flattened")
    one(T([2**53 + 1, 2**53, 2**53 + 1], "int64"), "int64")
    one(T([True, False, True], "bool"), "bool")
    one(T([]), "empty")
    one(T([INF, -INF, 0, INF], "float64"), "float64 with Inf")
    one(transposed(T([[3.0, 1], [2, 3], [1, 1]])), "transposed")


def sorting(f):
    for fn in ("sort", "argsort"):
        rng = f.rng(fn)
        def add(t, args, name, **kw):
            axis = args[0] if args and isinstance(args[0], int) else -1
            opts = args[1] if len(args) > 1 else {}
            def run(v):
                found = torch.sort(v, dim=axis, descending=opts.get("descending", False), stable=True)
                return [found.values, Index(found.indices)] if fn == "sort" else Index(found.indices)
            f.case(fn, [t, *args], run, name=name, **({"grad": False} if fn == "argsort" else {}), **kw)
        no = {"grad": False} if fn == "sort" else {}
        add(distinct(rng, [6]), [], "vector")
        add(distinct(rng, [2, 5]), [1, {"descending": True}], "descending rows")
        add(distinct(rng, [4, 3]), [0], "columns")
        add(distinct(rng, [2, 3, 2], "float64"), [-2], "float64, middle axis")
        add(distinct(rng, [7], "int32"), [], "int32", **no)
        add(distinct(rng, [7], "int64"), [0, {"descending": True}], "int64 descending", **no)
        add(T([2.0, 1, 2, 1, 3, 1]), [0, {"stable": True}], "stable with ties")
        add(T([2.0, 1, 2, 1, 3, 1]), [0, {"stable": True, "descending": True}], "stable descending with ties")
        add(T([NAN, 1, -INF, INF, 0]), [], "NaN last", **no)
        add(T([1, NAN, -INF, INF, 0]), [0, {"descending": True}], "NaN first descending", **no)
        add(distinct(rng, [0, 3]), [0], "empty")
        add(T([[5.0], [3]]), [1], "one each")
        add(transposed(distinct(rng, [5, 3])), [0], "transposed")
        add(distinct(rng, [40]), [], "forty")
    rng = f.rng("topk")
    def top(t, k, opts, name, **kw):
        def run(v):
            found = torch.topk(v, k, opts.get("axis", -1), opts.get("largest", True), True)
            return [found.values, Index(found.indices)]
        f.case("topk", [t, k] + ([opts] if opts else []), run, name=name, **kw)
    top(distinct(rng, [6]), 3, {}, "vector")
    top(distinct(rng, [2, 5]), 2, {"largest": False}, "smallest of rows")
    top(distinct(rng, [4, 3]), 2, {"axis": 0}, "columns")
    top(distinct(rng, [2, 5], "float64"), 5, {}, "all, float64")
    top(distinct(rng, [6], "int32"), 2, {}, "int32", grad=False)
    top(distinct(rng, [6], "int64"), 2, {"largest": False}, "int64", grad=False)
    top(T([1.0, NAN, INF, -INF]), 2, {}, "NaN is largest", grad=False)
    top(distinct(rng, [3]), 0, {}, "none")
    top(transposed(distinct(rng, [4, 3])), 2, {"axis": 0}, "transposed")
    top(distinct(rng, [50]), 7, {}, "fifty")


def family_inplace(f):
    """In-place methods on a clone of the first input."""
    def add(fn, args, change, name, **kw):
        def run(v, *rest):
            out = v.clone()
            change(out, *rest)
            return out
        f.case("Tensor." + fn, args, run, name=name, **kw)
    rng = f.rng("inplace")
    for fn in ("add_", "sub_", "mul_", "div_"):
        change = lambda v, *rest: getattr(v, fn)(*rest)
        away = lambda shape, dtype="float32": T(rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape), dtype)
        add(fn, [normal(rng, [2, 3]), away([2, 3])], change, "same shape")
        add(fn, [normal(rng, [2, 3]), away([3])], change, "row broadcasts")
        add(fn, [normal(rng, [3], "float64"), away([3], "float64")], change, "float64")
        add(fn, [normal(rng, [3]), 2.5], lambda v: getattr(v, fn)(2.5), "scalar")
        add(fn, [transposed(normal(rng, [2, 3])), away([2, 3])], change, "transposed")
        add(fn, [normal(rng, [0]), away([0])], change, "empty")
        if fn != "div_":
            add(fn, [ints(rng, [3], -9, 9), ints(rng, [3], -9, 9)], change, "int32", grad=False)
    add("fill_", [normal(rng, [2, 2]), 1.5], lambda v: v.fill_(1.5), "float32")
    add("fill_", [ints(rng, [2], 0, 9), 7], lambda v: v.fill_(7), "int32", grad=False)
    add("zero_", [normal(rng, [2, 2])], lambda v: v.zero_(), "float32")
    add("zero_", [ints(rng, [2], 1, 9, "int64")], lambda v: v.zero_(), "int64", grad=False)
    add("copy_", [normal(rng, [2, 3]), normal(rng, [2, 3])], lambda v, s: v.copy_(s), "same shape")
    add("copy_", [normal(rng, [2, 3]), normal(rng, [3])], lambda v, s: v.copy_(s), "broadcasts")
    add("copy_", [normal(rng, [3]), ints(rng, [3], -9, 9)], lambda v, s: v.copy_(s), "of int32", wrt=[0])
    add("clip_", [T([-2.0, -1, 0.5, 1, 3]), -1, 1], lambda v: v.clamp_(-1, 1), "both bounds")
    add("clip_", [T([-2.0, 0.5, 3], "float64"), 0], lambda v: v.clamp_(0), "lower only, float64")
    f.case("Tensor.clone", [normal(rng, [2, 3])], lambda v: v.clone(), name="float32")
    f.case("Tensor.clone", [transposed(ints(rng, [2, 3], -9, 9, "int64"))], lambda v: v.clone(), name="int64, transposed", grad=False)
    f.case("Tensor.detach", [normal(rng, [2, 3])], lambda v: v.detach(), name="float32", grad=False)
    f.case("Tensor.to", [normal(rng, [2, 3]), "float64"], lambda v: v.double(), name="float64", native=True)
    f.case("Tensor.to", [T([1.5, -1.5]), "int32"], lambda v: v.int(), name="int32", grad=False, native=True)
    f.case("Tensor.to", [T([1.5, -1.5]), "cpu"], lambda v: v.clone(), name="cpu")
