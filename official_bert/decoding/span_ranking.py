"""The best answers to each question over all of its windows, as run_squad.py ranks them.

One ranking, in TensorFlow ops: serving has it in its graph, and evaluation calls it by way of
`decoding.question_answers`.

B questions, W windows of all of them, K candidates of a window, n = n_best_size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from official_bert.decoding.span_search import SpanRule, WindowAnswers
from official_bert.text.offsets import count_chars

_NEVER = float("-inf")


class RankedAnswers(NamedTuple):
    """The best answers to each question, best first, none with a text that a better one has.

    Attributes:
        texts: string [B, n]; "" where there are fewer.
        starts, ends: int64 [B, n], bytes [start, end) of the context; 0 where there are fewer.
        start_logits, end_logits: float32 [B, n]; -inf where there are fewer.
        is_listed: bool [B, n], whether the answer is one of the n best. In SQuAD 2.0 "no answer"
            takes the last rank where it is better; otherwise it is listed in addition.
        probabilities: float64 [B, n], the softmax of the scores of all that is listed; else 0.
        null_start_logits, null_end_logits: float32 [B], of "no answer": the least over the windows.
        null_probabilities: float64 [B], of "no answer"; 0 where it is not listed. It is listed in
            SQuAD 2.0 and where the context has no token.
        null_odds: float64 [B], how much better "no answer" is than the best answer: a difference
            of scores, not a probability.
    """

    texts: tf.Tensor
    starts: tf.Tensor
    ends: tf.Tensor
    start_logits: tf.Tensor
    end_logits: tf.Tensor
    is_listed: tf.Tensor
    probabilities: tf.Tensor
    null_start_logits: tf.Tensor
    null_end_logits: tf.Tensor
    null_probabilities: tf.Tensor
    null_odds: tf.Tensor

    def is_null(self, rule: SpanRule, null_threshold: float) -> tf.Tensor:
        """Whether the prediction is "no answer", bool [B]."""
        has_none = self.start_logits[:, 0] == _NEVER
        return has_none | ((self.null_odds > null_threshold) & rule.version_2_with_negative)


def rank_answers(
    contexts: tf.Tensor, questions: tf.Tensor, found: WindowAnswers, rule: SpanRule
) -> RankedAnswers:
    """Ranks what was found in the windows of each question.

    Args:
        contexts: string [B].
        questions: int64 [W], the question of each window, ascending; each question has a window.
        found: the candidates of the windows.
        rule: which spans may be an answer.
    """
    size = tf.size(contexts, tf.int64)
    scores = tf.convert_to_tensor(found.start_logits) + found.end_logits  # [W, K]
    indices = _best_by_question(scores, questions, size)  # [B, K]

    def of_best(values: tf.Tensor, filler: str | int | float) -> tf.Tensor:
        # One more, so that there is something to gather where there is no window.
        flat = tf.pad(tf.reshape(values, [-1]), [[0, 1]])
        return tf.where(indices < 0, filler, tf.gather(flat, tf.maximum(indices, 0)))  # [B, K]

    best = of_best(scores, _NEVER)
    is_span = best > _NEVER
    starts, ends = (
        tf.cast(tf.where(is_span, of_best(offsets, 0), 0), tf.int64)
        for offsets in (found.starts, found.ends)
    )
    # One call a column: with [B, K] offsets the op would copy each context K times.
    texts = tf.stack(
        [
            tf.strings.substr(contexts, starts[:, i], ends[:, i] - starts[:, i])
            for i in range(scores.shape[1])
        ],
        axis=1,
    )
    distinct, columns = tf.math.top_k(
        tf.where(_has_text_of_earlier(texts), _NEVER, best), rule.n_best_size
    )  # [B, n]
    is_kept = distinct > _NEVER

    def of_kept(values: tf.Tensor, filler: str | int | float) -> tf.Tensor:
        return tf.where(is_kept, tf.gather(values, columns, batch_dims=1), filler)

    start_logits = of_kept(of_best(found.start_logits, _NEVER), _NEVER)
    end_logits = of_kept(of_best(found.end_logits, _NEVER), _NEVER)
    answer_scores = _score(start_logits, end_logits)  # [B, n]

    null_scores = _score(found.null_start_logits, found.null_end_logits)  # [W]
    least = _best_by_question(-null_scores[:, tf.newaxis], questions, size)[:, 0]  # [B]
    null_scores = tf.gather(null_scores, least)  # [B]
    has_answer = is_kept[:, 0]
    if rule.version_2_with_negative:
        is_last = tf.range(rule.n_best_size) == rule.n_best_size - 1
        is_listed = is_kept & ~(is_last & (answer_scores < null_scores[:, tf.newaxis]))
        listed_null = null_scores
    else:
        is_listed = is_kept
        listed_null = tf.where(has_answer, tf.constant(_NEVER, tf.float64), 0.0)
    listed = tf.where(is_listed, answer_scores, _NEVER)
    probabilities = tf.nn.softmax(tf.concat([listed, listed_null[:, tf.newaxis]], axis=1))
    return RankedAnswers(
        texts=of_kept(texts, ""),
        starts=of_kept(starts, 0),
        ends=of_kept(ends, 0),
        start_logits=start_logits,
        end_logits=end_logits,
        is_listed=is_listed,
        probabilities=probabilities[:, :-1],
        null_start_logits=tf.gather(found.null_start_logits, least),
        null_end_logits=tf.gather(found.null_end_logits, least),
        null_probabilities=probabilities[:, -1],
        null_odds=null_scores - tf.where(has_answer, answer_scores[:, 0], 0.0),
    )


def character_offsets(
    texts: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Bytes [start, end) of texts string [B] as characters: int64 [B, n] -> int32 [B, n] each.

    character_offsets(["né à"], [[0, 4]], [[3, 6]])  # [[0, 3]], [[2, 4]]
    """
    shape = tf.shape(starts, tf.int64)
    rows = tf.repeat(tf.range(shape[0]), shape[1])
    starts, ends = tf.reshape(starts, [-1]), tf.reshape(ends, [-1])
    first = count_chars(texts, rows, tf.zeros_like(starts), starts)
    behind = first + count_chars(texts, rows, starts, ends)
    return tf.reshape(first, shape), tf.reshape(behind, shape)


