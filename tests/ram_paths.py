"""`ram://`, TensorFlow's file system in memory, as a stand-in for buckets; one process sees it."""

from __future__ import annotations

import pytest
from etils.epath import gpath, register


@pytest.fixture
def ram(monkeypatch: pytest.MonkeyPatch) -> None:
    """epath, which knows no `ram://`, takes it for what `gs://` is."""
    monkeypatch.setattr(gpath, "_URI_PREFIXES", (*gpath._URI_PREFIXES, "ram://"))
    monkeypatch.setattr(gpath, "_URI_SCHEMES", gpath._URI_SCHEMES | {"ram"})
    monkeypatch.setitem(gpath._URI_MAP_ROOT, "ram://", "/ram/")
    monkeypatch.setitem(gpath._PREFIX_TO_BACKEND, "ram", gpath.backend_lib.tf_backend)
    monkeypatch.setitem(register._URI_PREFIXES_TO_CLS, "ram://", gpath.PosixGPath)
