"""Exports a model for LiteRT: small machines, and CPUs with instructions for int8.

  python -m export.export_litert --model_dir=MODEL --output_dir=LITE
  python -m official_bert.predict --litert=LITE < lines.txt

writes LITE/model.tflite with a signature for each length (they share one copy of the weights), the
tokenizer's files and export.json.
"""

from __future__ import annotations

from absl import flags

from official_bert import cli
from official_bert.checkpoints.heads import ANSWERS
from official_bert.errors import InputError

_MODEL_DIR = flags.DEFINE_string(
    "model_dir", None, "Model folder, or another checkpoint.", required=True
)
_OUTPUT_DIR = flags.DEFINE_string("output_dir", None, "Folder to write.", required=True)
_TASK = flags.DEFINE_string(
    "task",
    None,
    f"The answer, one of the model's whose size does not depend on the text: {', '.join(ANSWERS)}; "
    "without it, what the model is for.",
)
_PRECISION = flags.DEFINE_enum("precision", "int8", ["int8", "float32"], "Of the stored weights.")
_LENGTHS = flags.DEFINE_list(
    "lengths", ["32", "64", "128", "256", "384", "512"], "Lengths of rows, in tokens."
)
_MAX_SEQ_LENGTH = flags.DEFINE_integer(
    "max_seq_length", None, "Most tokens of a row; without it, the most that the model takes.", 1
)
_OVERWRITE = flags.DEFINE_bool("overwrite", False, "Replace the folder if it is there.")


def main() -> None:
    if not all(length.isdecimal() and int(length) > 0 for length in _LENGTHS.value):
        raise InputError(f"--lengths={','.join(_LENGTHS.value)}: write numbers of tokens: 32,128")

    from export.litert_saving import export_litert

    folder = export_litert(
        _MODEL_DIR.value,
        _OUTPUT_DIR.value,
        answer=_TASK.value,
        precision=_PRECISION.value,
        lengths=[int(length) for length in _LENGTHS.value],
        overwrite=_OVERWRITE.value,
        max_seq_length=_MAX_SEQ_LENGTH.value,
    )
    print(folder)


if __name__ == "__main__":
    cli.run(main)