def _score(start_logits: tf.Tensor, end_logits: tf.Tensor) -> tf.Tensor:
    """The score of spans; float64, so that the sum of two float32 is exact."""
    return tf.cast(start_logits, tf.float64) + tf.cast(end_logits, tf.float64)


def _best_by_question(scores: tf.Tensor, questions: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """Indices into the flat scores [W * K] of each question's K best, best first; int64 [B, K].

    -1 where a question has fewer. Nothing is padded to the question with the most
    windows: a batch may have one long context and many short ones.
    """
    candidates = scores.shape[1]
    flat = tf.reshape(scores, [-1])
    by_score = tf.argsort(flat, direction="DESCENDING", stable=True)
    question_of = tf.gather(tf.repeat(questions, candidates), by_score)
    by_question = tf.argsort(question_of, stable=True)
    ragged = tf.RaggedTensor.from_value_rowids(
        tf.cast(tf.gather(by_score, by_question), tf.int64),
        tf.gather(question_of, by_question),
        size,
        validate=False,
    )
    return ragged[:, :candidates].to_tensor(-1, shape=[None, candidates])


def _has_text_of_earlier(texts: tf.Tensor) -> tf.Tensor:
    """Whether a text is that of a column before it; string [B, K] -> bool [B, K]."""
    codes = tf.strings.to_hash_bucket_fast(texts, tf.int64.max)
    same = codes[:, :, tf.newaxis] == codes[:, tf.newaxis]  # [B, K, K]
    return tf.reduce_any(same & np.tri(texts.shape[1], k=-1, dtype=bool), axis=2)
