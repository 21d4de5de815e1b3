"""Exports the encoder and its preprocessor as TF Hub modules.

  python -m export.export_tfhub --model_dir=MODEL --output_dir=HUB

writes HUB/encoder and HUB/preprocessor. Programs written for the published BERT modules run with
them: `hub.load`, or `hub.KerasLayer("HUB/encoder", trainable=True)` to fine-tune.
"""

from __future__ import annotations

from absl import flags

from official_bert import cli

_MODEL_DIR = flags.DEFINE_string(
    "model_dir", None, "Model folder, or another checkpoint.", required=True
)
_OUTPUT_DIR = flags.DEFINE_string("output_dir", None, "Folder of both modules.", required=True)
_SEQ_LENGTH = flags.DEFINE_integer(
    "seq_length", 128, "Tokens in each row that the preprocessor gives, by default.", 4
)
_OVERWRITE = flags.DEFINE_bool("overwrite", False, "Replace the modules if they are there.")


def main() -> None:
    from export.hub_saving import export_tfhub

    for folder in export_tfhub(
        _MODEL_DIR.value,
        _OUTPUT_DIR.value,
        seq_length=_SEQ_LENGTH.value,
        overwrite=_OVERWRITE.value,
    ):
        print(folder)


if __name__ == "__main__":
    cli.run(main)
