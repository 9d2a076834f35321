"""Family `movement`: functions that rearrange, repeat, join or pad tensors."""

import math

import torch
import torch.nn.functional as TF

from .lib import T, bools, ints, normal, stepped, take, transposed

NAN = math.nan


def family_movement(f):
    shapes(f)
    axes(f)
    windows(f)
    repeats(f)
    joins(f)
    pads(f)


def adder(f, fn):
    rng = f.rng(fn)

    def add(t, args, compute, name, **kw):
        f.case(fn, [t, *args], compute, name=name, **kw)

    return rng, add


def others(rng, add, shape, args, compute, *, views=True):
    """The dtypes and layouts every movement function gets."""
    add(normal(rng, shape, "float64"), args, compute, "float64")
    add(ints(rng, shape, -99, 100), args, compute, "int32", grad=False)
    add(ints(rng, shape, -99, 100, "int64"), args, compute, "int64", grad=False)
    add(bools(rng, shape), args, compute, "bool", grad=False)
    if views and len(shape) > 1:
        add(transposed(normal(rng, shape)), args, compute, "transposed")
        add(stepped(rng, normal(rng, shape)), args, compute, "stepped")


def shapes(f):
    rng, add = adder(f, "reshape")
    add(normal(rng, [2, 6]), [[3, 4]], lambda v: v.reshape(3, 4), "matrix")
    add(normal(rng, [2, 6]), [[-1]], lambda v: v.reshape(-1), "to a vector")
    add(normal(rng, [2, 6]), [[2, -1, 3]], lambda v: v.reshape(2, -1, 3), "one inferred")
    add(normal(rng, []), [[1, 1]], lambda v: v.reshape(1, 1), "from rank 0")
    add(normal(rng, [1]), [[]], lambda v: v.reshape([]), "to rank 0")
    add(normal(rng, [0, 3]), [[3, 0]], lambda v: v.reshape(3, 0), "empty")
    others(rng, add, [2, 6], [[4, 3]], lambda v: v.reshape(4, 3))

    rng, add = adder(f, "flatten")
    add(normal(rng, [2, 3, 4]), [], lambda v: v.flatten(), "all")
    add(normal(rng, [2, 3, 4]), [1], lambda v: v.flatten(1), "from 1")
    add(normal(rng, [2, 3, 4]), [0, 1], lambda v: v.flatten(0, 1), "0 to 1")
    add(normal(rng, [2, 3, 4]), [-2, -1], lambda v: v.flatten(-2, -1), "negative")
    add(normal(rng, []), [], lambda v: v.flatten(), "rank 0 gives rank 1")
    add(normal(rng, [0, 3]), [], lambda v: v.flatten(), "empty")
    others(rng, add, [2, 3], [], lambda v: v.flatten())

    rng, add = adder(f, "squeeze")
    add(normal(rng, [1, 3, 1]), [], lambda v: v.squeeze(), "all")
    add(normal(rng, [1, 3, 1]), [0], lambda v: v.squeeze(0), "one")
    add(normal(rng, [1, 3, 1]), [-1], lambda v: v.squeeze(-1), "negative")
    add(normal(rng, [1, 3, 1]), [[0, 2]], lambda v: v.squeeze((0, 2)), "several")
    add(normal(rng, [1, 3]), [1], lambda v: v.squeeze(1), "not of size 1: stays")
    add(normal(rng, [1, 0]), [0], lambda v: v.squeeze(0), "empty")
    others(rng, add, [1, 3], [0], lambda v: v.squeeze(0))

    rng, add = adder(f, "unsqueeze")
    for axis in (0, 1, 2, -1, -3):
        add(normal(rng, [2, 3]), [axis], lambda v: v.unsqueeze(axis), f"axis {axis}")
    add(normal(rng, []), [0], lambda v: v.unsqueeze(0), "rank 0")
    add(normal(rng, [0]), [0], lambda v: v.unsqueeze(0), "empty")
    others(rng, add, [2, 3], [1], lambda v: v.unsqueeze(1))

    for fn in ("expand", "broadcastTo"):
        rng, add = adder(f, fn)
        run = lambda shape: lambda v: v.expand(shape)
        add(normal(rng, [3]), [[2, 3]], run([2, 3]), "row")
        add(normal(rng, [2, 1]), [[2, 4]], run([2, 4]), "column")
        add(normal(rng, [1, 3, 1]), [[2, 2, 3, 2]], run([2, 2, 3, 2]), "new axis and two")
        add(normal(rng, []), [[2, 2]], run([2, 2]), "rank 0")
        add(normal(rng, [1, 0]), [[3, 0]], run([3, 0]), "empty")
        add(normal(rng, [1]), [[0, 1]], run([0, 1]), "to empty")
        if fn == "expand":
            add(normal(rng, [1, 3]), [[2, -1]], run([2, -1]), "-1 keeps")
        others(rng, add, [1, 3], [[2, 3]], run([2, 3]))


