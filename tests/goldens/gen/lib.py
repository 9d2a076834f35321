"""How golden cases are described, computed with PyTorch and written. Deliberately not here: which
cases there are (the family files beside this one).

A case names a function of Plesio, its arguments as TypeScript would write them, and a Python function
that computes the same with PyTorch. float32 cases are computed in float64 and rounded once, so that
the expected value is the right one and not PyTorch's float32 error; `native=True` turns that off.
"""

import base64
import json
import math
import sys
import zlib

import numpy as np
import torch

FORMAT = 1
INDEX = "int32"  # dtype of every index result

_NUMPY = {"float32": "<f4", "float64": "<f8", "int32": "<i4", "int64": "<i8", "bool": "|u1"}
_TORCH = {
    "float32": torch.float32,
    "float64": torch.float64,
    "int32": torch.int32,
    "int64": torch.int64,
    "bool": torch.bool,
}
_NAMES = {v: k for k, v in _TORCH.items()}


class T:
    """An input tensor: a base array, the views taken of it, and its dtype."""

    def __init__(self, values, dtype="float32", view=()):
        self.dtype = dtype
        self.array = np.asarray(values, dtype="bool" if dtype == "bool" else _NUMPY[dtype])
        self.views = [list(v) for v in view]

    def view(self, *step):
        """The same base seen through one more view step (see README.md)."""
        other = T(self.array, self.dtype, self.views)
        other.views.append(list(step))
        return other

    def encoded(self):
        text = encode(self.array, self.dtype)
        return [text, *self.views] if self.views else text

    def build(self, wide):
        """(base, seen through its views), in float64 where `wide` says so."""
        base = torch.from_numpy(np.array(self.array, order="C", copy=True))
        if wide and self.dtype == "float32":
            base = base.double()
        base.requires_grad_(base.is_floating_point())
        x = base
        for op, *rest in self.views:
            if op == "permute":
                x = x.permute(rest[0])
            elif op == "slice":
                axis, start, end, step = rest
                index = [slice(None)] * x.dim()
                index[axis] = slice(start, end, step)
                x = x[tuple(index)]
            elif op == "expand":
                x = x.expand(rest[0])
            else:
                raise ValueError(op)
        return base, x


def encode(array, dtype):
    """`float32[2,3]:base64 of little-endian values`."""
    array = np.asarray(array, order="C")  # ascontiguousarray would give rank 0 an axis
    payload = array.astype(_NUMPY[dtype]).tobytes()
    shape = ",".join(str(n) for n in array.shape)
    return f"{dtype}[{shape}]:{base64.b64encode(payload).decode()}"


def encode_torch(t, dtype=None):
    with np.errstate(over="ignore"):
        array = t.detach().resolve_conj().contiguous().cpu().numpy()
        name = dtype or _NAMES[t.dtype]
        if name == "float32" and array.dtype == np.float64:
            array = array.astype(np.float32)
        return encode(array, name)


class Index:
    """Marks an output that holds positions: int32 in Plesio, int64 in PyTorch."""

    def __init__(self, tensor):
        self.tensor = tensor


def _plain(x, inputs):
    """An argument as JSON, tensors replaced by references into `inputs`."""
    if isinstance(x, T):
        for k, known in enumerate(inputs):
            if known is x:
                return {"t": k}
        inputs.append(x)
        return {"t": len(inputs) - 1}
    if isinstance(x, (list, tuple)):
        return [_plain(v, inputs) for v in x]
    if isinstance(x, dict):
        return {k: _plain(v, inputs) for k, v in x.items()}
    if isinstance(x, float) and not math.isfinite(x):
        return {"n": "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"}
    if x is UNDEFINED:
        return {"n": "undefined"}
    if isinstance(x, float) and x == int(x) and abs(x) < 2**53:
        return int(x) if str(x) != "-0.0" else {"n": "-0"}
    return x


UNDEFINED = object()


