"""Families `norm_loss` (normalizations, losses, distances) and `attention_embedding`."""

import math

import numpy as np
import torch
import torch.nn.functional as TF
from torch.nn.attention import SDPBackend, sdpa_kernel

from .lib import UNDEFINED, T, between, bools, ints, normal, stepped, transposed

INF, NAN = math.inf, math.nan


def family_norm_loss(f):
    layer_norms(f)
    batch_norms(f)
    normalize(f)
    cross_entropy(f)
    nll(f)
    pair_losses(f)


def options(**given):
    given = {k: v for k, v in given.items() if v is not None}
    return [given] if given else []


def layer_norms(f):
    rng = f.rng("F.layerNorm")
    n = lambda *s: normal(rng, list(s))
    n64 = lambda *s: normal(rng, list(s), "float64")
    def add(x, shape, w, b, eps, name, **kw):
        def run(x, *rest):
            rest = list(rest)
            weight = rest.pop(0) if w else None
            bias = rest.pop(0) if b else None
            return TF.layer_norm(x, shape, weight, bias, eps or 1e-5)
        f.case("F.layerNorm", [x, shape] + options(weight=w, bias=b, epsilon=eps), run, name=name, **kw)
    add(n(2, 5), [5], None, None, None, "plain")
    add(n(2, 3, 4), [4], n(4), n(4), None, "weight and bias")
    add(n(2, 3, 4), [3, 4], n(3, 4), n(3, 4), 1e-3, "two axes, epsilon")
    add(n(2, 4), [4], n(4), None, None, "weight only")
    add(n64(2, 5), [5], n64(5), n64(5), None, "float64", second=True)
    add(n(4), [4], None, None, None, "vector")
    add(T([[2.0, 2, 2], [1, 2, 3]]), [3], None, None, None, "no spread")
    add(n(0, 3), [3], n(3), n(3), None, "empty batch")
    add(transposed(n(3, 4)), [4], n(4), n(4), None, "transposed")
    add(stepped(rng, n(2, 4)), [4], stepped(rng, n(4)), None, None, "stepped")
    add(T(1000 + normal(rng, [2, 6]).array.round(1)), [6], None, None, None, "large mean",
        tol={"rtol": 3e-4, "atol": 3e-4, "why": "float32 inputs near 1000 leave three digits of the differences"})

    rng = f.rng("F.rmsNorm")
    def add(x, w, eps, name, **kw):
        def run(x, *rest):
            return TF.rms_norm(x, [x.shape[-1]], rest[0] if w else None, eps)
        f.case("F.rmsNorm", [x] + options(weight=w, epsilon=eps), run, name=name, **kw)
    add(n(2, 5), None, 1e-5, "plain")
    add(n(2, 3, 4), n(4), 1e-6, "weight")
    add(n64(2, 5), n64(5), 1e-3, "float64", second=True)
    add(T([[0.0, 0, 0], [1, 2, 3]]), None, 1e-5, "all zero")
    add(transposed(n(3, 4)), n(4), 1e-5, "transposed")
    add(n(0, 3), n(3), 1e-5, "empty batch")

    rng = f.rng("F.groupNorm")
    def add(x, groups, w, b, eps, name, **kw):
        def run(x, *rest):
            return TF.group_norm(x, groups, rest[0] if w else None, rest[1] if b else None, eps or 1e-5)
        f.case("F.groupNorm", [x, groups] + options(weight=w, bias=b, epsilon=eps), run, name=name, **kw)
    add(n(2, 4, 3), 2, None, None, None, "plain")
    add(n(2, 4, 2, 3), 2, n(4), n(4), None, "image, weight and bias")
    add(n(1, 3, 2, 2), 1, n(3), n(3), 1e-3, "one group, epsilon")
    add(n(2, 3, 4), 3, n(3), n(3), None, "a group a channel")
    add(n64(2, 4, 3), 2, n64(4), n64(4), None, "float64", second=True)
    add(n(2, 4), 2, None, None, None, "rank 2",
        tol={"rtol": 1e-5, "atol": 3e-6, "why": "groups of two: the gradient is what 1e-5 of the variance leaves of terms near 3; PyTorch's float32 misses by 1.5e-6"})
    add(transposed(n(4, 4, 2)), 2, n(4), n(4), None, "transposed")

    rng = f.rng("F.instanceNorm")
    def add(x, w, b, eps, name, **kw):
        def run(x, *rest):
            return TF.instance_norm(x, weight=rest[0] if w else None, bias=rest[1] if b else None, eps=eps or 1e-5)
        f.case("F.instanceNorm", [x] + options(weight=w, bias=b, epsilon=eps), run, name=name, **kw)
    add(n(2, 3, 2, 3), None, None, None, "image")
    add(n(2, 3, 2, 3), n(3), n(3), 1e-3, "weight, bias, epsilon")
    add(n(2, 3, 5), n(3), n(3), None, "rank 3")
    add(n64(1, 2, 2, 3), n64(2), n64(2), None, "float64", second=True)
    add(n(2, 2, 3, 2).view("permute", [0, 1, 3, 2]), None, None, None, "transposed planes")


