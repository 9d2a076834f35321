"""Families `recurrent` and `transformer`: layers on sequences, by PyTorch's modules with the same parameters."""

import re

import torch
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .conv_nd import layer
from .lib import T, UNDEFINED, bools, ints, normal


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


SIZE, HEADS, WIDE = 4, 2, 6


def torch_state(params):
    """Plesio's names and layouts to PyTorch's: weights transposed, the three projections of attention in one."""
    state = {}
    for name, value in params.items():
        head, _, leaf = name.rpartition(".")
        path = snake(head).replace("cross_attn", "multihead_attn")
        # Names of fields in front of a projection; none for a MultiHeadAttention alone.
        owner, _, part = path.rpartition(".")
        dot = owner + "." if owner else ""
        if part == "q_proj":
            three = [params[f"{head[:-5]}{p}Proj.{leaf}"] for p in "qkv"]
            if leaf == "bias" or len({w.shape[0] for w in three}) == 1:
                state[f"{dot}in_proj_{leaf}"] = torch.cat([w.t() if leaf == "weight" else w for w in three])
            else:
                state.update({f"{dot}{p}_proj_weight": w.t() for p, w in zip("qkv", three)})
        elif part not in ("k_proj", "v_proj"):
            linear = leaf == "weight" and value.dim() == 2
            state[f"{path}.{leaf}"] = value.t() if linear else value
    return state


def linear(make, name, rows, columns, bias=True):
    return {f"{name}.weight": make(rows, columns), **({f"{name}.bias": make(columns)} if bias else {})}


def attention_params(make, name="", kdim=SIZE, vdim=SIZE, bias=True):
    sizes = {"q": SIZE, "k": kdim, "v": vdim, "out": SIZE}
    return {k: v for p, rows in sizes.items() for k, v in linear(make, f"{name}{p}Proj", rows, SIZE, bias).items()}


def block_params(make, name="", decoder=False):
    params = attention_params(make, name + "selfAttn.")
    if decoder:
        params |= attention_params(make, name + "crossAttn.")
    params |= linear(make, name + "linear1", SIZE, WIDE) | linear(make, name + "linear2", WIDE, SIZE)
    for k in (1, 2, 3)[: 3 if decoder else 2]:
        params |= {f"{name}norm{k}.weight": make(SIZE), f"{name}norm{k}.bias": make(SIZE)}
    return params


def blocked(mask):
    """Plesio's masks say where to attend, PyTorch's bools where not."""
    return mask if mask is None or mask.is_floating_point() else mask == 0


