"""Whatever is wrong with a file: the right answer or one line, in bounded time and memory."""

from __future__ import annotations

import collections
import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from tests.fuzz.server import KINDS
from tests.public_data import ROOT


def tried(folder: pathlib.Path, count: int) -> list[dict[str, Any]]:
    process = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.server", str(folder), str(count)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in process.stdout.splitlines()]


def table(outcomes: list[dict[str, Any]]) -> str:
    """Tried, right, refused, faults, most seconds and megabytes of each kind of file."""
    groups = collections.defaultdict(list)
    for outcome in outcomes:
        groups[outcome["kind"]].append(outcome)
    lines = ["kind | tried | right | refused | faults | seconds | MB"]
    for kind, group in groups.items():
        counts = collections.Counter(outcome["outcome"] for outcome in group)
        most = [max(outcome[name] for outcome in group) for name in ("seconds", "megabytes")]
        numbers = [len(group), counts["right"], counts["refused"], counts["fault"], *most]
        lines.append(" | ".join([kind, *map(str, numbers)]))
    return "\n".join(lines)


@pytest.mark.parametrize("count", [6, pytest.param(150, marks=pytest.mark.slow)])
def test_only_right_answers_and_lines(tmp_path, count):
    """`count` mutations of each kind, fewer where reading a good file takes long."""
    outcomes = tried(tmp_path, count)
    print(table(outcomes))
    unchanged = {o["kind"] for o in outcomes if o["number"] < 0}
    assert set(unchanged) == {name for name, kind in KINDS.items() if kind.share <= count}
    bad = [o for o in outcomes if o["number"] < 0 and o["outcome"] != "right"]
    assert not bad, json.dumps(bad, indent=1)
    faults = [outcome for outcome in outcomes if outcome["outcome"] == "fault"]
    assert not faults, json.dumps(faults, indent=1)
    assert {"right", "refused"} == {o["outcome"] for o in outcomes if o["number"] >= 0}
