"""Evaluates the model in a model folder and writes `eval_results.json` there.

python -m official_bert.evaluate --model_dir=MODEL
python -m official_bert.evaluate --model_dir=MODEL --data_path=OTHER_PREPARED_DATA --split=dev
"""

from __future__ import annotations

from absl import flags

from official_bert import cli

_MODEL_DIR = flags.DEFINE_string("model_dir", None, "Model folder.", required=True)
_DATA_PATH = flags.DEFINE_string(
    "data_path", None, "Prepared data; default: what the model was trained on."
)
_SPLIT = flags.DEFINE_string("split", None, "Split; default: the run's evaluation split.")
_SHOW = flags.DEFINE_bool("show", False, "Only print what eval_results.json says.")


def main() -> None:
    from official_bert.errors import InputError
    from official_bert.runs.run_folder import RunFolder

    folder = RunFolder(_MODEL_DIR.value)
    if _SHOW.value:
        results = folder.results()
        if results is None:
            raise InputError(f"{folder.path} has no eval_results.json: leave --show out")
    else:
        from official_bert.runs.run import Run

        run = Run.of_trained(_MODEL_DIR.value, data_path=_DATA_PATH.value, eval_split=_SPLIT.value)
        results = run.evaluate()
    width = max(map(len, results))
    for name, value in results.items():
        shown = f"{value:.4f}" if isinstance(value, float) else value
        print(f"{name:<{width}}  {shown}")


if __name__ == "__main__":
    cli.run(main)
