"""Prints the peak memory of loading a checkpoint, as a multiple of its weights (Linux only)."""

from __future__ import annotations

import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from official_bert import load_pretrained  # noqa: E402


def _megabytes(field: str) -> float:
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1024


def main() -> None:
    """Loads one checkpoint to warm up, and the next one with an eye on the memory."""
    warm_up, measured = sys.argv[1:]
    load_pretrained(warm_up)
    before = _megabytes("VmRSS")
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # starts VmHWM, the peak, anew
    bundle = load_pretrained(measured)
    weights = bundle.model.count_params() * 4 / 2**20
    print((_megabytes("VmHWM") - before) / weights)


if __name__ == "__main__":
    main()