def batch_norms(f):
    rng = f.rng("F.batchNorm")
    def stats(c, dtype="float32"):
        return normal(rng, [c], dtype), between(rng, [c], 0.5, 2, dtype)

    def add(x, mean, var, w, b, o, name, **kw):
        """Plesio's momentum is 1 - PyTorch's, and the running variance takes the biased one."""
        momentum, training = o.get("momentum", 0.9), o.get("training", False)
        def run(x, m, v, *rest):
            weight, bias = (rest[0] if w else None), (rest[-1] if b else None)
            eps = o.get("epsilon", 1e-5)
            out = TF.batch_norm(x, m.detach().clone(), v.detach().clone(), weight, bias, training, 0.0, eps)
            if not training:
                return out
            dims = [d for d in range(x.dim()) if d != 1]
            batch_mean, batch_var = x.detach().mean(dims), x.detach().var(dims, correction=0)
            return [out], {1: m * momentum + batch_mean * (1 - momentum), 2: v * momentum + batch_var * (1 - momentum)}
        wrt = [0] + ([3] if w else []) + ([3 + bool(w)] if b else [])
        f.case("F.batchNorm", [x, mean, var] + options(weight=w, bias=b, **o), run, name=name, wrt=wrt,
               after=(1, 2) if training else (), **kw)

    n = lambda *s: normal(rng, list(s))
    n64 = lambda *s: normal(rng, list(s), "float64")
    train = {"training": True}
    add(n(4, 3), *stats(3), n(3), n(3), {}, "eval, rank 2")
    add(n(2, 3, 2, 2), *stats(3), n(3), n(3), {}, "eval, image")
    add(n(2, 3, 2, 2), *stats(3), None, None, {}, "eval, no weight")
    add(n(4, 3), *stats(3), n(3), n(3), train, "train, rank 2")
    add(n(2, 3, 2, 2), *stats(3), n(3), n(3), train, "train, image")
    add(n(2, 3, 4), *stats(3), None, None, train, "train, rank 3, no weight")
    add(n(2, 3, 2, 2), *stats(3), n(3), n(3), {"training": True, "momentum": 0.7, "epsilon": 1e-3}, "train, momentum and epsilon")
    add(n64(3, 2, 2), *stats(2, "float64"), n64(2), n64(2), train, "train, float64", second=True)
    add(n64(3, 2, 2), *stats(2, "float64"), n64(2), n64(2), {}, "eval, float64", second=True)
    add(transposed(n(3, 4, 2)), *stats(4), n(4), n(4), train, "train, transposed")
    add(T(n(2, 2, 2, 3).array).view("permute", [0, 3, 1, 2]), *stats(3), n(3), n(3), train, "train, channels last in memory")