def axes(f):
    for fn in ("transpose", "swapaxes"):
        rng, add = adder(f, fn)
        add(normal(rng, [2, 3]), [0, 1], lambda v: v.transpose(0, 1), "matrix")
        add(normal(rng, [2, 3, 4]), [0, 2], lambda v: v.transpose(0, 2), "rank 3")
        add(normal(rng, [2, 3, 4]), [-1, -2], lambda v: v.transpose(-1, -2), "negative")
        add(normal(rng, [2, 3]), [1, 1], lambda v: v.transpose(1, 1), "same axis")
        add(normal(rng, [0, 3]), [0, 1], lambda v: v.transpose(0, 1), "empty")
        others(rng, add, [2, 3], [0, 1], lambda v: v.transpose(0, 1))

    rng, add = adder(f, "permute")
    add(normal(rng, [2, 3, 4]), [[2, 0, 1]], lambda v: v.permute(2, 0, 1), "rank 3")
    add(normal(rng, [2, 3, 4]), [[0, -1, 1]], lambda v: v.permute(0, -1, 1), "negative")
    add(normal(rng, []), [[]], lambda v: v.permute([]), "rank 0")
    add(normal(rng, [2, 0, 3]), [[1, 2, 0]], lambda v: v.permute(1, 2, 0), "empty")
    others(rng, add, [2, 3], [[1, 0]], lambda v: v.permute(1, 0))

    rng, add = adder(f, "moveaxis")
    add(normal(rng, [2, 3, 4]), [0, -1], lambda v: v.movedim(0, -1), "first to last")
    add(normal(rng, [2, 3, 4]), [2, 0], lambda v: v.movedim(2, 0), "last to first")
    add(normal(rng, [2, 3, 4]), [[0, 1], [-1, 0]], lambda v: v.movedim((0, 1), (-1, 0)), "several")
    others(rng, add, [2, 3], [0, 1], lambda v: v.movedim(0, 1))

    rng, add = adder(f, "Tensor.T")
    add(normal(rng, [2, 3]), [], lambda v: v.transpose(0, 1), "matrix")
    add(normal(rng, [2, 3, 4]), [], lambda v: v.permute(2, 1, 0), "rank 3 reverses")
    add(normal(rng, [3]), [], lambda v: v.permute(0), "vector")
    rng, add = adder(f, "Tensor.mT")
    add(normal(rng, [2, 3]), [], lambda v: v.mT, "matrix")
    add(normal(rng, [2, 3, 4]), [], lambda v: v.mT, "batch")

    rng, add = adder(f, "flip")
    add(normal(rng, [4]), [0], lambda v: v.flip(0), "vector")
    add(normal(rng, [2, 3]), [-1], lambda v: v.flip(-1), "negative")
    add(normal(rng, [2, 3, 2]), [[0, 2]], lambda v: v.flip(0, 2), "two axes")
    add(normal(rng, [0, 3]), [0], lambda v: v.flip(0), "empty")
    others(rng, add, [2, 3], [1], lambda v: v.flip(1))

    rng, add = adder(f, "roll")
    add(normal(rng, [5]), [2, 0], lambda v: v.roll(2, 0), "vector")
    add(normal(rng, [2, 3]), [-1, 1], lambda v: v.roll(-1, 1), "negative shift")
    add(normal(rng, [2, 3]), [7, -1], lambda v: v.roll(7, -1), "past the size")
    add(normal(rng, [3, 4]), [[1, -2], [0, 1]], lambda v: v.roll((1, -2), (0, 1)), "two axes")
    add(normal(rng, [2, 3]), [2], lambda v: v.roll(2), "flattened")
    add(normal(rng, [0, 3]), [1, 0], lambda v: v.roll(1, 0), "empty")
    others(rng, add, [2, 3], [1, 1], lambda v: v.roll(1, 1))