class Family:
    """The cases of one file."""

    def __init__(self, name):
        self.name = name
        self.lines = []
        self.counts = {}
        self.warnings = []

    def rng(self, fn, what="inputs"):
        """Seeded by family, function and how many cases it has: adding one leaves the others alone."""
        key = f"{self.name}/{fn}/{self.counts.get(fn, 0)}/{what}"
        return np.random.default_rng(zlib.crc32(key.encode()))

    def raw(self, fn, record):
        """Adds a record as it is; program-like families (optimizers, schedulers) use it."""
        self.counts[fn] = self.counts.get(fn, 0) + 1
        line = json.dumps({"fn": fn, **record}, separators=(",", ":"), allow_nan=False)
        self.lines.append(line)

    def case(
        self,
        fn,
        args,
        compute,
        *,
        name,
        grad=True,
        wrt=None,
        second=False,
        native=False,
        zero_sign=False,
        tol=None,
        after=(),
        extra=None,
        more_inputs=(),
    ):
        """Computes and adds one case.

        `compute` gets the input tensors in order and returns a tensor, Index, or a list of them.
        `wrt`: inputs to differentiate by (default: every float one). `second`: also the gradient of
        the gradient. `after`: input indexes whose value after the call is stored, by `compute`
        returning (outputs, {index: tensor}). `extra`: further JSON of the case.
        """
        inputs = []
        encoded_args = _plain(list(args), inputs)
        encoded_extra = _plain(extra or {}, inputs)
        for t in more_inputs:
            _plain(t, inputs)
        has64 = any(t.dtype == "float64" for t in inputs)
        wide = not native and not has64 and any(t.dtype == "float32" for t in inputs)
        rng = self.rng(fn, "gradients")

        record = {"name": name, "args": encoded_args, **encoded_extra}
        record["in"] = [t.encoded() for t in inputs]
        outs, bases, changed = self._forward(inputs, compute, wide)
        record["out"] = [self._encode_out(o, wide) for o in outs]
        if zero_sign:
            record["zeroSign"] = True
        if after:
            record["after"] = {str(k): self._encode_out(changed[k], wide) for k in after}
        if tol:
            if not tol.get("why"):
                raise ValueError("a tolerance needs a reason")
            record["tol"] = tol
        if grad:
            self._gradients(record, fn, name, inputs, outs, bases, wrt, second, wide, rng)
        self._cross_check(fn, name, inputs, compute, record, wide)
        self.raw(fn, record)

    def _forward(self, inputs, compute, wide):
        built = [t.build(wide) for t in inputs]
        outs = compute(*[x for _, x in built])
        changed = {}
        if isinstance(outs, tuple) and len(outs) == 2 and isinstance(outs[1], dict):
            outs, changed = outs
        if not isinstance(outs, (list, tuple)):
            outs = [outs]
        return list(outs), [b for b, _ in built], changed

    def _encode_out(self, o, wide):
        if isinstance(o, Index):
            return encode_torch(o.tensor.to(torch.int32))
        narrow = wide and o.dtype == torch.float64
        return encode_torch(o, "float32" if narrow else None)

    def _gradients(self, record, fn, name, inputs, outs, bases, wrt, second, wide, rng):
        if wrt is None:
            wrt = [k for k, t in enumerate(inputs) if t.dtype in ("float32", "float64")]
        live = [o for o in outs if not isinstance(o, Index) and o.requires_grad]
        if not live or not wrt:
            raise ValueError(f"{fn} ({name}): nothing to differentiate")
        seeds, encoded = [], []
        for o in outs:
            if isinstance(o, Index) or not o.requires_grad:
                encoded.append(None)
                continue
            g = np.round(rng.standard_normal(tuple(o.shape)) * 64) / 64
            narrow = wide and o.dtype == torch.float64
            dtype = "float32" if narrow else _NAMES[o.dtype]
            encoded.append(encode(np.asarray(g), dtype))
            seeds.append(torch.tensor(np.asarray(g), dtype=o.dtype))
        ins = [bases[k] for k in wrt]
        grads = torch.autograd.grad(live, ins, seeds, create_graph=second, allow_unused=True)
        missing = [k for k, d in zip(wrt, grads) if d is None]
        if missing:
            raise ValueError(f"{fn} ({name}): no gradient for inputs {missing}; give wrt")
        if any(torch.isnan(d).any() for d in grads):
            self.warnings.append(f"{fn} ({name}): NaN in a gradient")
        record["grad"] = {
            "wrt": wrt,
            "g": encoded,
            "d": [encode_torch(d, inputs[k].dtype) for k, d in zip(wrt, grads)],
        }
        if second:
            hs = [np.round(rng.standard_normal(tuple(d.shape)) * 64) / 64 for d in grads]
            pairs = [(d, torch.tensor(np.asarray(h), dtype=d.dtype)) for d, h in zip(grads, hs)]
            pairs = [(d, h) for d, h in pairs if d.requires_grad]
            if not pairs:
                raise ValueError(f"{fn} ({name}): no second gradient")
            outs2, seeds2 = zip(*pairs)
            twos = torch.autograd.grad(outs2, ins, seeds2, allow_unused=True)
            twos = [torch.zeros_like(x) if d is None else d for x, d in zip(ins, twos)]
            if any(not torch.isfinite(d).all() for d in twos):
                self.warnings.append(f"{fn} ({name}): not finite in a second gradient")
            record["grad"]["h"] = [
                encode(np.asarray(h), inputs[k].dtype) for k, h in zip(wrt, hs)
            ]
            record["grad"]["dd"] = [encode_torch(d, inputs[k].dtype) for k, d in zip(wrt, twos)]

    def _cross_check(self, fn, name, inputs, compute, record, wide):
        """What PyTorch itself gives in float32 must agree roughly with the rounded float64 value."""
        if not wide:
            return
        outs, _, _ = self._forward(inputs, compute, False)
        for o, text in zip(outs, record["out"]):
            if isinstance(o, Index) or not o.is_floating_point():
                continue
            want = np.frombuffer(base64.b64decode(text.split(":", 1)[1]), dtype="<f4")
            got = o.detach().float().contiguous().numpy().reshape(-1)
            if want.shape != got.shape or not np.allclose(
                got, want, rtol=2e-4, atol=2e-5 * max(1.0, _largest(want)), equal_nan=True
            ):
                self.warnings.append(f"{fn} ({name}): float32 differs: {got} {want}")

    def text(self):
        head = {
            "family": self.name,
            "format": FORMAT,
            "source": f"PyTorch {torch.__version__.split('+')[0]}",
            "cases": len(self.lines),
        }
        return "\n".join([json.dumps(head, separators=(",", ":")), *self.lines]) + "\n"