def normalize(f):
    rng = f.rng("F.normalize")
    def add(x, o, name, **kw):
        run = lambda v: TF.normalize(v, o.get("p", 2), o.get("axis", 1), o.get("epsilon", 1e-12))
        f.case("F.normalize", [x] + ([o] if o else []), run, name=name, **kw)
    add(normal(rng, [2, 4]), {}, "axis 1 by default")
    add(normal(rng, [2, 3, 2]), {"axis": -1}, "last axis")
    add(normal(rng, [3, 2]), {"axis": 0, "p": 1}, "p 1")
    add(normal(rng, [2, 4], "float64"), {"p": 3}, "p 3, float64")
    add(normal(rng, [2, 4], "float64"), {}, "float64", second=True)
    add(T([[0.0, 0], [3, 4]]), {}, "zero row", grad=False)
    add(T([[1e-3, 0], [3, 4]]), {"epsilon": 0.1}, "epsilon")
    add(transposed(normal(rng, [3, 4])), {}, "transposed")
    rng = f.rng("F.cosineSimilarity")
    def add(a, b, o, name, **kw):
        run = lambda x, y: TF.cosine_similarity(x, y, o.get("axis", 1), o.get("eps", 1e-8))
        f.case("F.cosineSimilarity", [a, b] + ([o] if o else []), run, name=name, **kw)
    n = lambda *s: normal(rng, list(s))
    add(n(2, 4), n(2, 4), {}, "axis 1 by default")
    add(n(2, 3, 2), n(2, 3, 2), {"axis": -1}, "last axis")
    add(n(3), n(3), {"axis": 0}, "vectors give rank 0")
    add(normal(rng, [2, 4], "float64"), normal(rng, [2, 4], "float64"), {}, "float64", second=True)
    add(n(1, 3), n(4, 3), {}, "broadcasts")
    add(T([[0.0, 0], [3, 4]]), T([[1.0, 2], [4, 3]]), {}, "zero row", grad=False)
    add(transposed(n(3, 4)), n(3, 4), {}, "transposed")


def paddle_mean(losses, weights):
    """Σ loss / Σ weight, 0 where nothing counts (Paddle); PyTorch would give NaN."""
    total = weights.sum()
    return losses.sum() / (total + (total == 0).to(total.dtype))


def reduce(losses, weights, reduction):
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else paddle_mean(losses, weights)


