"""The answer to a question in a context of any length (Devlin et al. 2019, sections 4.2 and 4.3).

B rows, W windows of all rows, S sequence, K candidates of a window, C candidates of a row, N given.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from official_bert.decoding.span_ranking import ContextTokens, char_places, rank_spans
from official_bert.decoding.span_search import SpanRule, best_spans
from official_bert.inference.base import (
    AnswerModule,
    AnswerOptions,
    AnswerSource,
    Tensors,
    text_spec,
)
from official_bert.text.windows import WindowRule, cut_windows

# Windows that go through the model at a time: memory stays bounded however long a context is.
_WINDOWS_AT_ONCE = 32
_NEVER = float("-inf")


class _Found(NamedTuple):
    """The best spans of windows.

    Attributes:
        starts, ends: int64 [W, K], first and last token of the context; -1 where there are fewer.
        scores: float32 [W, K]; -inf there.
        null_scores: float32 [W], of no answer.
    """

    starts: tf.Tensor
    ends: tf.Tensor
    scores: tf.Tensor
    null_scores: tf.Tensor


class QuestionAnswering(AnswerModule):
    """`question`, `context` -> the span of the context that answers, found window by window.

        "What do you see from there?", "From the tower you see the river."
            -> answer "the river", answer_start 23, answer_end 32, score 0.94

    Outputs, for each row: `answer` string, `answer_start` and `answer_end` int32 (characters of the
    context, the end exclusive), `score` float32; `nbest_answer`, `nbest_start`, `nbest_end`,
    `nbest_score` [B, N], best first, no text twice, filled up with "", -1, -1 and 0;
    `no_answer_probability` float32. Scores are probabilities among the 20 best answers, with "no
    answer" as one of them where the model was trained with it (SQuAD 2.0). Where that one's odds
    are above the threshold that was chosen in training, and where the context has no token, the
    answer is "", its places are -1 and its score is `no_answer_probability`.

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
        told = options.task_options
        length = options.pad_to or options.max_seq_length
        query = told.get("max_query_length", WindowRule.max_query_length)
        self._windows = WindowRule(
            max_seq_length=length,
            doc_stride=told.get("doc_stride", WindowRule.doc_stride),
            # A model that takes short rows only: half of one for the question.
            max_query_length=max(1, min(query, length // 2 - 2)),
        )
        self._spans = SpanRule(
            n_best_size=max(SpanRule.n_best_size, options.candidates),
            version_2_with_negative=bool(told.get("version_2_with_negative", False)),
        )
        self._null_threshold = float(told.get("null_threshold", 0.0))

    @property
    def text_inputs(self) -> dict[str, tf.TensorSpec]:
        return {name: text_spec(name) for name in ("question", "context")}

    def encode(self, texts: Tensors) -> tuple[dict[str, tf.Tensor], dict[str, Any]]:
        """Strings -> the windows of all rows, int32 [W, S] each, and where their tokens stand."""
        ids, starts, limits = self._tokenizer.tokenize_with_offsets(texts["context"])
        questions = self._tokenizer.tokenize(texts["question"])
        windows = cut_windows(
            questions, ids, self._vocab, self._windows, pad_to=self._options.pad_to
        )
        return windows.inputs, {
            "contexts": texts["context"],
            "rows": windows.rows,
            "context_tokens": windows.context_tokens,
            "is_max_context": windows.is_max_context,
            "token_starts": starts,
            "token_limits": limits,
        }

    def logits(self, inputs: Tensors) -> dict[str, tf.Tensor]:
        """-> `start_logits` and `end_logits`, float32 [W, S]."""
        return self._model(dict(inputs), training=False)._asdict()

    def answer(self, texts: Tensors) -> dict[str, tf.Tensor]:
        """As `decode`, which has the logits of all windows in memory."""
        inputs, context = self.encode(texts)
        return self._answers(self._found_in_blocks(inputs, context), context)

    def decode(self, logits: Tensors, context: Mapping[str, Any]) -> dict[str, tf.Tensor]:
        return self._answers(self._found(logits, context, slice(None)), context)

    @classmethod
    def tidy(cls, answer: Mapping[str, Any], candidates: int) -> dict[str, Any]:
        given = sum(start >= 0 for start in answer["nbest_start"][:candidates])
        return {
            name: value[:given] if name.startswith("nbest_") else value
            for name, value in answer.items()
        }

    @classmethod
    def readable(cls, texts: Sequence[str], answer: Mapping[str, Any]) -> list[str]:
        lines = [texts[0]]
        if answer["answer_start"] < 0:
            lines.append(f"  {answer['score']:.4f}  (no answer)")
        else:
            place = f"characters {answer['answer_start']}-{answer['answer_end']}"
            lines.append(f"  {answer['score']:.4f}  {answer['answer']}  ({place})")
        nbest = zip(
            answer["nbest_answer"],
            answer["nbest_start"],
            answer["nbest_end"],
            answer["nbest_score"],
            strict=True,
        )
        further = [
            f"    {score:.4f}  {text}  ({start}-{end})"
            for text, start, end, score in nbest
            if (start, end) != (answer["answer_start"], answer["answer_end"])
        ]
        return [*lines, *further]

    def _sample_texts(self) -> list[str]:
        texts = super()._sample_texts()
        # Text that repeats itself has windows that are the same: which is best would mean nothing.
        words = random.Random(0).choices(" ".join(texts[4:]).split(), k=5000)
        return [texts[0], " ".join(words), *texts[2:]]

    def _found(self, logits: Tensors, context: Mapping[str, Any], block: slice) -> _Found:
        """The best spans of a block of windows."""
        tokens = context["context_tokens"][block]  # [W, S]
        spans = best_spans(logits, tokens >= 0, context["is_max_context"][block], self._spans)
        return _Found(
            starts=_at(tokens, spans.starts),
            ends=_at(tokens, spans.ends),
            scores=spans.start_logits + spans.end_logits,
            null_scores=logits["start_logits"][:, 0] + logits["end_logits"][:, 0],
        )

    def _found_in_blocks(self, inputs: Tensors, context: Mapping[str, Any]) -> _Found:
        """`_found` of all windows, a few of which go through the model at a time."""
        count = tf.shape(context["rows"])[0]
        # At least one: an empty TensorArray has nothing to concatenate.
        blocks = tf.maximum(1, (count + _WINDOWS_AT_ONCE - 1) // _WINDOWS_AT_ONCE)

        def of_block(number: tf.Tensor, *arrays: tf.TensorArray) -> tuple[Any, ...]:
            block = slice(number * _WINDOWS_AT_ONCE, (number + 1) * _WINDOWS_AT_ONCE)
            logits = self.logits({name: tensor[block] for name, tensor in inputs.items()})
            found = self._found(logits, context, block)
            written = (a.write(number, of) for a, of in zip(arrays, found, strict=True))
            return (number + 1, *written)

        def collected(dtype: tf.DType, *shape: int) -> tf.TensorArray:
            return tf.TensorArray(
                dtype, size=blocks, infer_shape=False, element_shape=[None, *shape]
            )

        candidates = self._spans.candidates
        _, *arrays = tf.while_loop(
            lambda number, *_: number < blocks,
            of_block,
            (
                0,
                collected(tf.int64, candidates),
                collected(tf.int64, candidates),
                collected(tf.float32, candidates),
                collected(tf.float32),
            ),
            parallel_iterations=1,
        )
        return _Found(*(array.concat() for array in arrays))

    def _answers(self, found: _Found, context: Mapping[str, Any]) -> dict[str, tf.Tensor]:
        """The best spans of all windows -> the answer to each row.

        In the graph what `tasks.question_answers.rank_answers` does in evaluation.
        """
        best = rank_spans(
            ContextTokens(context["contexts"], context["token_starts"], context["token_limits"]),
            context["rows"],
            (found.starts, found.ends, found.scores),
            self._spans.n_best_size,
        )
        scores = best.scores
        null_scores = tf.math.segment_min(found.null_scores, context["rows"])
        has_span = scores[:, 0] > _NEVER  # [B]
        if self._spans.version_2_with_negative:
            # No answer takes a place among the n best, or comes in addition.
            behind = scores[:, -1:] < null_scores[:, tf.newaxis]
            listed = tf.concat([scores[:, :-1], tf.where(behind, _NEVER, scores[:, -1:])], axis=1)
            null_entries = null_scores
            is_null = ~has_span | (null_scores - scores[:, 0] > self._null_threshold)
        else:
            listed = scores
            null_entries = tf.where(has_span, _NEVER, 0.0)
            is_null = ~has_span
        probabilities = tf.nn.softmax(tf.concat([listed, null_entries[:, tf.newaxis]], axis=1))
        no_answer_probability = probabilities[:, -1]
        given = self._options.candidates
        starts, ends = char_places(
            context["contexts"], best.begins[:, :given], best.limits[:, :given]
        )
        is_listed = listed[:, :given] > _NEVER
        nbest = {
            "nbest_answer": tf.where(is_listed, best.texts[:, :given], ""),
            "nbest_start": tf.where(is_listed, starts, -1),
            "nbest_end": tf.where(is_listed, ends, -1),
            "nbest_score": probabilities[:, :given],
        }
        return {
            "answer": tf.where(is_null, "", best.texts[:, 0]),
            "answer_start": tf.where(is_null, -1, starts[:, 0]),
            "answer_end": tf.where(is_null, -1, ends[:, 0]),
            "score": tf.where(is_null, no_answer_probability, probabilities[:, 0]),
            "no_answer_probability": no_answer_probability,
            **nbest,
        }


def _at(tokens: tf.Tensor, positions: tf.Tensor) -> tf.Tensor:
    """The tokens int64 [W, S] at positions int32 [W, K]; that of position 0 for -1."""
    return tf.gather(tokens, tf.maximum(positions, 0), batch_dims=1)
