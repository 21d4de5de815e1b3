"""Packs predictions of the GLUE tasks into the zip that the benchmark's site takes.

  python -m official_bert.predict --model_dir=models/cola --split=test --output_dir=predicted/cola
  python -m official_bert.glue_submission --predictions_dir=predicted --output_file=glue.zip

PREDICTIONS_DIR has a folder for each of cola, sst2, mrpc, stsb, qqp, mnli_matched, mnli_mismatched,
qnli, rte and ax; ax is predicted with the MNLI model. Without a folder wnli its most frequent class
is submitted, as in the paper (Devlin et al. 2019, section 4.1).
"""

from __future__ import annotations

from absl import flags

from official_bert import cli
from official_bert.path import to_path

_PREDICTIONS_DIR = flags.DEFINE_string(
    "predictions_dir", None, "Folder with a folder for each task.", required=True
)
_OUTPUT_FILE = flags.DEFINE_string("output_file", None, "The zip to write.", required=True)


def main() -> None:
    from official_bert.evaluation.glue_files import write_submission

    write_submission(to_path(_PREDICTIONS_DIR.value), to_path(_OUTPUT_FILE.value))
    print(_OUTPUT_FILE.value)


if __name__ == "__main__":
    cli.run(main)
