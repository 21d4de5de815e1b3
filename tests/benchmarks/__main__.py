"""Runs every benchmark in a process of its own; prints one table of ratios and writes it as JSON.

python -m tests.benchmarks                     all of them
python -m tests.benchmarks tokenization model  some of them
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

from tests.public_data import ROOT

_FOLDER = pathlib.Path(__file__).parent
_OUTPUT = ROOT / ".cache" / "bench.json"
_RUN = "import json, sys; from tests.benchmarks import {0}; json.dump({0}.run(), sys.stdout)"


def main() -> None:
    known = {
        path.stem.removeprefix("bench_"): path.stem for path in sorted(_FOLDER.glob("bench_*.py"))
    }
    wanted = sys.argv[1:] or list(known)
    unknown = set(wanted) - set(known)
    if unknown:
        sys.exit(f"error: no benchmark {sorted(unknown)}; there are {sorted(known)}")
    results = {}
    for name in wanted:
        print(f"\n{name}", flush=True)
        process = subprocess.run(
            [sys.executable, "-c", _RUN.format(known[name])], stdout=subprocess.PIPE, cwd=ROOT
        )
        if process.returncode:
            sys.exit(f"error: the benchmark {name} failed")
        # Libraries print to stdout too; the rows are the last line.
        results[name] = json.loads(process.stdout.decode().splitlines()[-1])
        for row in results[name]:
            print(
                f"  {row['name']:<64} {row['ours']:>12,.4g} {row['peer']:>12,.4g} {row['unit']:<14}"
                f" ratio {row['ratio']:.2f}",
                flush=True,
            )
    _OUTPUT.parent.mkdir(exist_ok=True)
    _OUTPUT.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(f"\nwritten: {_OUTPUT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
