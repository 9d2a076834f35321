#!/usr/bin/env python3
"""Writes the golden files beside this script: inputs, values and gradients as PyTorch computes them.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install torch==2.13.0 numpy
    /tmp/venv/bin/python tests/goldens/make_goldens.py            # every family
    /tmp/venv/bin/python tests/goldens/make_goldens.py unary conv_pool

The CPU build is enough (`--index-url https://download.pytorch.org/whl/cpu`). Seeds are fixed: a second
run writes the same bytes. README.md says what the files hold and where Plesio differs from PyTorch.
"""

import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import torch

from gen import FAMILIES
from gen.lib import Family, fail


def main(wanted):
    warnings.simplefilter("ignore", UserWarning)  # one-element variances, klDiv's mean: both on purpose
    torch.set_num_threads(1)
    torch.backends.nnpack.set_flags(False)
    torch.use_deterministic_algorithms(True)
    unknown = [name for name in wanted if name not in FAMILIES]
    if unknown:
        fail(f"no family {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
    here = pathlib.Path(__file__).resolve().parent
    total = 0
    for name in wanted or FAMILIES:
        family = Family(name)
        FAMILIES[name](family)
        text = family.text()
        total += len(text)
        (here / f"{name}.jsonl").write_text(text)
        print(f"{name}: {len(family.lines)} cases, {len(family.counts)} functions, {len(text)} bytes")
        for warning in family.warnings:
            print("  note:", warning)
    print(f"{total} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
