"""Writes print.jsonl: how NumPy prints arrays, which core/format_test.ts holds printing to.

    /tmp/venv/bin/python tests/goldens/make_print.py

A line is a case: dtype, shape, the elements (base64, little-endian, row-major) and NumPy's text between
"Tensor(" and ",". Booleans are written as JavaScript writes them.
"""

import base64
import json
import pathlib

import numpy as np

rng = np.random.default_rng(20)
cases = []


def case(name, values, dtype=None):
    a = np.ascontiguousarray(np.asarray(values, dtype=dtype)).reshape(np.shape(values))
    text = np.array2string(a, separator=", ", prefix="Tensor(", suffix=",")
    if a.dtype == bool:
        text = text.replace("True", "true").replace("False", "false")
    cases.append({
        "name": name,
        "dtype": str(a.dtype),
        "shape": list(a.shape),
        "data": base64.b64encode(a.tobytes()).decode(),
        "text": text,
    })


FLOATS = (np.float16, np.float32, np.float64)
inf, nan = np.inf, np.nan

for dtype in FLOATS:
    t = np.dtype(dtype).name
    top = np.finfo(dtype)
    case(f"{t} scalar", 1.5, dtype)
    case(f"{t} negative zero scalar", -0.0, dtype)
    case(f"{t} NaN scalar", nan, dtype)
    case(f"{t} one digit", [1, 2.25, -3], dtype)
    case(f"{t} whole", [1, 2, 30], dtype)
    case(f"{t} zeros", [0, -0.0, 0], dtype)
    case(f"{t} thirds", [1 / 3, 2 / 3, 0.1], dtype)
    case(f"{t} special", [nan, inf, -inf, 1], dtype)
    case(f"{t} only special", [nan, inf], dtype)
    case(f"{t} only infinities", [inf, -inf], dtype)
    case(f"{t} NaN beside fractions", [nan, 0.125, 12.5], dtype)
    case(f"{t} negative infinity beside fractions", [-inf, 0.5], dtype)
    case(f"{t} negatives", [-1.5, 2, -100.25], dtype)
    case(f"{t} extremes", [float(top.max), float(top.tiny), float(top.smallest_subnormal)], dtype)
    case(f"{t} ties at the last digit", [2.0**-9, 3 * 2.0**-9, 1 + 2.0**-9, 5 * 2.0**-9], dtype)
    case(f"{t} far apart", [0.1, 200], dtype)
    case(f"{t} just near enough", [0.25, 250], dtype)
    case(f"{t} scientific special", [1e-5, nan, -inf, 0], dtype)
    case(f"{t} small alone", [1e-4], dtype)
    case(f"{t} smaller alone", [9.9e-5], dtype)
    for e in range(1, 10):
        for value in (10.0**e * 0.9999, 10.0**e):
            if value < float(top.max):
                case(f"{t} {value}", [value], dtype)
    case(f"{t} matrix", rng.standard_normal((3, 4)), dtype)
    case(f"{t} wide rows", rng.standard_normal((2, 30)), dtype)
    case(f"{t} spread", 10.0 ** rng.uniform(-4, 4, 20), dtype)
    case(f"{t} blocks", rng.standard_normal((2, 3, 2, 2)), dtype)
for bits in rng.integers(0, 2**32, 40):
    case(f"float32 bits {bits:08x}", np.uint32(bits).view(np.float32), np.float32)
for bits in rng.integers(0, 2**16, 40):
    case(f"float16 bits {bits:04x}", np.uint16(bits).view(np.float16), np.float16)
for bits in rng.integers(0, 2**63, 40):
    case(f"float64 bits {bits:016x}", np.uint64(bits).view(np.float64), np.float64)
for e in range(-149, 128, 3):
    case(f"float32 2^{e}", np.float32(2.0**e), np.float32)
for e in range(-24, 16):
    case(f"float16 2^{e}", np.float16(2.0**e), np.float16)
for k in range(60):
    case(f"float32 mixed {k}", rng.standard_normal(5) * 10.0 ** rng.integers(-3, 4, 5), np.float32)
    case(f"float64 mixed {k}", rng.standard_normal(5) * 10.0 ** rng.integers(-1, 2, 5), np.float64)
case("float64 extremes", [1e-300, 1e300])
case("float64 three digits of exponent beside two", [1e-5, 1e200])

case("bool", [True, False])
case("bool all true", [[True, True], [True, True]])
case("bool scalar", True)
for dtype in (np.int8, np.uint8, np.int16, np.int32, np.int64):
    t = np.dtype(dtype).name
    top = np.iinfo(dtype)
    case(f"{t} scalar", 7, dtype)
    case(f"{t} extremes", [int(top.min), int(top.max), 0, 1], dtype)
    case(f"{t} wide row", rng.integers(top.min, top.max, 40, dtype=dtype), dtype)
for dtype in (np.complex64, np.complex128):
    t = np.dtype(dtype).name
    case(f"{t} scalar", 1 - 2j, dtype)
    case(f"{t} both signs", [1 + 2j, -1.5 - 0.25j], dtype)
    case(f"{t} special", [complex(nan, 1), complex(inf, -inf), complex(-0.0, -0.0)], dtype)
    case(f"{t} matrix", rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4)), dtype)

case("empty rows", np.zeros((3, 0)))
case("empty", np.zeros((0, 2)))
case("one element, many axes", np.full((1, 1, 1, 1), 2.5))
case("a column", np.arange(5.0).reshape(5, 1))
case("exactly 1000", np.arange(1000), np.int16)
case("1001", np.arange(1001), np.int16)
case("1001 in fractions, edges narrower", np.concatenate([[1.5], np.arange(999) + 1e-3, [2.5]]))
case("a long matrix", np.arange(1200).reshape(400, 3), np.int16)
case("a wide matrix", np.arange(1200).reshape(3, 400), np.int16)
case("a large matrix", np.arange(1600).reshape(40, 40), np.int16)
case("exactly six", np.arange(1200).reshape(6, 200), np.int16)
case("seven", np.arange(1407).reshape(7, 201), np.int16)
case("blocks cut", np.arange(3 * 8 * 7 * 7).reshape(3, 8, 7, 7), np.int16)
case("ends that wrap", rng.standard_normal((1, 2000)) * 1e-7)
for width in range(60, 80):
    row = "9" * 18
    case(f"rows that just fit, {width}", [[int(row[:k]) for k in (18, 18, width - 54)]], np.int64)
    case(f"nested rows that just fit, {width}", [[[int(row[:k]) for k in (18, 18, 1)]] * 2])
for n in range(14, 40):
    case(f"single digits, {n}", np.zeros((1, 1, n)), np.int8)

out = pathlib.Path(__file__).parent / "print.jsonl"
out.write_text("".join(json.dumps(c, ensure_ascii=False) + "\n" for c in cases))
print(f"{len(cases)} cases by NumPy {np.__version__}")
