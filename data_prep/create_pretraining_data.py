"""Makes pretraining data (masked LM, next sentence) from text files.

Input: UTF-8 text, one sentence a line, an empty line between documents. Output: a folder with
sharded TFRecords, vocab.txt, tokenizer_config.json and manifest.json.

    python -m data_prep.create_pretraining_data --input_file='wiki/*.txt' --output_dir=data/wiki \\
        --vocab_file=vocab.txt --max_seq_length=128 --dupe_factor=5 --num_workers=2
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from absl import flags

from official_bert import cli
from official_bert.errors import InputError

if TYPE_CHECKING:
    from data_prep.pretraining.settings import PretrainingSettings
    from official_bert.data.manifest import Manifest

_INPUT_FILE = flags.DEFINE_string(
    "input_file",
    None,
    "Text files: names, globs, several with commas between; .gz too.",
    required=True,
)
_OUTPUT_DIR = flags.DEFINE_string("output_dir", None, "The folder to make.", required=True)
_VOCAB_FILE = flags.DEFINE_string("vocab_file", None, "The vocabulary.", required=True)
_DO_LOWER_CASE = flags.DEFINE_bool(
    "do_lower_case",
    None,
    "Lower-case the text and strip accents; without it, what tokenizer_config.json beside the "
    "vocabulary says, or else whether the vocabulary has no upper-case letters.",
)
_MAX_SEQ_LENGTH = flags.DEFINE_integer(
    "max_seq_length", 128, "Longest sequence in tokens, [CLS] and [SEP] counted."
)
_MAX_PREDICTIONS = flags.DEFINE_integer(
    "max_predictions_per_seq", 20, "Most masked positions of a sequence."
)
_MASKED_LM_PROB = flags.DEFINE_float("masked_lm_prob", 0.15, "Share of tokens to predict.")
_SHORT_SEQ_PROB = flags.DEFINE_float(
    "short_seq_prob",
    None,
    "Share of documents cut into shorter sequences. Default: 0.1 with --objective=bert, else 0.",
)
_DUPE_FACTOR = flags.DEFINE_integer(
    "dupe_factor", 10, "Passes over the corpus, each with new cuts and masks."
)
_RANDOM_SEED = flags.DEFINE_integer("random_seed", 12345, "Seed of every random choice.")
_WHOLE_WORD = flags.DEFINE_bool("do_whole_word_mask", False, "Mask all pieces of a word together.")
_MAX_NGRAM_SIZE = flags.DEFINE_integer(
    "max_ngram_size",
    None,
    "Mask runs of up to this many whole words, shorter ones more often; needs "
    "--do_whole_word_mask.",
)
_WORD_SEGMENTER = flags.DEFINE_enum(
    "word_segmenter",
    None,
    ["jieba"],
    "Finds the words of Chinese text for --do_whole_word_mask; needs the extra [chinese].",
)
_MASK_PROB = flags.DEFINE_float("mask_prob", 0.8, "Share of chosen words that become [MASK].")
_RANDOM_PROB = flags.DEFINE_float("random_prob", 0.1, "Share that become random tokens.")
_KEEP_PROB = flags.DEFINE_float("keep_prob", 0.1, "Share that stay as they are.")
_POOL = flags.DEFINE_enum(
    "random_token_pool",
    "words",
    ["words", "all"],
    "Where random tokens come from: all entries but special and [unusedN] ones, or the whole "
    "vocabulary, as google-research/bert has it.",
)
_OBJECTIVE = flags.DEFINE_enum(
    "objective",
    "bert",
    ["bert", "full_sentences", "ltr"],
    "bert: sentence pairs and masks. full_sentences: no pairs, a document's sentences in a row "
    "until the sequence is full, and masks. ltr: the same sequences without masks.",
)
_MASKING = flags.DEFINE_enum(
    "masking",
    "static",
    ["static", "dynamic"],
    "static: masks are in the records. dynamic: training makes new ones each epoch, and "
    "--dupe_factor=1 is enough.",
)
_NUM_SHARDS = flags.DEFINE_integer("num_shards", 8, "Files to write.")
_NUM_WORKERS = flags.DEFINE_integer("num_workers", 1, "Processes that work at the same time.")
_RUNNER = flags.DEFINE_enum(
    "runner",
    "local",
    ["local", "beam"],
    "local: processes of this machine. beam: Apache Beam, with --beam_pipeline_options; a file is "
    "read by one worker and a shard written by one.",
)
_BEAM_OPTIONS = flags.DEFINE_list(
    "beam_pipeline_options",
    [],
    "Options of Beam and its runner with commas between, for example runner=FlinkRunner.",
)
_SPLIT = flags.DEFINE_string("split", "train", "Name of the split to write.")
_DEV_FRACTION = flags.DEFINE_float(
    "dev_fraction", 0.0, "Share of documents to hold out, as a split named dev."
)
_GZIP = flags.DEFINE_bool("gzip_compress", False, "Compress the records with gzip.")
_PAD = flags.DEFINE_bool(
    "pad_records",
    False,
    "Pad records to --max_seq_length and --max_predictions_per_seq, as other programs' readers "
    "expect.",
)
_V2_NAMES = flags.DEFINE_bool(
    "use_v2_feature_names",
    False,
    "Write input_word_ids and input_type_ids in place of input_ids and segment_ids.",
)
_PACK = flags.DEFINE_bool(
    "pack_sequences", False, "Put several instances in a row of --max_seq_length."
)
_OVERWRITE = flags.DEFINE_bool("overwrite", False, "Replace --output_dir if it is there.")
_RESUME = flags.DEFINE_bool("resume", False, "Go on with a run that was stopped.")


def main() -> None:
    """Reads the flags and runs the job."""
    from data_prep.pretraining.summary import summary

    # Workers share the cores: a pool of threads in each would only get in the others' way.
    # TensorFlow reads these when it starts, here and in the workers.
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")
    manifest = _prepare_on_beam() if _RUNNER.value == "beam" else _prepare_here()
    print(summary(manifest))
    print(f"written: {_OUTPUT_DIR.value}")


def _prepare_here() -> Manifest:
    from data_prep.pretraining.job import prepare
    from data_prep.pretraining.workers import WorkerError
    from data_prep.text.corpus import expand_inputs

    if _NUM_WORKERS.value < 1:
        raise InputError(f"--num_workers={_NUM_WORKERS.value} is below 1: give 1 or more")
    if _BEAM_OPTIONS.value:
        raise InputError("--beam_pipeline_options: these are for --runner=beam; give it as well")
    try:
        return prepare(
            _settings(expand_inputs(_INPUT_FILE.value)),
            _OUTPUT_DIR.value,
            num_workers=_NUM_WORKERS.value,
            overwrite=_OVERWRITE.value,
            resume=_RESUME.value,
        )
    except WorkerError as error:
        sys.exit(f"error: {error}. What is finished is kept: run the command again with --resume")


def _prepare_on_beam() -> Manifest:
    if _NUM_WORKERS.value != 1 or _RESUME.value:
        raise InputError(
            "--num_workers and --resume are for --runner=local: Beam's workers are set by "
            "--beam_pipeline_options, and its runner tries again by itself"
        )
    try:
        from data_prep.pretraining import beam_files, beam_pipeline
    except ImportError as error:
        raise InputError(
            f"--runner=beam needs Apache Beam ({error}): pip install 'official-bert[beam]'"
        ) from error
    return beam_pipeline.prepare(
        _settings(beam_files.expand_inputs(_INPUT_FILE.value)),
        _OUTPUT_DIR.value,
        options=[f"--{option.lstrip('-')}" for option in _BEAM_OPTIONS.value],
        overwrite=_OVERWRITE.value,
    )


def _settings(inputs: list[str]) -> PretrainingSettings:
    from data_prep.pretraining.instances import InstanceRule
    from data_prep.pretraining.records import RecordRule
    from data_prep.pretraining.settings import PretrainingSettings
    from official_bert.text.masking import MaskingRule
    from official_bert.text.tokenizer_config import load_beside

    _, tokenizer = load_beside(_VOCAB_FILE.value, _DO_LOWER_CASE.value)
    short = _SHORT_SEQ_PROB.value
    if short is None:
        short = 0.1 if _OBJECTIVE.value == "bert" else 0.0
    masking = MaskingRule(
        masked_lm_prob=_MASKED_LM_PROB.value,
        max_predictions_per_seq=_MAX_PREDICTIONS.value,
        whole_word=_WHOLE_WORD.value,
        max_ngram_size=1 if _MAX_NGRAM_SIZE.value is None else _MAX_NGRAM_SIZE.value,
        mask_prob=_MASK_PROB.value,
        random_prob=_RANDOM_PROB.value,
        keep_prob=_KEEP_PROB.value,
        random_token_pool=_POOL.value,
    )
    records = RecordRule(
        InstanceRule(_MAX_SEQ_LENGTH.value, short, _OBJECTIVE.value),
        masking,
        masks="none" if _OBJECTIVE.value == "ltr" else _MASKING.value,
        pad=_PAD.value,
        v2_names=_V2_NAMES.value,
        pack=_PACK.value,
    )
    return PretrainingSettings(
        inputs=tuple(inputs),
        vocab_file=_VOCAB_FILE.value,
        lower_case=tokenizer.lower_case,
        records=records,
        dupe_factor=_DUPE_FACTOR.value,
        seed=_RANDOM_SEED.value,
        split=_SPLIT.value,
        dev_fraction=_DEV_FRACTION.value,
        num_shards=_NUM_SHARDS.value,
        gzip=_GZIP.value,
        word_segmenter=_WORD_SEGMENTER.value or "",
    )


if __name__ == "__main__":
    cli.run(main)
