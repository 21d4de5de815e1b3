"""Converts a BERT checkpoint from any known format to another.

    python -m official_bert.convert_checkpoint --input=uncased_L-12_H-768_A-12 \\
        --output=bert-base-uncased --output_format=huggingface

What the input is, is found out by looking: a model folder of ours, google-research/bert, the Model
Garden, a TF Hub encoder or a Hugging Face folder. Every array is used and every variable filled, or
nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from absl import flags

from official_bert import cli

_INPUT = flags.DEFINE_string(
    "input", None, "Folder or prefix of the checkpoint to read.", required=True
)
_OUTPUT = flags.DEFINE_string("output", None, "Folder to write.", required=True)
_FORMAT = flags.DEFINE_enum(
    "output_format",
    "official_bert",
    ["official_bert", "huggingface", "google_tf1", "model_garden"],
    "Format to write.",
)
_NEW_HEADS = flags.DEFINE_bool(
    "new_heads", False, "Let a pooler or a head that the input lacks start from random values."
)
_VOCAB_FILE = flags.DEFINE_string(
    "vocab_file",
    None,
    "Another vocabulary: tokens that are new get new embeddings, the others keep theirs.",
)
_POSITIONS = flags.DEFINE_integer(
    "max_position_embeddings", None, "Another number of positions; new ones repeat the old ones."
)
_SHOWN = 10
_OVERWRITE = flags.DEFINE_bool("overwrite", False, "Replace what stands at --output.")


def main() -> None:
    from official_bert.checkpoints.load import load_pretrained
    from official_bert.checkpoints.write import write_pretrained

    bundle = load_pretrained(
        _INPUT.value,
        new_heads=_NEW_HEADS.value,
        vocab_file=_VOCAB_FILE.value,
        max_position_embeddings=_POSITIONS.value,
    )
    lost = write_pretrained(bundle, _OUTPUT.value, _FORMAT.value, overwrite=_OVERWRITE.value)
    print(f"read {_INPUT.value}: {bundle.format}, {bundle.kind}")
    reasons: dict[str, list[str]] = {}
    for name, why in {**bundle.dropped, **lost}.items():
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        print(f"left out ({why}): {_listed(names)}")
    if bundle.new_variables:
        print(f"new, with random values: {_listed(bundle.new_variables)}")
    print(f"wrote {_OUTPUT.value}: {_FORMAT.value}, {bundle.model.count_params():,} parameters")


def _listed(names: Sequence[str]) -> str:
    """An optimizer has hundreds."""
    more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


if __name__ == "__main__":
    cli.run(main)
