"""Writes the tables that NumPy has not: erf, erfc, erfinv, pow, atan2, and hard angles.

Same columns as NumPy's tables, a second input where the function takes two. Values are computed by
mpmath with 400 digits and rounded once. Run here: python make_tables.py
"""

import gzip
import math
import random
import struct

from mpmath import mp, mpf

mp.dps = 400
FORMATS = {"float32": ("<f", "<I", 24, -149), "float64": ("<d", "<Q", 53, -1074)}


def bits(x, width):
    pack, unpack, _, _ = FORMATS[width]
    return struct.unpack(unpack, struct.pack(pack, x))[0]


def narrow(x, width):
    """A Python float as a number of the width."""
    if width == "float64":
        return x
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def rounded(v, width):
    """The bits of the number of the width that is nearest to an mpf, ties to even."""
    _, _, digits, lowest = FORMATS[width]
    if v == 0:
        return 0
    sign = v < 0
    v = abs(v)
    e = max(int(mp.floor(mp.log(v, 2))) - digits + 1, lowest)
    n = int(mp.nint(v / mpf(2) ** e))  # ties cannot happen here but for exact values
    top = 2.0 ** 127 * (2 - 2.0 ** -23) if width == "float32" else 1.7976931348623157e308
    x = mpf(n) * mpf(2) ** e
    f = math.inf if x > top else float(x)
    return bits(-f if sign else f, width)


def spread(rng, lo, hi, count):
    """Numbers of either sign whose logarithms are even between lo and hi (powers of two)."""
    return [rng.choice((-1, 1)) * 2.0 ** rng.uniform(lo, hi) for _ in range(count)]


def erfinv(x):
    y = mp.erfinv(x)
    return y


def write(name, rows):
    text = "dtype,input,output,ulperrortol\n" + "".join(rows)
    with gzip.GzipFile(f"{name}.csv.gz", "wb", mtime=0) as out:
        out.write(text.encode())


def unary(name, f, inputs):
    rows = []
    for width in FORMATS:
        for x in sorted({narrow(x, width) for x in inputs[width]}):
            rows.append(f"np.{width},{bits(x, width):#x},{rounded(f(mpf(x)), width):#x},2\n")
    write(name, rows)


def binary(name, f, pairs):
    rows = []
    for width in FORMATS:
        for x, y in pairs[width]:
            x, y = narrow(x, width), narrow(y, width)
            out = rounded(f(mpf(x), mpf(y)), width)
            rows.append(f"np.{width},{bits(x, width):#x},{bits(y, width):#x},{out:#x},2\n")
    write(name, rows)


def hard_angles(width):
    """The numbers of the width nearest to multiples of pi / 2, by continued fractions and at random."""
    _, _, digits, _ = FORMATS[width]
    rng = random.Random(5)
    most = 127 if width == "float32" else 1023
    out = []
    for e in range(0, most - digits):
        # x = m 2^e near n pi / 2: convergents of 2^e / (pi / 2) with m < 2^digits.
        a, b, c, d, v = 0, 1, 1, 0, mpf(2) ** e / (mp.pi / 2)
        while True:
            q = int(mp.floor(v))
            a, b, c, d = c, d, a + q * c, b + q * d
            if d >= 2**digits:
                break
            v = 1 / (v - q)
        if 2 ** (digits - 3) < b and (width == "float32" or rng.random() < 0.15):
            out.append(float(b) * 2.0**e)
    for _ in range(60):
        n = rng.randrange(1, 2 ** rng.randrange(1, 30))
        out.append(narrow(float(n * mp.pi / 2), width))
    return out


def main():
    rng = random.Random(1)
    small = spread(rng, -40, -1, 60)
    unary("erf", mp.erf, {w: small + spread(rng, -2, 2.6, 150) for w in FORMATS})
    far = {"float32": 10.1, "float64": 27.2}
    unary(
        "erfc",
        mp.erfc,
        {w: small + [rng.uniform(-6, far[w]) for _ in range(200)] for w in FORMATS},
    )
    close = [1 - 2.0 ** rng.uniform(-24, -1) for _ in range(40)]
    closer = [1 - 2.0 ** rng.uniform(-53, -1) for _ in range(60)]
    mp.dps = 60
    mid = [rng.uniform(-1, 1) for _ in range(80)]
    unary("erfinv", erfinv, {"float32": small + mid + close, "float64": small + mid + closer})
    mp.dps = 400
    pairs = {}
    for width, lo, hi in (("float32", -149, 127.9), ("float64", -1074, 1023.9)):
        rows = []
        for i in range(300):
            x = 2.0 ** rng.uniform(-4, 4) if i % 3 else 1 + rng.uniform(-1, 1) * 2.0 ** rng.uniform(-20, -2)
            x = narrow(x, width)
            y = rng.uniform(lo, hi) / math.log2(x) if x != 1 else 3.5
            rows.append((x, y))
        rows += [(-rng.uniform(0, 9), float(rng.randrange(-20, 20))) for _ in range(40)]
        pairs[width] = rows
    binary("pow", lambda x, y: x**y, pairs)
    angles = [(s, t) for s, t in zip(spread(rng, -30, 30, 200), spread(rng, -30, 30, 200))]
    angles += [(rng.uniform(-2, 2), rng.uniform(-2, 2)) for _ in range(100)]
    binary("atan2", mp.atan2, {w: angles for w in FORMATS})
    hard = {w: hard_angles(w) for w in FORMATS}
    for name, f in (("sin", mp.sin), ("cos", mp.cos), ("tan", mp.tan)):
        unary(f"{name}_hard", f, hard)


if __name__ == "__main__":
    main()
