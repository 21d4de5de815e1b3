"""The answer to a question in a context of any length (Devlin et al. 2019, sections 4.2 and 4.3).

B rows, W windows of all rows, S sequence, N answers listed for a row.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import tensorflow as tf

from official_bert.decoding.blocks import in_blocks
from official_bert.decoding.span_ranking import character_offsets, rank_answers
from official_bert.decoding.span_search import (
    ContextTokens,
    SpanRule,
    WindowAnswers,
    window_answers,
)
from official_bert.inference.base import (
    AnswerModule,
    AnswerOptions,
    AnswerSource,
    RowOutputs,
    Tensors,
    text_spec,
)
from official_bert.models.span_labeler import SpanLogits
from official_bert.text.windows import WindowRule, cut_windows

# Windows that go through the model at a time: memory stays bounded however long a context is.
WINDOWS_AT_ONCE = 32


class QuestionAnswering(AnswerModule):
    """`question`, `context` -> the span of the context that answers, found window by window.

        "What do you see from there?", "From the tower you see the river."
            -> answer "the river", answer_start 23, answer_end 32, score 0.94

    Outputs, for each row: `answer` string, `answer_start` and `answer_end` int32 (characters of the
    context, the end exclusive), `score` float32; `nbest_answer`, `nbest_start`, `nbest_end`,
    `nbest_score` [B, N], best first, no text twice, padded with "", -1, -1 and 0;
    `no_answer_probability` float32. Scores are probabilities among the 20 best answers, with "no
    answer" as one of them where the model was trained with it (SQuAD 2.0). Where that one's odds
    are above the threshold that was chosen in training, and where the context has no token, the
    answer is "", its offsets are -1 and its score is `no_answer_probability`.

    `task_options` may have doc_stride, max_query_length, version_2_with_negative and
    null_threshold; without them a model answers as one trained for SQuAD 1.1.
    """

    name = "question_answering"
    ranked = {
        "nbest_answer": "nbest_score",
        "nbest_start": "nbest_score",
        "nbest_end": "nbest_score",
    }

    def __init__(self, source: AnswerSource, options: AnswerOptions):
        super().__init__(source, options)
        task_options = options.task_options
        length = options.pad_to or options.max_seq_length
        query = task_options.get("max_query_length", WindowRule.max_query_length)
        self._windows = WindowRule(
            max_seq_length=length,
            doc_stride=task_options.get("doc_stride", WindowRule.doc_stride),
            # A model that takes short rows only: half of one for the question.
            max_query_length=max(1, min(query, length // 2 - 2)),
        )
        self._spans = SpanRule(
            n_best_size=max(SpanRule.n_best_size, options.candidates),
            version_2_with_negative=bool(task_options.get("version_2_with_negative", False)),
        )
        self._null_threshold = float(task_options.get("null_threshold", 0.0))

    @property
    def text_inputs(self) -> dict[str, tf.TensorSpec]:
        return {name: text_spec(name) for name in ("question", "context")}

    def encode(self, texts: Tensors) -> tuple[dict[str, tf.Tensor], Tensors]:
        """Strings -> the windows of all rows, int32 [W, S] each, and where their tokens are."""
        ids, starts, ends = self._tokenizer.tokenize_with_offsets(texts["context"])
        questions = self._tokenizer.tokenize(texts["question"])
        windows = cut_windows(
            questions, ids, self._vocab, self._windows, pad_to=self._options.pad_to
        )
        return windows.inputs, {
            "contexts": texts["context"],
            "rows": windows.rows,
            "token_starts": windows.of_context(starts),
            "token_ends": windows.of_context(ends),
            "is_max_context": windows.is_max_context,
        }

    def logits(self, inputs: Tensors) -> dict[str, tf.Tensor]:
        """-> `start_logits` and `end_logits`, float32 [W, S]."""
        outputs: SpanLogits = self.model(dict(inputs), training=False)
        return outputs._asdict()

    def answer(self, texts: Tensors) -> dict[str, tf.Tensor]:
        """As `decode`, which has the logits of all windows in memory."""
        inputs, context = self.encode(texts)

        def found(block: tuple[Tensors, ContextTokens]) -> WindowAnswers:
            block_inputs, tokens = block
            return window_answers(self.logits(block_inputs), tokens, self._spans)

        rows, signature = (inputs, _tokens(context)), WindowAnswers.signature(self._spans)
        return self._answers(in_blocks(found, rows, WINDOWS_AT_ONCE, signature), context)

    def decode(self, logits: Tensors, context: Tensors) -> dict[str, tf.Tensor]:
        return self._answers(window_answers(logits, _tokens(context), self._spans), context)

    @classmethod
    def tidy(cls, outputs: RowOutputs, candidates: int) -> RowOutputs:
        given = sum(start >= 0 for start in outputs["nbest_start"][:candidates])
        return {
            name: value[:given] if name.startswith("nbest_") else value
            for name, value in outputs.items()
        }

    @classmethod
    def readable(cls, texts: Sequence[str], outputs: RowOutputs) -> list[str]:
        lines = [texts[0]]
        if outputs["answer_start"] < 0:
            lines.append(f"  {outputs['score']:.4f}  (no answer)")
        else:
            span = f"characters {outputs['answer_start']}-{outputs['answer_end']}"
            lines.append(f"  {outputs['score']:.4f}  {outputs['answer']}  ({span})")
        nbest = zip(
            outputs["nbest_answer"],
            outputs["nbest_start"],
            outputs["nbest_end"],
            outputs["nbest_score"],
            strict=True,
        )
        further = [
            f"    {score:.4f}  {text}  ({start}-{end})"
            for text, start, end, score in nbest
            if (start, end) != (outputs["answer_start"], outputs["answer_end"])
        ]
        return [*lines, *further]

    def _sample_texts(self) -> list[str]:
        texts = super()._sample_texts()
        # Text that repeats itself has windows that are the same: which is best would mean nothing.
        words = random.Random(0).choices(" ".join(texts[4:]).split(), k=5000)
        return [texts[0], " ".join(words), *texts[2:]]

    def _answers(self, found: WindowAnswers, context: Tensors) -> dict[str, tf.Tensor]:
        """The candidates of all windows -> the answer to each row."""
        contexts = context["contexts"]
        ranked = rank_answers(contexts, context["rows"], found, self._spans)
        is_null = ranked.is_null(self._spans, self._null_threshold)  # [B]
        probabilities = tf.cast(ranked.probabilities, tf.float32)
        null_probabilities = tf.cast(ranked.null_probabilities, tf.float32)
        given = self._options.candidates
        starts, ends = character_offsets(contexts, ranked.starts[:, :given], ranked.ends[:, :given])
        is_listed = ranked.is_listed[:, :given]
        return {
            "answer": tf.where(is_null, "", ranked.texts[:, 0]),
            "answer_start": tf.where(is_null, -1, starts[:, 0]),
            "answer_end": tf.where(is_null, -1, ends[:, 0]),
            "score": tf.where(is_null, null_probabilities, probabilities[:, 0]),
            "no_answer_probability": null_probabilities,
            "nbest_answer": tf.where(is_listed, ranked.texts[:, :given], ""),
            "nbest_start": tf.where(is_listed, starts, -1),
            "nbest_end": tf.where(is_listed, ends, -1),
            "nbest_score": probabilities[:, :given],
        }


def _tokens(context: Tensors) -> ContextTokens:
    return ContextTokens(
        *(context[name] for name in ("token_starts", "token_ends", "is_max_context"))
    )