def family_transformer(f):
    def case(fn, ctor, call, params, module, name, run=None, dtype="float32", second=False):
        tensors = []
        def gather(x):
            if isinstance(x, T):
                tensors.append(x)
            for each in x.values() if isinstance(x, dict) else x if isinstance(x, list) else []:
                gather(each)
        gather(call)
        floats = [k for k, t in enumerate(tensors) if t.dtype.startswith("float")]
        names = list(params)

        def compute(*given):
            made = module().to(given[0].dtype).train()
            state = torch_state(dict(zip(names, given[len(tensors):])))
            assert set(state) == {k for k, _ in made.named_parameters()}, set(state) ^ {k for k, _ in made.named_parameters()}
            inside = lambda *args, **kw: functional_call(made, state, args, kw)
            with sdpa_kernel(SDPBackend.MATH):  # the other kernels have no second gradient
                return flat((run or (lambda m, *xs: m(*xs)))(inside, *given[: len(tensors)]))

        # The gradient of the keys' bias is 0, and in float32 nothing but rounding.
        known = [k for k, n in enumerate(names) if dtype == "float64" or not n.endswith("kProj.bias")]
        wrt = floats + [len(tensors) + k for k in known]
        layer(f, fn, ctor, call, compute, name, params=params, mode="eval", wrt=wrt, second=second)

    def maker(fn, dtype="float32"):
        rng = f.rng("nn." + fn)
        return rng, lambda *s: normal(rng, list(s), dtype), lambda *s: normal(rng, list(s), dtype, 0.6)

    def attention(call, name, run, kdim=SIZE, vdim=SIZE, bias=True, weights=False, dtype="float32", second=False, make=None):
        options = {k: v for k, v in (("kdim", kdim), ("vdim", vdim)) if v != SIZE}
        options |= {"bias": False} if not bias else {}
        options |= {"needWeights": True} if weights else {}
        options |= {"dtype": dtype} if dtype != "float32" else {}
        module = lambda: torch.nn.MultiheadAttention(SIZE, HEADS, bias=bias, kdim=kdim, vdim=vdim, batch_first=True)
        case("MultiHeadAttention", [SIZE, HEADS] + ([options] if options else []), call,
             attention_params(make, "", kdim, vdim, bias), module, name, run, dtype, second)

    out = lambda m, q, k, v, **kw: m(q, k, v, need_weights=False, **kw)[0]
    both = lambda m, q, k, v, **kw: m(q, k, v, need_weights=True, average_attn_weights=False, **kw)
    for dtype in ("float32", "float64"):
        rng, n, make = maker("MultiHeadAttention", dtype)
        attention([n(2, 3, SIZE)], "to itself, " + dtype, lambda m, q: out(m, q, q, q), dtype=dtype, second=dtype == "float64", make=make)
    rng, n, make = maker("MultiHeadAttention")
    attention([n(2, 3, SIZE), n(2, 4, 3), n(2, 4, 5)], "kdim, vdim", lambda m, q, k, v: out(m, q, k, v), kdim=3, vdim=5, make=make)
    rng, n, make = maker("MultiHeadAttention")
    attention([n(2, 3, SIZE), n(2, 4, SIZE)], "values are the keys, no bias", lambda m, q, k: out(m, q, k, k), bias=False, make=make)
    rng, n, make = maker("MultiHeadAttention")
    attention([n(2, 3, SIZE), n(2, 4, SIZE), n(2, 4, SIZE)], "needWeights", both, weights=True, make=make)
    for what in ("bool", "int", "float"):
        rng, n, make = maker("MultiHeadAttention")
        mask = {"bool": bools(rng, [3, 3]), "int": ints(rng, [3, 3], 0, 2), "float": n(3, 3)}[what]
        if what != "float":
            mask.array[[0, 1, 2], [0, 1, 2]] = True
        attention([n(2, 3, SIZE), UNDEFINED, UNDEFINED, {"attnMask": mask}], what + " mask",
                  lambda m, q, mask: both(m, q, q, q, attn_mask=blocked(mask)), weights=True, make=make)
    rng, n, make = maker("MultiHeadAttention")
    mask = T([[[[1, 1, 0]]], [[[1, 0, 0]]]], "bool")
    attention([n(2, 3, SIZE), UNDEFINED, UNDEFINED, {"attnMask": mask}], "padded keys",
              lambda m, q, mask: out(m, q, q, q, key_padding_mask=~mask[:, 0, 0]), make=make)

    def encoder_layer(o):
        return torch.nn.TransformerEncoderLayer(
            SIZE, HEADS, WIDE, 0.0, o.get("activation", "relu"), o.get("layerNormEps", 1e-5), True, o.get("normalizeBefore", False))

    def decoder_layer(o):
        return torch.nn.TransformerDecoderLayer(
            SIZE, HEADS, WIDE, 0.0, o.get("activation", "relu"), o.get("layerNormEps", 1e-5), True, o.get("normalizeBefore", False))

    variants = (
        ({}, "defaults"),
        ({"normalizeBefore": True}, "normalizeBefore"),
        ({"activation": "gelu", "layerNormEps": 1e-3}, "gelu, layerNormEps"),
        ({"activation": "gelu", "dtype": "float64"}, "float64"),
    )
    for o, name in variants:
        dtype = o.get("dtype", "float32")
        rng, n, make = maker("TransformerEncoderLayer", dtype)
        case("TransformerEncoderLayer", [SIZE, HEADS, WIDE] + ([o] if o else []), [n(2, 3, SIZE)], block_params(make),
             lambda: encoder_layer(o), name, dtype=dtype, second=dtype == "float64")
        rng, n, make = maker("TransformerDecoderLayer", dtype)
        case("TransformerDecoderLayer", [SIZE, HEADS, WIDE] + ([o] if o else []), [n(2, 3, SIZE), n(2, 4, SIZE)],
             block_params(make, "", True), lambda: decoder_layer(o), name, dtype=dtype, second=dtype == "float64")
    causal = T([[1, 0, 0], [1, 1, 0], [1, 1, 1]], "bool")
    rng, n, make = maker("TransformerEncoderLayer")
    case("TransformerEncoderLayer", [SIZE, HEADS, WIDE], [n(2, 3, SIZE), {"srcMask": causal}], block_params(make),
         lambda: encoder_layer({}), "srcMask", lambda m, x, mask: m(x, src_mask=blocked(mask)))
    rng, n, make = maker("TransformerDecoderLayer")
    memory_mask = T([[1, 1, 0, 1], [1, 0, 0, 0], [0, 1, 1, 1]], "bool")
    case("TransformerDecoderLayer", [SIZE, HEADS, WIDE],
         [n(2, 3, SIZE), n(2, 4, SIZE), {"tgtMask": causal, "memoryMask": memory_mask}], block_params(make, "", True),
         lambda: decoder_layer({}), "masks", lambda m, x, y, a, b: m(x, y, tgt_mask=blocked(a), memory_mask=blocked(b)))

    block = {"new": "nn.TransformerEncoderLayer", "args": [SIZE, HEADS, WIDE]}
    norm = {"new": "nn.LayerNorm", "args": [SIZE]}
    normed = lambda make: {"norm.weight": make(SIZE), "norm.bias": make(SIZE)}
    rng, n, make = maker("TransformerEncoder")
    params = block_params(make, "layers.0.") | block_params(make, "layers.1.") | normed(make)
    case("TransformerEncoder", [block, 2, norm], [n(2, 3, SIZE), {"srcMask": causal}], params,
         lambda: torch.nn.TransformerEncoder(encoder_layer({}), 2, torch.nn.LayerNorm(SIZE), enable_nested_tensor=False),
         "two blocks, norm, mask", lambda m, x, mask: m(x, mask=blocked(mask)))
    rng, n, make = maker("TransformerDecoder")
    case("TransformerDecoder", [{**block, "new": "nn.TransformerDecoderLayer"}, 1], [n(2, 3, SIZE), n(2, 2, SIZE)],
         block_params(make, "layers.0.", True), lambda: torch.nn.TransformerDecoder(decoder_layer({}), 1), "one block")

    for before in (False, True):
        rng, n, make = maker("Transformer")
        o = {"numEncoderLayers": 1, "numDecoderLayers": 1, "dimFeedforward": WIDE, **({"normalizeBefore": True} if before else {})}
        params = block_params(make, "encoder.layers.0.")
        if before:
            params |= {"encoder." + k: v for k, v in normed(make).items()}
        params |= block_params(make, "decoder.layers.0.", True)
        if before:
            params |= {"decoder." + k: v for k, v in normed(make).items()}

        def module():
            final = lambda: torch.nn.LayerNorm(SIZE) if before else None
            return torch.nn.Transformer(
                SIZE, HEADS, batch_first=True,
                custom_encoder=torch.nn.TransformerEncoder(encoder_layer(o), 1, final(), enable_nested_tensor=False),
                custom_decoder=torch.nn.TransformerDecoder(decoder_layer(o), 1, final()))
        case("Transformer", [SIZE, HEADS, o], [n(2, 2, SIZE), n(2, 3, SIZE), {"tgtMask": causal}], params, module,
             "normalizeBefore: norms at the ends" if before else "no norms at the ends",
             lambda m, x, y, mask: m(x, y, tgt_mask=blocked(mask)))
