"""WNUT-17 and WikiGold as train.conll, dev.conll and test.conll, for `tagging_seeds` and its peer.

  python -m tests.benchmarks.tagging_splits SOURCE OUTPUT

SOURCE is the folder of WNUT-17 or WikiGold. WikiGold has no splits: every fifth of its documents
is for dev, the other four are for training. Tags are IOB2, a TAB behind the word.
"""

from __future__ import annotations

import pathlib
import sys

from data_prep.finetuning.tagging_files import TaggedSentence, read_tagged_file

_WNUT = {
    "train": "wnut17train.conll",
    "dev": "emerging.dev.conll",
    "test": "emerging.test.annotated",
}


def write_splits(source: pathlib.Path, output: pathlib.Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    wikigold = source / "wikigold.conll.txt"
    if wikigold.exists():
        sentences, _ = read_tagged_file(wikigold)
        _write(output / "train.conll", [s for s in sentences if s.document % 5 != 4])
        _write(output / "dev.conll", [s for s in sentences if s.document % 5 == 4])
        return
    for split, name in _WNUT.items():
        _write(output / f"{split}.conll", read_tagged_file(source / name)[0])


def _write(path: pathlib.Path, sentences: list[TaggedSentence]) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for sentence in sentences:
            rows = zip(sentence.words, sentence.tags, strict=True)
            file.writelines(f"{word}\t{tag}\n" for word, tag in rows)
            file.write("\n")


if __name__ == "__main__":
    write_splits(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