def windows(f):
    rng, add = adder(f, "slice")

    def cut(t, ax, starts, ends, steps, name, **kw):
        spec = {"axes": ax, "starts": starts, "ends": ends}
        if steps:
            spec["steps"] = steps
        index = [slice(None)] * t.array.ndim
        for i, a in enumerate(ax):
            index[a] = slice(starts[i], ends[i], steps[i] if steps else 1)
        add(t, [spec], lambda v: take(v, tuple(index)), name, **kw)

    cut(normal(rng, [5]), [0], [1], [4], None, "vector")
    cut(normal(rng, [4, 5]), [1], [0], [5], [2], "step 2")
    cut(normal(rng, [4, 5]), [0, 1], [1, -3], [3, -1], None, "two axes, negative")
    cut(normal(rng, [4, 5]), [-1], [1], [100], None, "end past the size")
    cut(normal(rng, [4, 5]), [0], [-100], [2], None, "start before the first")
    cut(normal(rng, [5]), [0], [4], [1], [-1], "backward")
    cut(normal(rng, [5, 2]), [0], [4], [0], [-2], "backward by 2")
    cut(normal(rng, [5]), [0], [3], [3], None, "nothing")
    cut(normal(rng, [0, 3]), [1], [1], [3], None, "empty")
    cut(normal(rng, [4, 3], "float64"), [0], [1], [4], [2], "float64")
    for dtype in ("int32", "int64"):
        cut(ints(rng, [4, 3], -9, 9, dtype), [0], [1], [3], None, dtype, grad=False)
    cut(bools(rng, [5]), [0], [0], [5], [3], "bool", grad=False)
    cut(transposed(normal(rng, [4, 3])), [0], [1], [4], [2], "transposed")
    cut(stepped(rng, normal(rng, [2, 4])), [1], [1], [4], [2], "stepped")

    rng, add = adder(f, "unfold")
    run = lambda axis, size, step: lambda v: v.unfold(axis, size, step)
    add(normal(rng, [7]), [0, {"size": 3, "step": 2}], run(0, 3, 2), "overlapping")
    add(normal(rng, [6]), [0, {"size": 2, "step": 2}], run(0, 2, 2), "side by side")
    add(normal(rng, [2, 5]), [1, {"size": 2, "step": 3}], run(1, 2, 3), "with gaps")
    add(normal(rng, [4, 2]), [-2, {"size": 3, "step": 1}], run(-2, 3, 1), "negative axis")
    others(rng, add, [2, 4], [1, {"size": 2, "step": 1}], run(1, 2, 1))

    for fn in ("split", "chunk"):
        rng, add = adder(f, fn)
        if fn == "split":
            run = lambda sizes, axis=0: lambda v: list(torch.split(v, sizes, axis))
            add(normal(rng, [6]), [2], run(2), "pieces of size 2")
            add(normal(rng, [5, 2]), [2], run(2), "last is smaller")
            add(normal(rng, [2, 6]), [[1, 2, 3], 1], run([1, 2, 3], 1), "sections")
            add(normal(rng, [2, 4]), [[4, 0], -1], run([4, 0], -1), "an empty section")
            others(rng, add, [2, 4], [2, 1], run(2, 1))
        else:
            run = lambda count, axis=0: lambda v: list(torch.chunk(v, count, axis))
            add(normal(rng, [6]), [3], run(3), "three")
            add(normal(rng, [5, 2]), [2], run(2), "last is smaller")
            add(normal(rng, [2, 6]), [2, -1], run(2, -1), "negative axis")
            others(rng, add, [2, 4], [2, 1], run(2, 1))
    rng, add = adder(f, "unbind")
    add(normal(rng, [3, 2]), [], lambda v: list(v.unbind()), "first axis by default")
    add(normal(rng, [2, 3]), [1], lambda v: list(v.unbind(1)), "axis 1")
    add(normal(rng, [2, 3, 2]), [-2], lambda v: list(v.unbind(-2)), "negative axis")
    add(normal(rng, [2]), [], lambda v: list(v.unbind()), "vector gives rank 0")
    others(rng, add, [2, 3], [1], lambda v: list(v.unbind(1)))

    rng, add = adder(f, "diagonal")
    add(normal(rng, [3, 4]), [], lambda v: v.diagonal(), "matrix")
    add(normal(rng, [3, 4]), [{"offset": 1}], lambda v: v.diagonal(1), "above")
    add(normal(rng, [3, 4]), [{"offset": -2}], lambda v: v.diagonal(-2), "below")
    add(normal(rng, [2, 3, 4]), [{"axis1": 1, "axis2": 2}], lambda v: v.diagonal(0, 1, 2), "batch")
    add(normal(rng, [2, 3, 4]), [{"offset": 1, "axis1": 2, "axis2": 0}], lambda v: v.diagonal(1, 2, 0), "axes swapped")
    add(normal(rng, [3, 3]), [{"offset": 3}], lambda v: v.diagonal(3), "outside is empty")
    others(rng, add, [3, 3], [], lambda v: v.diagonal())