def cross_entropy(f):
    rng = f.rng("F.crossEntropy")
    n = lambda *s: normal(rng, list(s), scale=2)

    def add(x, label, o, name, weight=None, wrt=None, **kw):
        soft = o.get("softLabel", False)
        reduction, axis = o.get("reduction", "mean"), o.get("axis", -1)
        ignore, smooth = o.get("ignoreIndex", -100), o.get("labelSmoothing", 0)

        def run(x, y, *w):
            logp = torch.log_softmax(x, axis)
            logp = logp.movedim(axis, -1)
            classes = logp.shape[-1]
            keep = None
            if soft:
                target = y.movedim(axis, -1)
                if smooth:
                    target = target * (1 - smooth) + smooth / classes
                losses = -(target * logp).sum(-1)
                counts = target @ w[0] if w else torch.ones_like(losses)
                losses = losses * counts if w else losses
                return reduce(losses, counts, reduction)
            if y.dim() == x.dim():
                keep = axis
                y = y.squeeze(axis)
            y = y.long()
            live = (y != ignore)
            index = torch.where(live, y, 0).unsqueeze(-1)
            picked = -logp.gather(-1, index).squeeze(-1)
            if smooth:
                picked = (1 - smooth) * picked - smooth * logp.mean(-1)
            counts = (w[0][index.squeeze(-1)] if w else torch.ones_like(picked)) * live
            losses = torch.where(live, picked, 0) * (counts if w else 1)
            self_check(x, y, axis, weight=w[0].detach() if w else None, ignore=ignore, smooth=smooth, losses=losses)
            out = reduce(losses, counts, reduction)
            return out.unsqueeze(keep) if keep is not None and reduction == "none" else out

        opts = dict(o)
        if weight is not None:
            opts["weight"] = weight
        f.case("F.crossEntropy", [x, label] + ([opts] if opts else []), run, name=name, wrt=wrt or [0], **kw)

    def self_check(x, y, axis, weight, ignore, smooth, losses):
        """PyTorch's own cross_entropy (class axis 1) must agree before its mean."""
        if x.dim() == 1:
            x, y = x.unsqueeze(0), y.unsqueeze(0)
            axis = 1
        theirs = TF.cross_entropy(x.movedim(axis, 1), y, weight, ignore_index=ignore, reduction="none", label_smoothing=smooth)
        assert torch.allclose(theirs.reshape(-1), losses.reshape(-1), rtol=1e-4, atol=1e-5)

    labels = lambda *s, c=3, dtype="int32": ints(rng, list(s), 0, c, dtype)
    w = lambda c: between(rng, [c], 0.2, 2)
    for reduction in ("mean", "sum", "none"):
        add(n(4, 3), labels(4), {} if reduction == "mean" else {"reduction": reduction}, reduction)
    add(n(4, 3), labels(4, dtype="int64"), {}, "int64 labels")
    add(n(4, 3), labels(4, 1), {"reduction": "none"}, "labels keep the class axis")
    add(n(4, 3), labels(4, 1), {}, "labels keep the class axis, mean")
    add(n(2, 4, 3), labels(2, 4), {}, "rank 3")
    add(n(2, 3, 4), labels(2, 4), {"axis": 1}, "class axis 1")
    add(n(2, 3, 2, 2), labels(2, 2, 2), {"axis": 1, "reduction": "none"}, "image, class axis 1")
    add(n(3), labels(), {}, "one sample without a batch axis")
    add(normal(rng, [4, 3], "float64"), labels(4), {}, "float64", second=True)
    add(n(5, 3), T([0, -100, 2, 1, -100], "int32"), {}, "ignored labels")
    add(n(5, 3), T([0, 1, 2, 1, 0], "int32"), {"ignoreIndex": 1}, "ignoreIndex 1")
    add(n(5, 3), T([0, 1, 2, 1, 0], "int32"), {"ignoreIndex": 1, "reduction": "none"}, "ignoreIndex 1, none")
    add(n(2, 3), T([-100, -100], "int32"), {}, "all ignored: 0")
    for reduction in ("mean", "sum", "none"):
        add(n(4, 3), labels(4), {"reduction": reduction}, f"weight, {reduction}", weight=w(3))
    add(n(5, 3), T([0, -100, 2, 1, -100], "int32"), {}, "weight and ignored labels", weight=w(3))
    add(n(2, 3, 4), labels(2, 4), {"axis": 1}, "weight, class axis 1", weight=w(3))
    add(n(4, 3), labels(4), {"labelSmoothing": 0.1}, "labelSmoothing")
    add(n(2, 3, 4), labels(2, 4), {"labelSmoothing": 0.2, "axis": 1, "reduction": "sum"}, "labelSmoothing, class axis 1")
    soft = lambda *s: T(rng.dirichlet(np.ones(s[-1]), s[:-1]))
    for reduction in ("mean", "sum", "none"):
        add(n(4, 3), soft(4, 3), {"softLabel": True, "reduction": reduction}, f"soft labels, {reduction}", wrt=[0, 1])
    add(n(2, 3, 4), T(soft(2, 4, 3).array.swapaxes(1, 2)), {"softLabel": True, "axis": 1}, "soft labels, class axis 1")
    add(n(4, 3), soft(4, 3), {"softLabel": True}, "soft labels and weight", weight=w(3))
    add(n(4, 3), soft(4, 3), {"softLabel": True, "labelSmoothing": 0.1}, "soft labels, labelSmoothing")
    add(normal(rng, [4, 3], "float64"), T(soft(4, 3).array, "float64"), {"softLabel": True}, "soft labels, float64", second=True)
    add(T([[1000.0, 0, -1000], [-1000, 1000, 1000]]), T([0, 1], "int32"), {}, "far from zero")
    add(T([[100.0, 0, 0], [0, 100, 0]]), T([1, 1], "int32"), {"reduction": "none"}, "surely wrong, surely right")
    add(transposed(n(4, 3)), labels(4), {}, "transposed")
    add(stepped(rng, n(4, 3)), T([0, 9, 2, 9, 1, 9, 0], "int32").view("slice", 0, 0, 7, 2), {}, "stepped")


def nll(f):
    rng = f.rng("F.nllLoss")
    def add(x, label, o, name, weight=None, **kw):
        reduction, ignore = o.get("reduction", "mean"), o.get("ignoreIndex", -100)
        def run(logp, y, *w):
            y = y.long()
            losses = TF.nll_loss(logp, y, w[0].detach() if w else None, ignore_index=ignore, reduction="none")
            live = y != ignore
            counts = (w[0].detach()[torch.where(live, y, 0)] if w else torch.ones_like(losses)) * live
            return reduce(losses, counts, reduction)
        opts = dict(o)
        if weight is not None:
            opts["weight"] = weight
        f.case("F.nllLoss", [x, label] + ([opts] if opts else []), run, name=name, wrt=[0], **kw)
    logp = lambda *s, dtype="float32": T(torch.log_softmax(torch.tensor(rng.standard_normal(s)), 1).numpy(), dtype)
    labels = lambda *s: ints(rng, list(s), 0, 3)
    for reduction in ("mean", "sum", "none"):
        add(logp(4, 3), labels(4), {} if reduction == "mean" else {"reduction": reduction}, reduction)
    add(logp(2, 3, 4), labels(2, 4), {}, "class axis 1")
    add(logp(2, 3, 2, 2), labels(2, 2, 2), {"reduction": "none"}, "image")
    add(logp(4, 3, dtype="float64"), T(labels(4).array, "int64"), {}, "float64, int64 labels")
    add(logp(4, 3), T([0, -100, 2, 1], "int32"), {}, "ignored label")
    add(logp(4, 3), T([0, 1, 2, 1], "int32"), {"ignoreIndex": 1}, "ignoreIndex 1")
    add(logp(2, 3), T([-100, -100], "int32"), {}, "all ignored: 0")
    for reduction in ("mean", "sum", "none"):
        add(logp(4, 3), labels(4), {"reduction": reduction}, f"weight, {reduction}", weight=between(rng, [3], 0.2, 2))
    add(transposed(logp(4, 3)), labels(4), {}, "transposed")


