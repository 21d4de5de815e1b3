"""Takes the text passages out of a Wikipedia dump: one sentence a line, an empty line behind each
article. Lists, tables, headings, templates, references, files, redirects and pages that are no
articles are left out.

    python -m data_prep.extract_wikipedia --output_dir=wiki \\
        --input_file=enwiki-latest-pages-articles-multistream.xml.bz2 --num_workers=2
"""

from __future__ import annotations

import sys

from absl import flags

from official_bert import cli

_INPUT_FILE = flags.DEFINE_string(
    "input_file", None, "The dump: .xml, .xml.bz2 or .xml.gz; several with commas.", required=True
)
_OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "The folder to make; it gets text files.", required=True
)
_NUM_WORKERS = flags.DEFINE_integer("num_workers", 1, "Processes that work at the same time.")
_FILE_MEGABYTES = flags.DEFINE_integer(
    "file_megabytes", 100, "Begin a new text file when one has this size."
)
_OVERWRITE = flags.DEFINE_bool("overwrite", False, "Replace --output_dir if it is there.")


def main() -> None:
    """Reads the flags and extracts."""
    from data_prep.pretraining.workers import WorkerError

    try:
        _extract()
    except WorkerError as error:
        sys.exit(f"error: {error}")


def _extract() -> None:
    from collections import Counter

    from tqdm import tqdm

    from data_prep.pretraining.workers import WorkerPool
    from data_prep.text.corpus import expand_inputs
    from data_prep.text.text_files import TextFiles
    from data_prep.text.wikipedia_dump import DumpReader, batches, extract, no_context
    from official_bert.atomic import atomic_folder
    from official_bert.errors import InputError
    from official_bert.path import size_of, to_path

    for flag in (_NUM_WORKERS, _FILE_MEGABYTES):
        if flag.value < 1:
            raise InputError(f"--{flag.name}={flag.value} is below 1")
    paths = expand_inputs(_INPUT_FILE.value)
    counts: Counter[str] = Counter()
    broken = []
    with (
        atomic_folder(_OUTPUT_DIR.value, overwrite=_OVERWRITE.value) as folder,
        TextFiles(folder, "wiki", _FILE_MEGABYTES.value << 20) as files,
        WorkerPool(_NUM_WORKERS.value, no_context, None) as pool,
        tqdm(
            total=sum(size_of(to_path(path)) for path in paths),
            unit="B",
            unit_scale=True,
            disable=None,
        ) as bar,
    ):
        for path in paths:
            reader = DumpReader(path)
            before = bar.n
            results = pool.run(extract, batches(reader), lambda job: f"article {job[0].title!r}")
            for _, documents in results:
                for document in filter(None, documents):
                    files.write(document + "\n")
                counts["articles with text"] += sum(map(bool, documents))
                bar.update(before + reader.position - bar.n)
            counts.update(reader.counts)
            if reader.broken:
                broken.append(reader.broken)
        if not counts["articles with text"]:
            raise InputError(
                f"--input_file={_INPUT_FILE.value} has no article with text; {dict(counts)}"
            )
    for name, number in sorted(counts.items()):
        print(f"{number:,} {name}")
    print(f"written: {_OUTPUT_DIR.value}, {files.count} files")
    if broken:
        raise InputError(
            f"{'; '.join(broken)}. What comes before is in {_OUTPUT_DIR.value}; get the file again"
        )


if __name__ == "__main__":
    cli.run(main)
