"""Families `recurrent` and `transformer`: layers on sequences, by PyTorch's modules with the same parameters."""

import re

import torch
from torch.func import functional_call
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .conv_nd import layer
from .lib import T, UNDEFINED, normal


def snake(name):
    """weightIhL0Reverse to weight_ih_l0_reverse."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for each in value for t in flat(each)]


MODULES = {
    "SimpleRNN": torch.nn.RNN,
    "LSTM": torch.nn.LSTM,
    "GRU": torch.nn.GRU,
    "SimpleRNNCell": torch.nn.RNNCell,
    "LSTMCell": torch.nn.LSTMCell,
    "GRUCell": torch.nn.GRUCell,
}
GATES = {"SimpleRNN": 1, "LSTM": 4, "GRU": 3}


def family_recurrent(f):
    def weights(rng, fn, sizes, options, dtype):
        size, hidden = sizes
        rows = GATES[fn.removesuffix("Cell")] * hidden
        make = lambda *shape: normal(rng, list(shape), dtype, 0.5)
        params = {}
        if fn.endswith("Cell"):
            params = {"weightIh": make(rows, size), "weightHh": make(rows, hidden), "biasIh": make(rows), "biasHh": make(rows)}
        else:
            directions = 1 if options.get("direction", "forward") == "forward" else 2
            for k in range(options.get("numLayers", 1)):
                for end in ("", "Reverse")[:directions]:
                    columns = size if k == 0 else hidden * directions
                    params[f"weightIhL{k}{end}"] = make(rows, columns)
                    params[f"weightHhL{k}{end}"] = make(rows, hidden)
                    params[f"biasIhL{k}{end}"] = make(rows)
                    params[f"biasHhL{k}{end}"] = make(rows)
        if options.get("bias") is False:
            params = {k: v for k, v in params.items() if not k.startswith("bias")}
        return params

    def case(fn, options, shape, name, *, states=False, lengths=None, dtype="float32", second=False):
        rng = f.rng("nn." + fn)
        size, hidden = 3, 2
        if dtype != "float32":
            options = {**options, "dtype": dtype}
        x = normal(rng, [*shape, size], dtype)
        params = weights(rng, fn, (size, hidden), options, dtype)
        cell = fn.endswith("Cell")
        kept = 2 if fn.startswith("LSTM") else 1
        batch = shape[0] if cell or not options.get("timeMajor") else shape[1]
        lead = [] if cell else [options.get("numLayers", 1) * (1 if options.get("direction", "forward") == "forward" else 2)]
        first = [normal(rng, [*lead, batch, hidden], dtype) for _ in range(kept)] if states else []
        begin = (first if kept == 2 else first[0]) if states else UNDEFINED
        call = [x] + ([begin] if states or lengths else []) + ([{"sequenceLength": lengths}] if lengths else [])
        how = {"nonlinearity": options.get("activation", "tanh")} if fn.startswith("SimpleRNN") else {}
        if not cell:
            how |= {
                "num_layers": options.get("numLayers", 1),
                "bidirectional": options.get("direction", "forward") != "forward",
                "batch_first": not options.get("timeMajor", False),
            }
        names = [snake(k) for k in params]

        def compute(x, *rest):
            module = MODULES[fn](size, hidden, bias=options.get("bias", True), **how).to(x.dtype)
            given = dict(zip(names, rest[len(first):]))
            begin = rest[: len(first)]
            begin = () if not begin else (tuple(begin) if kept == 2 else begin[0],)
            if cell:
                after = functional_call(module, given, (x, *begin))
                # Paddle gives the output first: the new hidden state.
                return [flat(after)[0], *flat(after)]
            if lengths is None:
                return flat(functional_call(module, given, (x, *begin)))
            packed = pack_padded_sequence(x, torch.tensor(lengths), how["batch_first"], enforce_sorted=False)
            out, last = functional_call(module, given, (packed, *begin))
            out, _ = pad_packed_sequence(out, how["batch_first"], 0.0, shape[0 if not how["batch_first"] else 1])
            return [out, *flat(last)]

        ctor = [size, hidden] + ([options] if options else [])
        layer(f, fn, ctor, call, compute, name, params=params,
              wrt=list(range(1 + len(first) + len(params))), second=second)

    for fn in ("SimpleRNN", "LSTM", "GRU"):
        case(fn + "Cell", {}, [2], "from zeros")
        case(fn + "Cell", {}, [2], "from states", states=True)
        case(fn + "Cell", {"bias": False}, [1], "no bias", states=True)
        case(fn + "Cell", {}, [2], "float64", states=True, dtype="float64", second=True)
    case("SimpleRNNCell", {"activation": "relu"}, [2], "relu", states=True)
    for fn in ("SimpleRNN", "LSTM", "GRU"):
        case(fn, {}, [2, 4], "defaults")
        case(fn, {"timeMajor": True}, [3, 2], "timeMajor, states", states=True)
        case(fn, {"bias": False}, [1, 1], "one step, no bias", states=True)
        case(fn, {"numLayers": 2}, [2, 3], "two layers", states=True)
        case(fn, {"direction": "bidirect"}, [2, 3], "both directions", states=True)
        case(fn, {}, [3, 4], "lengths", lengths=[2, 4, 1])
        case(fn, {"numLayers": 2, "direction": "bidirect"}, [2, 3], "two layers, both directions, lengths, states",
             lengths=[3, 1], states=True)
        case(fn, {"direction": "bidirect"}, [2, 3], "float64, lengths", lengths=[1, 3], states=True, dtype="float64", second=True)
        case(fn, {"numLayers": 2}, [2, 2], "float64, two layers", states=True, dtype="float64", second=True)
    case("SimpleRNN", {"activation": "relu"}, [2, 3], "relu", states=True)
