"""Families `layers`, `optimizer` (trajectories of 50 steps) and `lr` (200 steps)."""

import math

import numpy as np
import torch
import torch.nn.functional as TF

from .lib import T, between, distinct, encode, encode_torch, ints, normal


def family_layers(f):
    """`args` are the constructor's, `call` those of the call; `params` and `buffers` are set before it."""
    rng = f.rng("layers")
    n = lambda *s: normal(rng, list(s))

    def add(fn, ctor, call, compute, name, *, params=None, buffers=None, mode=None, wrt=None, after=(), **kw):
        extra = {"call": call}
        if params:
            extra["params"] = params
        if buffers:
            extra["buffers"] = buffers
        if mode:
            extra["mode"] = mode
        if wrt is None:
            wrt = list(range(len(call) + len(params or {})))
        f.case("nn." + fn, ctor, compute, name=name, extra=extra, wrt=wrt, after=after, **kw)

    wb = lambda *c: {"weight": n(*c), "bias": n(c[-1])}
    linear = lambda x, w, *b: TF.linear(x, w.t(), *b)
    add("Linear", [3, 4], [n(2, 3)], linear, "weight is [in, out]", params=wb(3, 4))
    add("Linear", [3, 2, {"bias": False}], [n(2, 2, 3)], linear, "no bias, leading axes", params={"weight": n(3, 2)})
    add("Conv2D", [2, 3, 3], [n(1, 2, 4, 4)], TF.conv2d, "plain", params={"weight": n(3, 2, 3, 3), "bias": n(3)})
    add("Conv2D", [2, 4, [2, 3], {"stride": 2, "padding": 1, "groups": 2, "bias": False}], [n(1, 2, 5, 4)],
        lambda x, w: TF.conv2d(x, w, None, 2, 1, 1, 2), "options", params={"weight": n(4, 1, 2, 3)})

    def batch_norm(fn, shape, o, training, name):
        c = shape[1]
        momentum, eps = o.get("momentum", 0.9), o.get("epsilon", 1e-5)
        def run(x, w, b, m, v):
            out = TF.batch_norm(x, m.detach().clone(), v.detach().clone(), w, b, training, 0.0, eps)
            if not training:
                return [out], {3: m, 4: v}
            dims = [d for d in range(x.dim()) if d != 1]
            mean, var = x.detach().mean(dims), x.detach().var(dims, correction=0)
            return [out], {3: m * momentum + mean * (1 - momentum), 4: v * momentum + var * (1 - momentum)}
        add(fn, [c] + ([o] if o else []), [n(*shape)], run, name, params=wb(c),
            buffers={"runningMean": n(c), "runningVar": between(rng, [c], 0.5, 2)},
            mode="train" if training else "eval", after=(3, 4))
    batch_norm("BatchNorm2D", [2, 3, 2, 2], {}, True, "train: biased running variance")
    batch_norm("BatchNorm2D", [2, 3, 2, 2], {"momentum": 0.7, "epsilon": 1e-3}, True, "train, momentum and epsilon")
    batch_norm("BatchNorm2D", [2, 3, 2, 2], {}, False, "eval")
    batch_norm("BatchNorm1D", [4, 3], {}, True, "train, rank 2")
    batch_norm("BatchNorm1D", [2, 3, 4], {}, True, "train, rank 3")
    batch_norm("BatchNorm1D", [4, 3], {}, False, "eval")

    add("LayerNorm", [4], [n(2, 3, 4)], lambda x, w, b: TF.layer_norm(x, [4], w, b), "size", params=wb(4))
    add("LayerNorm", [[3, 4], {"epsilon": 1e-3}], [n(2, 3, 4)], lambda x, w, b: TF.layer_norm(x, [3, 4], w, b, 1e-3),
        "shape, epsilon", params={"weight": n(3, 4), "bias": n(3, 4)})
    add("RMSNorm", [4, {"epsilon": 1e-5}], [n(2, 4)], lambda x, w: TF.rms_norm(x, [4], w, 1e-5), "size", params={"weight": n(4)})
    add("GroupNorm", [2, 4], [n(2, 4, 2, 3)], lambda x, w, b: TF.group_norm(x, 2, w, b), "groups, channels", params=wb(4))
    add("GroupNorm", [4, 4, {"epsilon": 1e-3}], [n(2, 4, 3)], lambda x, w, b: TF.group_norm(x, 4, w, b, 1e-3), "epsilon", params=wb(4))
    for mode in ("train", "eval"):
        add("InstanceNorm2D", [3], [n(2, 3, 2, 3)], lambda x, w, b: TF.instance_norm(x, weight=w, bias=b), mode, params=wb(3), mode=mode)
    ids = T([[1, 3], [0, 1]], "int32")
    add("Embedding", [4, 3], [ids], lambda i, w: TF.embedding(i.long(), w), "ids", params={"weight": n(4, 3)}, wrt=[1])
    add("Embedding", [4, 3, {"paddingIdx": 1}], [ids],
        lambda i, w: torch.where((i == 1).unsqueeze(-1), 0, TF.embedding(i.long(), w)), "paddingIdx reads zeros",
        params={"weight": n(4, 3)}, wrt=[1])

    d = lambda *s: distinct(rng, list(s))
    add("MaxPool2D", [2], [d(1, 2, 4, 4)], lambda x: TF.max_pool2d(x, 2), "kernel")
    add("MaxPool2D", [3, {"stride": 2, "padding": 1}], [d(1, 1, 5, 5)], lambda x: TF.max_pool2d(x, 3, 2, 1), "options")
    add("AvgPool2D", [2], [n(1, 2, 4, 4)], lambda x: TF.avg_pool2d(x, 2), "kernel")
    add("AvgPool2D", [3, {"stride": 2, "padding": 1}], [n(1, 1, 5, 5)],
        lambda x: TF.avg_pool2d(x, 3, 2, 1, count_include_pad=False), "padding is not counted")
    add("AvgPool2D", [3, {"stride": 2, "padding": 1, "exclusive": False}], [n(1, 1, 5, 5)],
        lambda x: TF.avg_pool2d(x, 3, 2, 1), "padding is counted")
    add("AdaptiveAvgPool2D", [2], [n(1, 2, 5, 4)], lambda x: TF.adaptive_avg_pool2d(x, 2), "size")
    add("AdaptiveAvgPool2D", [[1, 3]], [n(1, 2, 5, 4)], lambda x: TF.adaptive_avg_pool2d(x, [1, 3]), "pair")
    add("Flatten", [], [n(2, 3, 2, 2)], lambda x: x.flatten(1), "keeps the batch")
    add("Flatten", [{"startAxis": 0, "stopAxis": 1}], [n(2, 3, 2)], lambda x: x.flatten(0, 1), "axes")
    add("Identity", [], [n(2, 3)], lambda x: x.clone(), "same")
    add("Dropout", [{"p": 0.5}], [n(2, 3)], lambda x: x.clone(), "eval changes nothing", mode="eval")

    for fn, ctor, compute in (
        ("ReLU", [], torch.relu), ("Sigmoid", [], torch.sigmoid), ("Tanh", [], torch.tanh), ("SiLU", [], TF.silu),
        ("GELU", [], TF.gelu), ("GELU", [{"approximate": True}], lambda x: TF.gelu(x, approximate="tanh")),
        ("LeakyReLU", [], TF.leaky_relu), ("LeakyReLU", [{"negativeSlope": 0.3}], lambda x: TF.leaky_relu(x, 0.3)),
        ("ELU", [], TF.elu), ("ELU", [{"alpha": 0.5}], lambda x: TF.elu(x, 0.5)),
        ("Softmax", [], lambda x: torch.softmax(x, -1)), ("Softmax", [{"axis": 0}], lambda x: torch.softmax(x, 0)),
        ("LogSoftmax", [], lambda x: torch.log_softmax(x, -1)),
    ):
        add(fn, ctor, [n(2, 4)], compute, "options" if ctor else "defaults")
    label = ints(rng, [4], 0, 3)
    add("CrossEntropyLoss", [], [n(4, 3), label], lambda x, y: TF.cross_entropy(x, y.long()), "defaults", wrt=[0])
    add("CrossEntropyLoss", [{"reduction": "sum", "labelSmoothing": 0.1}], [n(4, 3), label],
        lambda x, y: TF.cross_entropy(x, y.long(), reduction="sum", label_smoothing=0.1), "options", wrt=[0])
    for fn, compute in (("MSELoss", TF.mse_loss), ("L1Loss", TF.l1_loss)):
        add(fn, [], [n(2, 3), n(2, 3)], compute, "defaults")
        add(fn, [{"reduction": "sum"}], [n(2, 3), n(2, 3)], lambda x, y: compute(x, y, reduction="sum"), "sum")


