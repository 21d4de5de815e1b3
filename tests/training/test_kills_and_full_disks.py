"""After a kill at any change of a name in its folder, and after a full disk,
a run goes on to the same end.

The child processes run under a library that counts the calls of the C library that rename or remove
files, TensorFlow's own included, and kills at the n-th.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable

import pytest

from tests.public_data import ROOT

KILLS = 20
# A whole run leaves some 150.
DISK_KILOBYTES = (4, 8, 16, 24, 32, 40, 48, 64, 96, 128)

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>
static long calls, last = -1;
void kill_at(long call) { calls = 0; last = call; }
long call_count(void) { return calls; }
static void *next(const char *name) {
  if (++calls == last) kill(getpid(), SIGKILL);
  return dlsym(RTLD_NEXT, name);
}
int rename(const char *a, const char *b) {
  return ((int (*)(const char *, const char *))next("rename"))(a, b);
}
typedef int (*exchange)(int, const char *, int, const char *, unsigned);
int renameat2(int c, const char *a, int d, const char *b, unsigned f) {
  return ((exchange)next("renameat2"))(c, a, d, b, f);
}
int unlink(const char *a) { return ((int (*)(const char *))next("unlink"))(a); }
int unlinkat(int d, const char *a, int f) {
  return ((int (*)(int, const char *, int))next("unlinkat"))(d, a, f);
}
int rmdir(const char *a) { return ((int (*)(const char *))next("rmdir"))(a); }
"""


def _run(folder: pathlib.Path) -> None:
    from tests.training.test_loop import _model, _train

    model = _model()
    _train(
        folder,
        model,
        save_every=10,
        evaluate=lambda stop: {"f1": float(model.global_step.numpy())},
        evaluate_every_steps=10,
    )


def _status(folder: pathlib.Path, before: Callable[[], None], after: Callable[[], None]) -> int:
    """What a run in a process of its own exits with, or minus its signal; stderr is a file."""
    from official_bert import cli

    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def main() -> None:
        before()
        _run(folder)
        after()

    code: object = 1
    try:
        descriptor = os.open(f"{folder}.stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 2)
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        sys.argv = ["run"]
        cli.run(main)
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code if isinstance(code, int) else 1)


def _kill(root: pathlib.Path) -> dict[str, list[int]]:
    """Runs unbroken, then killed at each of some calls and started again; gives the statuses."""
    import ctypes

    shim = ctypes.CDLL(str(root / "shim.so"))
    shim.call_count.restype = ctypes.c_long

    def run(folder: pathlib.Path, kill_at: int) -> int:
        return _status(
            folder,
            lambda: shim.kill_at(ctypes.c_long(kill_at)),
            lambda: print(shim.call_count(), file=(root / "calls").open("w")),
        )

    (root / "unbroken").mkdir()
    assert run(root / "unbroken", -1) == 0
    calls = int((root / "calls").read_text())
    results = {}
    for number in range(KILLS):
        call = 1 + number * calls // KILLS
        folder = root / str(call)
        folder.mkdir()
        results[str(call)] = [run(folder, call), run(folder, -1)]
    return results


def _fill(root: pathlib.Path) -> dict[str, list[int]]:
    """Runs on disks that are too small, and again when they are larger; gives the statuses."""
    results = {}
    for size in DISK_KILOBYTES:
        folder = root / str(size)
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(folder)]
        subprocess.run(mount, check=True)
        try:
            first = _status(folder, _nothing, _nothing)
            errors = pathlib.Path(f"{folder}.stderr")
            errors.rename(root / f"{size}.first")
            subprocess.run(["mount", "-o", "remount,size=9m", str(folder)], check=True)
            results[str(size)] = [first, _status(folder, _nothing, _nothing)]
            shutil.copytree(folder, root / f"{size}.left")
        finally:
            subprocess.run(["umount", str(folder)], check=True)
    return results


def _nothing() -> None:
    pass


def _weights(folder):
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(folder / "checkpoints" / "ckpt-40"))
    return {
        name: reader.get_tensor(name).tolist()
        for name in reader.get_variable_to_shape_map()
        if "OBJECT_GRAPH" not in name and "save_counter" not in name
    }


def _lines(folder):
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if k != "tokens_per_second"} for line in lines]


def _names(folder):
    """Without those of ckpt-20, which stay after a kill between the last save and their removal."""
    names = {str(p.relative_to(folder)) for p in folder.rglob("*")}
    return {name for name in names if "events" not in name and "ckpt-20" not in name}


def _served(what: str, root: pathlib.Path, environment: dict[str, str]) -> dict[str, list[int]]:
    process = subprocess.run(
        [sys.executable, "-m", "tests.training.test_kills_and_full_disks", what, str(root)],
        cwd=ROOT,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr[-3000:]
    results: dict[str, list[int]] = json.loads(process.stdout.splitlines()[-1])
    return results


@pytest.mark.slow
def test_killed_at_any_rename_it_goes_on_to_the_same_end(tmp_path):
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    source, shim = tmp_path / "shim.c", tmp_path / "shim.so"
    source.write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    results = _served("kill", tmp_path, {"LD_PRELOAD": str(shim)})
    assert len(results) == KILLS
    for call, statuses in results.items():
        assert statuses == [-9, 0], (tmp_path / f"{call}.stderr").read_text()[-3000:]
        _check_same(tmp_path / call, tmp_path / "unbroken")


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_with_room_the_run_goes_on(tmp_path):
    probe = tmp_path / "probe"
    probe.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(probe)]
    if os.getuid() or subprocess.run(mount).returncode:
        pytest.skip("no disk can be mounted here")
    subprocess.run(["umount", str(probe)], check=True)
    results = _served("fill", tmp_path, {})
    for size, statuses in results.items():
        text = (tmp_path / f"{size}.first").read_text()
        assert "Traceback" not in text, (size, text[-3000:])
        if statuses[0]:  # Else only the picture or TensorBoard's events found no room.
            assert statuses[0] == 2, text[-3000:]
            assert "No space left on device" in text.splitlines()[-1], size
            assert text.splitlines()[-1].startswith("error: ")
        else:
            assert "no picture of the curves" in text or "no more events" in text, (size, text)
        assert statuses[1] == 0, (tmp_path / f"{size}.stderr").read_text()[-3000:]
        first = f"{min(map(int, results))}.left"
        _check_same(tmp_path / f"{size}.left", tmp_path / first)
    # Both kinds were met.
    assert {statuses[0] for statuses in results.values()} == {0, 2}


def _check_same(folder, expected):
    assert _weights(folder) == _weights(expected), folder
    assert _lines(folder) == _lines(expected), folder
    best = pathlib.Path("best", "score.json")
    assert (folder / best).read_text() == (expected / best).read_text(), folder
    assert _names(folder) == _names(expected), folder


def _main(what: str, root: pathlib.Path) -> None:
    import tests.training.test_loop

    assert tests.training.test_loop  # TensorFlow is imported once, for all children.
    print(json.dumps({"kill": _kill, "fill": _fill}[what](root)))


if __name__ == "__main__":
    _main(sys.argv[1], pathlib.Path(sys.argv[2]))
