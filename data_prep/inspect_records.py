"""Shows what is in pretraining data: instances as text with the masks, and statistics.

python -m data_prep.inspect_records data/wiki
python -m data_prep.inspect_records data/wiki/train-00000-of-00008.tfrecord --plot=lengths.png
"""

from __future__ import annotations

from absl import flags

from official_bert import cli

_NUM_EXAMPLES = flags.DEFINE_integer("num_examples", 3, "Records to print.")
_VOCAB_FILE = flags.DEFINE_string(
    "vocab_file", None, "The vocabulary; by default vocab.txt beside the first file."
)
_PLOT = flags.DEFINE_string("plot", None, "Draw the histogram of lengths into this file.")


def main(*names: str) -> None:
    """Reads the records and prints."""
    import os

    from tqdm import tqdm

    from data_prep.pretraining.record_statistics import (
        Statistics,
        expand,
        read_records,
        to_text,
    )
    from official_bert.data.manifest import MANIFEST_NAME, Manifest
    from official_bert.errors import InputError
    from official_bert.model_folder import VOCAB_NAME
    from official_bert.path import to_path
    from official_bert.text.vocab import Vocab

    if not names:
        raise InputError("give TFRecord files, or a folder of them")
    paths = expand(names)
    folder = os.path.dirname(paths[0])
    vocab = Vocab.from_file(_VOCAB_FILE.value or os.path.join(folder, VOCAB_NAME))
    longest = None
    if to_path(os.path.join(folder, MANIFEST_NAME)).exists():
        longest = Manifest.load(folder).max_seq_length
    statistics = Statistics(vocab)
    for number, record in enumerate(tqdm(read_records(paths), unit=" records", disable=None)):
        if number < _NUM_EXAMPLES.value:
            print(f"record {number}, {len(record.ids)} tokens")
            for line in to_text(record, vocab):
                print(f"  {line}")
        statistics.add(record)
    if not statistics.counts["records"]:
        raise InputError(f"{' '.join(names)}: no record in it")
    print("\n".join(statistics.lines(longest)))
    if _PLOT.value:
        statistics.plot(_PLOT.value)
        print(f"written: {_PLOT.value}")


if __name__ == "__main__":
    cli.run(main, takes_arguments=True)