STEPS = 50
SEEN = [1, 2, 3, 10, 25, 50]


def clip_gradients(grads, clip):
    """As Paddle clips: by norm and by global norm without PyTorch's 1e-6."""
    if clip is None:
        return grads
    kind, args = clip
    if kind == "ClipGradByValue":
        high, low = args[0], (args[1] if len(args) > 1 else -args[0])
        return [g.clamp(low, high) for g in grads]
    if kind == "ClipGradByNorm":
        return [g * (args[0] / max(float(g.norm()), args[0])) for g in grads]
    total = math.sqrt(sum(float((g * g).sum()) for g in grads))
    return [g * (args[0] / max(total, args[0])) for g in grads]


def family_optimizer(f):
    """Minimizes Σ a·p²/2 + s(t)·Σ g·p, whose gradient is a·p + s(t)·g, and stores p after some steps."""

    def add(fn, options, make, name, dtype="float64", groups=None, clip=None, schedule=None, scale=1.0):
        rng = f.rng(fn)
        shapes = [[3, 2], [4]]
        params = [normal(rng, s, dtype) for s in shapes]
        a = [between(rng, s, 0.2, 2, dtype) for s in shapes]
        g = [normal(rng, s, dtype, scale) for s in shapes]
        s = T(np.sin(0.37 * np.arange(STEPS)), dtype)
        outs = run(params, a, g, s, options, make, groups, clip, schedule, torch.float64)
        tol = {"rtol": 1e-10, "atol": 1e-12, "why": "50 steps add up their rounding"}
        if dtype == "float32":
            tol = {"rtol": 2e-5, "atol": 5e-6, "why": "50 steps add up their rounding"}
            plain = run(params, a, g, s, options, make, groups, clip, schedule, torch.float32)
            for x, y in zip(outs, plain):
                if not torch.allclose(x, y.double(), rtol=2e-5, atol=5e-6):
                    f.warnings.append(f"{fn} ({name}): float32 is {float((x - y.double()).abs().max())} off")
        record = {"name": name, "args": [options], "dtype": dtype, "seen": SEEN, "params": [0, 1], "curve": [2, 3], "slope": [4, 5], "sway": 6}
        if groups:
            record["groups"] = groups
        if clip:
            record["clip"] = {"new": "optim." + clip[0], "args": clip[1]}
        if schedule:
            record["schedule"] = {"new": "optim.lr.StepDecay", "args": schedule}
        record["in"] = [t.encoded() for t in [*params, *a, *g, s]]
        record["out"] = [encode_torch(x, dtype) for x in outs]
        record["tol"] = tol
        f.raw(fn, record)

    def run(params, a, g, s, options, make, groups, clip, schedule, compute):
        to = lambda t: torch.tensor(t.array, dtype=compute)
        ps = [to(t).requires_grad_() for t in params]
        a, g, s = [to(t) for t in a], [to(t) for t in g], to(s)
        rate = options.get("learningRate", schedule[0] if schedule else None)
        groups = groups or [{"params": [0, 1]}]
        decay = options.get("weightDecay")
        listed = []
        for group in groups:
            listed.append({"params": [ps[k] for k in group["params"]], "lr": rate * group.get("learningRate", 1)})
            wd = group.get("weightDecay", decay)
            if wd is not None:
                listed[-1]["weight_decay"] = wd
        optimizer = make(listed, rate, options)
        seen = []
        for step in range(STEPS):
            if schedule:
                gamma = schedule[2]["gamma"]
                for group in optimizer.param_groups:
                    group["lr"] = rate * gamma ** (step // schedule[1])
            grads = [a[k] * p.detach() + s[step] * g[k] for k, p in enumerate(ps)]
            for p, d in zip(ps, clip_gradients(grads, clip)):
                p.grad = d
            optimizer.step()
            if step + 1 in SEEN:
                seen += [p.detach().clone() for p in ps]
        return seen

    def sgd(listed, rate, o):
        return torch.optim.SGD(listed, lr=rate)

    def momentum(listed, rate, o):
        return torch.optim.SGD(listed, lr=rate, momentum=o.get("momentum", 0.9), nesterov=o.get("useNesterov", False))

    def adam(listed, rate, o):
        return torch.optim.Adam(listed, lr=rate, betas=(o.get("beta1", 0.9), o.get("beta2", 0.999)), eps=o.get("epsilon", 1e-8))

    def adamw(listed, rate, o):
        return torch.optim.AdamW(listed, lr=rate, betas=(o.get("beta1", 0.9), o.get("beta2", 0.999)), eps=o.get("epsilon", 1e-8),
                                 weight_decay=0.01)

    groups = [{"params": [0], "weightDecay": 0.05}, {"params": [1], "learningRate": 0.5}]
    for fn, make, rate, more in (
        ("optim.SGD", sgd, 0.1, {}),
        ("optim.Momentum", momentum, 0.05, {"momentum": 0.8}),
        ("optim.Adam", adam, 0.05, {"beta1": 0.8, "beta2": 0.95, "epsilon": 1e-4}),
        ("optim.AdamW", adamw, 0.05, {"beta1": 0.8, "beta2": 0.95, "epsilon": 1e-4}),
    ):
        base = {"learningRate": rate}
        add(fn, base, make, "defaults")
        add(fn, base, make, "float32", "float32")
        add(fn, {**base, "weightDecay": 0.1}, make, "weight decay")
        add(fn, {**base, "weightDecay": 0.1}, make, "weight decay, float32", "float32")
        add(fn, {**base, "weightDecay": 0.02}, make, "groups", groups=groups)
        if more:
            add(fn, {**base, **more}, make, "options")
        if fn == "optim.Momentum":
            add(fn, {**base, "useNesterov": True}, make, "nesterov")
            add(fn, {**base, "useNesterov": True, "weightDecay": 0.1}, make, "nesterov, weight decay")
        add(fn, {}, make, "StepDecay", schedule=[rate, 10, {"gamma": 0.5}])
        add(fn, {**base, "weightDecay": 0.1}, make, "ClipGradByGlobalNorm, then weight decay",
            clip=("ClipGradByGlobalNorm", [0.7]), scale=2.0)
    base = {"learningRate": 0.1}
    add("optim.SGD", base, sgd, "ClipGradByValue", clip=("ClipGradByValue", [0.4]), scale=2.0)
    add("optim.SGD", base, sgd, "ClipGradByValue, two bounds", clip=("ClipGradByValue", [0.6, -0.2]), scale=2.0)
    add("optim.SGD", base, sgd, "ClipGradByNorm", clip=("ClipGradByNorm", [0.5]), scale=2.0)
    add("optim.SGD", base, sgd, "ClipGradByGlobalNorm", clip=("ClipGradByGlobalNorm", [0.5]), scale=2.0)
    add("optim.SGD", base, sgd, "ClipGradByGlobalNorm, float32", "float32", clip=("ClipGradByGlobalNorm", [0.5]), scale=2.0)


RATES = 200


def family_lr(f):
    """The learning rate at steps 0 … 199, from PyTorch's scheduler and checked against the formula."""

    def add(fn, args, rates, torch_rates=None, name="", tol=None):
        if torch_rates is not None:
            assert np.allclose(rates, torch_rates, rtol=1e-7, atol=1e-12), (fn, name)
        record = {"name": name, "args": args, "out": [encode(np.array(rates), "float64")]}
        f.raw(fn, {**record, "tol": tol} if tol else record)

    def torch_run(base, make):
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=base)
        scheduler = make(optimizer)
        rates = []
        for _ in range(RATES):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        return rates

    lr = torch.optim.lr_scheduler
    t = np.arange(RATES)
    step = lambda base, size, gamma=0.1: base * gamma ** (t // size)
    cosine = lambda base, end, low=0.0, t=t: low + (base - low) * (1 + np.cos(np.pi * t / end)) / 2
    both = {"rtol": 1e-9, "atol": 1e-15, "why": "the recursive and the closed form round differently"}
    add("optim.lr.StepDecay", [0.5, 30], step(0.5, 30), torch_run(0.5, lambda o: lr.StepLR(o, 30)), "defaults", both)
    add("optim.lr.StepDecay", [0.1, 7, {"gamma": 0.9}], step(0.1, 7, 0.9), torch_run(0.1, lambda o: lr.StepLR(o, 7, 0.9)), "gamma", both)
    for end, low in ((50, 0.0), (200, 0.0), (33, 0.01)):
        args = [0.5, end] + ([{"etaMin": low}] if low else [])
        add("optim.lr.CosineAnnealingDecay", args, cosine(0.5, end, low),
            torch_run(0.5, lambda o: lr.CosineAnnealingLR(o, end, low)), f"tMax {end}, etaMin {low}", both)
    decay = lambda k: 0.95**k
    add("optim.lr.LambdaDecay", [0.5, {"fn": "0.95 ** t"}], 0.5 * 0.95**t, torch_run(0.5, lambda o: lr.LambdaLR(o, decay)), "power", both)
    root = lambda k: 1 / math.sqrt(k + 1)
    add("optim.lr.LambdaDecay", [0.1, {"fn": "1 / sqrt(t + 1)"}], 0.1 / np.sqrt(t + 1), torch_run(0.1, lambda o: lr.LambdaLR(o, root)), "root", both)

    def warm(after, steps, start, end):
        return np.where(t < steps, start + (end - start) * t / steps, np.concatenate([np.zeros(steps), after])[:RATES])
    flat = np.full(RATES, 0.5)
    add("optim.lr.LinearWarmup", [0.5, 20, {"startLr": 0, "endLr": 0.5}], warm(flat, 20, 0, 0.5), torch_run(
        0.5, lambda o: lr.LambdaLR(o, lambda k: min(k / 20, 1))), "then constant", both)
    add("optim.lr.LinearWarmup", [0.3, 10, {"startLr": 0.05, "endLr": 0.4}], warm(np.full(RATES, 0.3), 10, 0.05, 0.4),
        name="the end of warmup need not be the rate", tol=both)
    inner = {"new": "optim.lr.CosineAnnealingDecay", "args": [0.5, 180]}
    add("optim.lr.LinearWarmup", [inner, 20, {"startLr": 0, "endLr": 0.5}], warm(cosine(0.5, 180), 20, 0, 0.5), name="then cosine", tol=both)
    inner = {"new": "optim.lr.StepDecay", "args": [0.5, 40, {"gamma": 0.3}]}
    add("optim.lr.LinearWarmup", [inner, 5, {"startLr": 0.1, "endLr": 0.5}], warm(step(0.5, 40, 0.3), 5, 0.1, 0.5), name="then steps", tol=both)
