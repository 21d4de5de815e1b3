"""Makes a corpus of English prose from the docstrings of the installed Python packages.

It is on every machine that can run this project, so a first model needs no download. A document is
a module; a line is a sentence; an empty line ends a document.

  python -m data_prep.collect_docstrings --output_file=corpus.txt
"""

from __future__ import annotations

from absl import flags

from official_bert import cli

_OUTPUT_FILE = flags.DEFINE_string("output_file", None, "Text file to write.", required=True)
_MAX_MEGABYTES = flags.DEFINE_float("max_megabytes", 16.0, "Stop when the corpus has this size.")


def main() -> None:
    from absl import logging
    from tqdm import tqdm

    from data_prep.text import docstrings
    from official_bert.atomic import atomic_file
    from official_bert.errors import InputError

    if _MAX_MEGABYTES.value <= 0:
        raise InputError(f"--max_megabytes is {_MAX_MEGABYTES.value}: it must be above 0")
    limit = int(_MAX_MEGABYTES.value * 1e6)
    size = documents = 0
    progress = tqdm(total=limit, unit="B", unit_scale=True, disable=None, desc="docstrings")
    try:
        with atomic_file(_OUTPUT_FILE.value) as file:
            for sentences in docstrings.documents():
                text = "\n".join(sentences) + "\n\n"
                if size + len(text.encode()) > limit:
                    break
                file.write(text)
                size += len(text.encode())
                documents += 1
                progress.update(len(text.encode()))
    finally:
        progress.close()
    logging.info("%s: %d documents, %.1f MB", _OUTPUT_FILE.value, documents, size / 1e6)


if __name__ == "__main__":
    cli.run(main)