def pair_losses(f):
    def family(fn, compute, left, right, *, wrt=None, second=True, variants=(), broadcast=True):
        """mean, sum, none, float64, views and then `variants` of options."""
        rng = f.rng(fn)
        def add(shape, o, name, dtype="float32", view=None, **kw):
            a, b = left(rng, shape, dtype), right(rng, shape, dtype)
            if view:
                a, b = view(a), view(b)
            f.case(fn, [a, b] + ([o] if o else []), lambda x, y: compute(x, y, o), name=name, **{"wrt": wrt, **kw})
        add([2, 3], {}, "mean")
        add([2, 3], {"reduction": "sum"}, "sum")
        add([2, 3], {"reduction": "none"}, "none")
        add([5], {}, "float64", "float64", second=second)
        add([2, 3], {"reduction": "none"}, "transposed", view=transposed)
        add([2, 3], {"reduction": "none"}, "stepped", view=lambda t: stepped(rng, t))
        add([], {}, "rank 0")
        add([0, 3], {"reduction": "sum"}, "empty, sum")
        for o in variants:
            add([2, 3], o, ", ".join(f"{k} {v}" for k, v in o.items()))
            add([4], {**o, "reduction": "none"}, ", ".join(f"{k} {v}" for k, v in o.items()) + ", none", "float64")

    n = lambda rng, shape, dtype: normal(rng, shape, dtype)
    wide = lambda rng, shape, dtype: normal(rng, shape, dtype, 2)
    p = lambda rng, shape, dtype: between(rng, shape, 0.05, 0.95, dtype)
    sign = lambda rng, shape, dtype: T(rng.choice([-1.0, 1.0], shape), dtype)
    red = lambda o: o.get("reduction", "mean")
    family("F.mseLoss", lambda x, y, o: TF.mse_loss(x, y, reduction=red(o)), n, n)
    family("F.l1Loss", lambda x, y, o: TF.l1_loss(x, y, reduction=red(o)), n, n, second=False)
    family("F.smoothL1Loss", lambda x, y, o: TF.huber_loss(x, y, reduction=red(o), delta=o.get("delta", 1)), wide, wide,
           second=False, variants=[{"delta": 0.5}, {"delta": 2}])
    # From its formula: PyTorch's second gradient adds 1e-12 to p and to 1 - p, which float64 shows.
    entropy = lambda x, y: -(y * x.log() + (1 - y) * (-x).log1p())
    total = lambda v, o: v if red(o) == "none" else v.sum() if red(o) == "sum" else v.mean()
    family("F.binaryCrossEntropy", lambda x, y, o: total(entropy(x, y), o), p, p, wrt=[0])
    family("F.binaryCrossEntropyWithLogits", lambda x, y, o: TF.binary_cross_entropy_with_logits(x, y, reduction=red(o)), wide, p,
           wrt=[0])
    family("F.hingeEmbeddingLoss", lambda x, y, o: TF.hinge_embedding_loss(x, y, o.get("margin", 1), reduction=red(o)), n, sign,
           wrt=[0], second=False, variants=[{"margin": 0.5}])
    family("F.softMarginLoss", lambda x, y, o: TF.soft_margin_loss(x, y.detach(), reduction=red(o)), wide, sign, wrt=[0])

    f.case("F.mseLoss", [T([1.0, INF, NAN]), T([2.0, 0, 1]), {"reduction": "none"}],
           lambda x, y: TF.mse_loss(x, y, reduction="none"), name="special points", grad=False)
    f.case("F.l1Loss", [T([1.0, 2, 3]), T([1.0, 5, -1])], TF.l1_loss, name="gradient of a tie is 0")
    f.case("F.smoothL1Loss", [T([0.0, 1, -1, 0.5, 3]), T([0.0, 0, 0, 0, 0]), {"reduction": "none"}],
           lambda x, y: TF.huber_loss(x, y, reduction="none"), name="at 0 and at delta")

    rng = f.rng("F.binaryCrossEntropy")
    w = between(rng, [3], 0.2, 2)
    f.case("F.binaryCrossEntropy", [p(rng, [2, 3], "float32"), p(rng, [2, 3], "float32"), {"weight": w}],
           lambda x, y, w: TF.binary_cross_entropy(x, y, w.detach()), name="weight", wrt=[0])
    f.case("F.binaryCrossEntropy", [T([0.0, 1, 0, 1]), T([0.0, 1, 1, 0]), {"reduction": "none"}],
           lambda x, y: TF.binary_cross_entropy(x, y, reduction="none"), name="log is clamped at -100", wrt=[0])
    rng = f.rng("F.binaryCrossEntropyWithLogits")
    logits = TF.binary_cross_entropy_with_logits
    f.case("F.binaryCrossEntropyWithLogits", [n(rng, [2, 3], "float32"), p(rng, [2, 3], "float32"), {"weight": w}],
           lambda x, y, w: logits(x, y, w.detach()), name="weight", wrt=[0])
    f.case("F.binaryCrossEntropyWithLogits", [n(rng, [2, 3], "float32"), p(rng, [2, 3], "float32"), {"posWeight": w}],
           lambda x, y, w: logits(x, y, pos_weight=w.detach()), name="posWeight", wrt=[0])
    f.case("F.binaryCrossEntropyWithLogits",
           [n(rng, [2, 3], "float64"), p(rng, [2, 3], "float64"),
            {"weight": T([0.5, 1, 2], "float64"), "posWeight": T([3.0, 1, 0.5], "float64"), "reduction": "sum"}],
           lambda x, y, w, q: logits(x, y, w.detach(), pos_weight=q.detach(), reduction="sum"), name="both, float64", wrt=[0])
    f.case("F.binaryCrossEntropyWithLogits", [T([100.0, -100, 1000, -1000, 0]), T([1.0, 1, 0, 0, 1]), {"reduction": "none"}],
           lambda x, y: logits(x, y, reduction="none"), name="far from zero", wrt=[0])

    rng = f.rng("F.klDiv")
    def kl(x, y, o, name, **kw):
        run = lambda x, y: TF.kl_div(x, y, reduction=red(o), log_target=o.get("logTarget", False))
        f.case("F.klDiv", [x, y] + ([o] if o else []), run, name=name, **kw)
    logp = lambda *s, dtype="float32": T(torch.log_softmax(torch.tensor(rng.standard_normal(s)), -1).numpy(), dtype)
    probs = lambda *s, dtype="float32": T(rng.dirichlet(np.ones(s[-1]), s[:-1]), dtype)
    kl(logp(2, 3), probs(2, 3), {}, "mean over elements")
    for reduction in ("sum", "none", "batchmean"):
        kl(logp(2, 3), probs(2, 3), {"reduction": reduction}, reduction)
    kl(logp(2, 3), logp(2, 3), {"logTarget": True, "reduction": "batchmean"}, "logTarget")
    kl(logp(2, 3, dtype="float64"), probs(2, 3, dtype="float64"), {}, "float64", second=True)
    kl(logp(2, 3), T([[0.0, 0.4, 0.6], [1, 0, 0]]), {"reduction": "none"}, "target 0", wrt=[0])
    kl(transposed(logp(2, 3)), transposed(probs(2, 3)), {"reduction": "sum"}, "transposed")

    rng = f.rng("F.marginRankingLoss")
    def rank(a, b, y, o, name, **kw):
        run = lambda x1, x2, y: TF.margin_ranking_loss(x1, x2, y, o.get("margin", 0), reduction=red(o))
        f.case("F.marginRankingLoss", [a, b, y] + ([o] if o else []), run, name=name, wrt=[0, 1], **kw)
    trio = lambda shape, dtype="float32": (normal(rng, shape, dtype), normal(rng, shape, dtype), sign(rng, shape, dtype))
    rank(*trio([2, 3]), {}, "mean")
    rank(*trio([2, 3]), {"reduction": "sum"}, "sum")
    rank(*trio([2, 3]), {"reduction": "none", "margin": 0.5}, "none, margin 0.5")
    rank(*trio([5], "float64"), {"margin": -0.2}, "float64, margin -0.2")
    a, b, y = trio([2, 3])
    rank(transposed(a), b, stepped(rng, y), {"margin": 1}, "views")


