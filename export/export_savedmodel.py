"""Exports a model as a SavedModel that takes plain strings and gives named answers.

  python -m export.export_savedmodel --model_dir=MODEL --output_dir=EXPORT

writes EXPORT/1 (then 2, 3, …), as TensorFlow Serving looks for it. Tokenizer, model and decoding
are in the graph; a client needs tensorflow and tensorflow_text, or a model server, and no more.
Before the folder gets its name, a fresh process runs every signature and the answers are held
against the model's.
"""

from __future__ import annotations

from absl import flags

from official_bert import cli
from official_bert.checkpoints.heads import ANSWERS

_MODEL_DIR = flags.DEFINE_string(
    "model_dir", None, "Model folder, or another checkpoint.", required=True
)
_OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "Folder of the export; the version is a folder in it.", required=True
)
_VERSION = flags.DEFINE_integer(
    "version", None, "Number of the version; without it, one above the newest.", 1
)
_OVERWRITE = flags.DEFINE_bool("overwrite", False, "Replace the version if it is there.")
_DEFAULT = flags.DEFINE_string(
    "default_signature",
    None,
    f"The answer that serving_default gives, one of the model's: {', '.join(ANSWERS)}; without it, "
    "what the model is for.",
)
_PRECISION = flags.DEFINE_enum(
    "precision", "float32", ["float32", "bfloat16"], "Of the stored weights and the products."
)
_MODEL_NAME = flags.DEFINE_string(
    "model_name",
    None,
    "Name under which it is served, in the server's files; without it, that of --output_dir.",
)
_TOP_K = flags.DEFINE_integer("top_k", 5, "Candidates where the answer is a choice.", 1)
_MAX_SEQ_LENGTH = flags.DEFINE_integer(
    "max_seq_length", None, "Most tokens of a row; without it, the most that the model takes.", 1
)
_PAD_TO = flags.DEFINE_integer(
    "pad_to", None, "Pad every batch to this many tokens, for accelerators.", 1
)
_CONCAT_LAST_FOUR = flags.DEFINE_bool(
    "concat_last_four", False, "embed gives the means of the last four layers as well."
)


def main() -> None:
    from export import saving

    folder = saving.export_savedmodel(
        _MODEL_DIR.value,
        _OUTPUT_DIR.value,
        version=_VERSION.value,
        overwrite=_OVERWRITE.value,
        default=_DEFAULT.value,
        model_name=_MODEL_NAME.value,
        precision=_PRECISION.value,
        max_seq_length=_MAX_SEQ_LENGTH.value,
        pad_to=_PAD_TO.value,
        candidates=_TOP_K.value,
        concat_last_four=_CONCAT_LAST_FOUR.value,
    )
    print(folder)


if __name__ == "__main__":
    cli.run(main)