def repeats(f):
    rng, add = adder(f, "tile")
    add(normal(rng, [3]), [[2]], lambda v: v.tile(2), "vector")
    add(normal(rng, [2, 3]), [[2, 1]], lambda v: v.tile(2, 1), "matrix")
    add(normal(rng, [3]), [[2, 2]], lambda v: v.tile(2, 2), "more repeats than axes")
    add(normal(rng, [2, 3]), [[2]], lambda v: v.tile(2), "fewer repeats than axes")
    add(normal(rng, []), [[2, 3]], lambda v: v.tile(2, 3), "rank 0")
    add(normal(rng, [2]), [[0]], lambda v: v.tile(0), "to empty")
    others(rng, add, [2, 3], [[1, 2]], lambda v: v.tile(1, 2))
    rng, add = adder(f, "repeatInterleave")
    add(normal(rng, [3]), [2, 0], lambda v: v.repeat_interleave(2, 0), "vector")
    add(normal(rng, [2, 3]), [3, 1], lambda v: v.repeat_interleave(3, 1), "axis 1")
    add(normal(rng, [2, 3]), [2, -2], lambda v: v.repeat_interleave(2, -2), "negative axis")
    add(normal(rng, [2, 2]), [2], lambda v: v.repeat_interleave(2), "flattened")
    others(rng, add, [2, 3], [2, 1], lambda v: v.repeat_interleave(2, 1))