def family_attention_embedding(f):
    rng = f.rng("F.embedding")
    def embed(ids, weight, padding, name, **kw):
        """Plesio, as Paddle, reads zeros at paddingIdx; PyTorch only drops the gradient."""
        def run(ids, w):
            rows = TF.embedding(ids.long(), w)
            if padding is None:
                return rows
            pad = padding % w.shape[0]
            return torch.where((ids == pad).unsqueeze(-1), 0, rows)
        f.case("F.embedding", [ids, weight] + ([] if padding is None else [{"paddingIdx": padding}]), run, name=name, wrt=[1], **kw)
    n = lambda *s: normal(rng, list(s))
    embed(T([1, 0, 1], "int32"), n(3, 2), None, "repeated ids")
    embed(T([[1, 4], [0, 2]], "int64"), n(5, 3), None, "matrix of int64")
    embed(T(2, "int32"), n(3, 2), None, "rank 0 id")
    embed(T([], "int32"), n(3, 2), None, "no ids")
    embed(T([0, 2, 0, 1], "int32"), n(3, 2), 0, "paddingIdx 0")
    embed(T([0, 2, 2, 1], "int32"), n(3, 2), -1, "paddingIdx -1")
    embed(T([1, 2, 2], "int32"), normal(rng, [3, 2], "float64"), None, "float64")
    embed(transposed(T([[1, 0], [2, 2], [0, 1]], "int32")), transposed(n(3, 2)), None, "views")

    rng = f.rng("F.scaledDotProductAttention")
    def attend(q, k, v, mask, o, name, **kw):
        def run(q, k, v, *m):
            m = m[0] if m else None
            with sdpa_kernel(SDPBackend.MATH):  # the others have no second gradient
                return TF.scaled_dot_product_attention(q, k, v, m, 0.0, o.get("isCausal", False), scale=o.get("scale"))
        opts = dict(o)
        if mask is not None:
            opts["attnMask"] = mask
        f.case("F.scaledDotProductAttention", [q, k, v] + ([opts] if opts else []), run, name=name, **kw)
    trio = lambda b, h, t, s, d, dtype="float32": (
        normal(rng, [b, h, t, d], dtype), normal(rng, [b, h, s, d], dtype), normal(rng, [b, h, s, d], dtype))
    attend(*trio(1, 1, 3, 3, 2), None, {}, "plain")
    attend(*trio(2, 2, 3, 4, 2), None, {}, "more keys than queries")
    attend(*trio(1, 2, 4, 4, 3), None, {"isCausal": True}, "causal")
    attend(*trio(1, 1, 2, 4, 2), None, {"isCausal": True}, "causal, more keys")
    attend(*trio(1, 1, 4, 2, 2), None, {"isCausal": True}, "causal, more queries")
    attend(*trio(1, 1, 3, 3, 2), None, {"scale": 0.3}, "scale")
    attend(*trio(1, 2, 3, 3, 2), T([[True, False, True], [False, True, False], [True, True, True]], "bool"), {}, "bool mask, true attends")
    attend(*trio(1, 2, 3, 3, 2), normal(rng, [3, 3]), {}, "float mask is added")
    attend(*trio(2, 2, 2, 3, 2), bools(rng, [2, 1, 2, 3]), {}, "mask broadcasts over heads")
    attend(*trio(1, 1, 2, 3, 2), T([[False, False, False], [True, False, True]], "bool"), {}, "a row that attends to nothing gives zeros")
    attend(*trio(1, 1, 3, 3, 2, "float64"), None, {"isCausal": True}, "float64", second=True)
    q, k, v = trio(2, 3, 4, 4, 2)
    swap = lambda t: T(t.array.transpose(0, 2, 1, 3).copy()).view("permute", [0, 2, 1, 3])
    attend(swap(q), swap(k), swap(v), None, {}, "heads inside in memory")
