"""Writes small files by the safetensors package, and what they hold, for io/safetensors_test.ts.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install torch==2.13.0 numpy safetensors
    /tmp/venv/bin/python tests/goldens/make_safetensors.py

safetensors.json has, by file, the metadata and by name the dtype of the file, the shape and the elements as
texts ("nan", "-0.0", "1+2i"); bits of floats are not needed, since texts have all digits.
"""

import json
import pathlib

import safetensors
import torch
from safetensors.torch import save_file

folder = pathlib.Path(__file__).parent / "safetensors"
folder.mkdir(exist_ok=True)
inf, nan = float("inf"), float("nan")
contents = {}

NAMES = {
    torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16", torch.int32: "I32",
    torch.int64: "I64", torch.uint16: "U16", torch.uint32: "U32", torch.uint64: "U64",
    torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64",
    torch.complex64: "C64", torch.float8_e4m3fn: "F8_E4M3", torch.float8_e5m2: "F8_E5M2",
}


def text(x):
    if isinstance(x, bool):
        return str(int(x))
    if isinstance(x, complex):
        return f"{x.real!r},{x.imag!r}"
    return repr(x)


def save(name, tensors, metadata=None):
    save_file(tensors, folder / f"{name}.safetensors", metadata)
    contents[name] = {
        "metadata": metadata or {},
        "tensors": {
            k: {
                "dtype": NAMES[t.dtype],
                "shape": list(t.shape),
                "values": [text(v) for v in (t.float() if "float8" in str(t.dtype) else t).flatten().tolist()],
            }
            for k, t in tensors.items()
        },
    }


floats = [0.0, -0.0, 1.0, -2.5, inf, -inf, nan, 0.1, 448.0]
save("dtypes", {
    "bool": torch.tensor([True, False, True]),
    **{
        str(d).split(".")[1]: torch.tensor([torch.iinfo(d).min, 0, 1, torch.iinfo(d).max], dtype=d)
        for d in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    },
    "uint16": torch.tensor([0, 1, 65535], dtype=torch.uint16),
    "uint32": torch.tensor([0, 1, 4294967295], dtype=torch.uint32),
    "uint64": torch.tensor([0, 1, 2**63 - 1], dtype=torch.uint64),
    **{
        str(d).split(".")[1]: torch.tensor(floats, dtype=torch.float64).to(d)
        for d in (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    },
    "complex64": torch.tensor([1 + 2j, complex(nan, -inf), complex(-0.0, 0.5)]),
    # Every value of the narrowest floats.
    "float8_e4m3fn": torch.arange(256, dtype=torch.int16).to(torch.uint8).view(torch.float8_e4m3fn),
    "float8_e5m2": torch.arange(256, dtype=torch.int16).to(torch.uint8).view(torch.float8_e5m2),
})
save("shapes", {
    "scalar": torch.tensor(1.5),
    "empty": torch.zeros(0),
    "empty matrix": torch.zeros(3, 0, 2),
    "ones": torch.full((1, 1, 1), 2.0),
    "matrix": torch.arange(6, dtype=torch.float32).reshape(2, 3),
    "odd": torch.arange(3, dtype=torch.uint8),
    "weight.höhe/Ω": torch.tensor([1, 2], dtype=torch.int16),
    "__proto__": torch.tensor([7], dtype=torch.int32),
    "": torch.tensor([8], dtype=torch.int32),
}, {"format": "pt", "__proto__": "kept", "text": "line\nbreak \"quoted\" ✓"})
save("same", {k: torch.full((n,), float(n)) for n, k in enumerate(["c", "b", "a"], 1)}, {"by": "safetensors"})
save("none", {})

(folder / "safetensors.json").write_text(json.dumps(contents, ensure_ascii=False, indent=1) + "\n")
print(f"{len(contents)} files by safetensors {safetensors.__version__}")