def joins(f):
    for fn, join in (("concat", torch.cat), ("stack", torch.stack)):
        rng = f.rng(fn)
        def add(ts, axis, name, **kw):
            f.case(fn, [ts] + ([] if axis is None else [axis]), lambda *vs: join(list(vs), axis or 0), name=name, **kw)
        n = (lambda *s: normal(rng, list(s)))
        add([n(2, 3), n(2, 3)], None, "first axis by default")
        add([n(2, 3), n(2, 3), n(2, 3)], 1, "three along 1")
        add([n(2, 3), n(2, 3)], -1, "last axis")
        add([n(2, 3)], 0, "one")
        add([normal(rng, [2], "float64"), normal(rng, [2], "float64")], 0, "float64")
        for dtype in ("int32", "int64"):
            add([ints(rng, [2], -9, 9, dtype), ints(rng, [2], -9, 9, dtype)], 0, dtype, grad=False)
        add([bools(rng, [2]), bools(rng, [2])], 0, "bool", grad=False)
        add([transposed(n(2, 3)), stepped(rng, n(2, 3))], 1, "views")
        if fn == "concat":
            add([n(1, 3), n(4, 3), n(2, 3)], 0, "different sizes")
            add([n(2, 3), n(2, 0)], 1, "with an empty one")
            add([normal(rng, [2]), ints(rng, [2], -9, 9)], 0, "float32 with int32", wrt=[0], native=True)
        else:
            add([n(), n()], 0, "rank 0")
            add([n(0, 2), n(0, 2)], 2, "empty, new last axis")
            add([n(2, 3), n(2, 3)], 2, "new last axis")


def torch_pad(v, pads, mode, value):
    """Padding of any axes: PyTorch only reflects trailing axes, so each axis goes to the end in turn."""
    if mode == "constant":
        flat = [n for pair in reversed(pads) for n in pair]
        return TF.pad(v, flat, value=value)
    for axis, pair in enumerate(pads):
        if pair == [0, 0]:
            continue
        w = v.movedim(axis, -1)
        flat = w.reshape(1, -1, w.shape[-1])
        padded = TF.pad(flat, pair, mode=mode)
        v = padded.reshape(*w.shape[:-1], padded.shape[-1]).movedim(-1, axis)
    return v


def pads(f):
    rng = f.rng("pad")
    def add(t, pads, opts, name, **kw):
        mode, value = opts.get("mode", "constant"), opts.get("value", 0)
        f.case("pad", [t, pads] + ([opts] if opts else []), lambda v: torch_pad(v, pads, mode, value), name=name, **kw)
    add(normal(rng, [3]), [[1, 2]], {}, "vector")
    add(normal(rng, [2, 3]), [[1, 0], [2, 1]], {}, "matrix")
    add(normal(rng, [2, 3]), [[0, 0], [1, 1]], {"value": -1.5}, "value")
    add(normal(rng, [2, 3]), [[0, 1], [1, 0]], {"value": NAN}, "NaN value")
    add(normal(rng, [1, 2, 2]), [[1, 0], [0, 1], [1, 1]], {}, "rank 3")
    add(normal(rng, [0, 2]), [[1, 1], [0, 0]], {}, "empty")
    for mode in ("reflect", "replicate", "circular"):
        add(normal(rng, [4]), [[2, 3]], {"mode": mode}, mode)
        add(normal(rng, [3, 4]), [[1, 2], [2, 0]], {"mode": mode}, f"{mode}, two axes")
        add(normal(rng, [1, 2, 3, 4], "float64"), [[0, 0], [0, 0], [1, 1], [2, 1]], {"mode": mode}, f"{mode}, image, float64")
        add(transposed(normal(rng, [4, 3])), [[1, 1], [1, 1]], {"mode": mode}, f"{mode}, transposed")
    add(ints(rng, [2, 2], -9, 9), [[1, 1], [0, 1]], {"value": 7}, "int32", grad=False)
    add(ints(rng, [2, 2], -9, 9, "int64"), [[1, 1], [0, 1]], {}, "int64", grad=False)
    add(bools(rng, [3]), [[1, 1]], {}, "bool", grad=False)
    add(transposed(normal(rng, [2, 3])), [[1, 0], [0, 1]], {}, "transposed")
    add(stepped(rng, normal(rng, [2, 3])), [[1, 0], [0, 1]], {}, "stepped")