def _largest(a):
    finite = a[np.isfinite(a)]
    return float(np.abs(finite).max()) if finite.size else 0.0


def normal(rng, shape, dtype="float32", scale=1.0):
    return T(rng.standard_normal(shape) * scale, dtype)


def between(rng, shape, lo, hi, dtype="float32"):
    return T(rng.uniform(lo, hi, shape), dtype)


def ints(rng, shape, lo, hi, dtype="int32"):
    """Integers in [lo, hi)."""
    return T(rng.integers(lo, hi, shape), dtype)


def bools(rng, shape):
    return T(rng.integers(0, 2, shape).astype(bool), "bool")


def distinct(rng, shape, dtype="float32", spread=1.0):
    """Values that all differ clearly, in random order."""
    n = int(np.prod(shape))
    return T((rng.permutation(n) - n // 2).reshape(shape) * spread, dtype)


def transposed(t):
    """The same values and shape, laid out transposed (first two axes of the base swapped)."""
    order = list(range(t.array.ndim))
    order[0], order[1] = 1, 0
    return T(t.array.transpose(order).copy(), t.dtype).view("permute", order)


def stepped(rng, t, axis=-1):
    """The same values and shape, every second element of a base twice as long (and one more)."""
    axis = axis % t.array.ndim
    shape = list(t.array.shape)
    n = shape[axis]
    shape[axis] = 2 * n + 1
    base = np.asarray(rng.integers(-3, 4, shape)).astype(t.array.dtype)
    index = [slice(None)] * len(shape)
    index[axis] = slice(1, 2 * n + 1, 2)
    base[tuple(index)] = t.array
    return T(base, t.dtype).view("slice", axis, 1, 2 * n + 1, 2)


def take(x, index):
    """NumPy indexing (negative steps, advanced placement) as a differentiable PyTorch function."""
    flat = np.arange(x.numel()).reshape(tuple(x.shape))[index]
    where = torch.from_numpy(np.ascontiguousarray(flat).reshape(-1))
    return x.reshape(-1)[where].reshape(np.shape(flat))


def fail(message):
    print(message, file=sys.stderr)
    sys.exit(1)
