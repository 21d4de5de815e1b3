"""Entity F1 of this project's tagger over some seeds; `peer_tagging` is its counterpart.

  python -m tests.benchmarks.tagging_seeds MODEL DATA [--seeds=1,2,3] [--override=train.epochs=3] …

DATA is prepared data; those of its splits "dev" and "test" that are there (or of --splits) are
scored after training. Each seed prints a line of JSON: {"seed": 1, "seconds": …, "dev_f1": …}.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time

CONFIG = "configs/finetuning/ner_minilm.yaml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--config", default=CONFIG)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--splits", default="dev,test")
    parser.add_argument("--override", action="append", default=[])
    arguments = parser.parse_args()

    from official_bert.data.manifest import Manifest
    from official_bert.experiment import load_experiment
    from official_bert.runs.run import Run

    known = Manifest.load(arguments.data).splits
    splits = [name for name in arguments.splits.split(",") if name in known]
    for seed in map(int, arguments.seeds.split(",")):
        settings = [
            f"model.pretrained={arguments.model},data.path={arguments.data},train.seed={seed}",
            *arguments.override,
        ]
        with tempfile.TemporaryDirectory() as folder:
            start = time.time()
            Run(load_experiment([arguments.config], settings), folder).train(
                evaluate=False, skip_nonfinite=False
            )
            result = {"seed": seed, "seconds": round(time.time() - start)}
            for split in splits:
                experiment = load_experiment(
                    [arguments.config], [*settings, f"data.eval_split={split}"]
                )
                result[f"{split}_f1"] = round(Run(experiment, folder).evaluate()["f1"], 4)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
