"""Question answering: the start and the end of the answer (Devlin et al. 2019, 4.2 and 4.3).

B windows of a batch, S sequence, K candidates of a window.
"""

from __future__ import annotations

import json
import pathlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras

from official_bert.atomic import atomic_file
from official_bert.data.manifest import Manifest
from official_bert.decoding.null_threshold import mean_null_threshold
from official_bert.decoding.question_answers import Ranking, Window, rank_examples
from official_bert.decoding.span_search import ContextTokens, SpanRule, window_answers
from official_bert.errors import InputError
from official_bert.evaluation import squad
from official_bert.experiment import ExperimentConfig
from official_bert.models.span_ensemble import SpanEnsemble
from official_bert.models.span_labeler import BertSpanLabeler, SpanLogits
from official_bert.tasks.base import Tensors, record_weights
from official_bert.tasks.examples import Examples
from official_bert.tasks.fine_tuning import FineTuningTask
from official_bert.text.vocab import Vocab
from official_bert.training.evaluator import Collected

PREDICTIONS_NAME = "predictions.json"
NBEST_NAME = "nbest_predictions.json"
NULL_ODDS_NAME = "null_odds.json"

# A logit that leaves nothing of a probability; -inf would make the loss of it NaN.
_NEVER = -1e9


class QuestionAnsweringTask(FineTuningTask):
    """The span of a context that answers a question; see `Task`.

    Args:
        manifest: of the prepared data.
        vocab: of the prepared data.
        experiment: the run's config.
    """

    head = "span_labeler"
    record_kind = "question_answering"
    best_metric = "f1"
    prediction_files = (PREDICTIONS_NAME, NBEST_NAME, NULL_ODDS_NAME)
    can_ensemble = True

    def __init__(self, manifest: Manifest, vocab: Vocab, experiment: ExperimentConfig):
        super().__init__(manifest, vocab, experiment)
        self._rule = SpanRule(
            version_2_with_negative=manifest.option("version_2_with_negative", bool, False)
        )
        self._null_threshold: float | None = None
        self.metrics = ("loss", "exact_match", "f1")
        if self._rule.version_2_with_negative:
            self.metrics += tuple(
                f"{part}_{score}"
                for part in ("HasAns", "NoAns", "best")
                for score in ("exact", "f1")
            )

    def use_results(self, results: Sequence[Mapping[str, Any]]) -> None:
        """Takes the null threshold that earlier evaluations chose: their mean, if they did."""
        self._null_threshold = mean_null_threshold(results)

    def ensemble(self, models: Sequence[tf_keras.Model]) -> tf_keras.Model:
        """One model that gives the mean logits of several.

        Raises:
            InputError: one of them is another kind of model.
        """
        for model in models:
            if not isinstance(model, BertSpanLabeler):
                raise InputError(f"a {model.name} cannot be one of an ensemble of span labelers")
        return SpanEnsemble(models)

    def weights(self, batch: Tensors) -> dict[str, tf.Tensor]:
        """The number of windows; nothing where the records have no answers."""
        if "start_positions" not in batch:
            return {}
        return {"loss": tf.reduce_sum(record_weights(batch))}

    def sums(self, outputs: SpanLogits, batch: Tensors) -> dict[str, tf.Tensor]:
        """Minus the mean of the log-likelihoods of start and end, over [CLS] and the context."""
        if "start_positions" not in batch:
            return {}
        # Records of google-research/bert have no paragraph_mask.
        allowed = batch.get("paragraph_mask", batch["input_mask"]) != 0  # [B, S]
        losses = [
            tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=batch[f"{name}_positions"][:, 0],
                logits=tf.where(allowed, getattr(outputs, f"{name}_logits"), _NEVER),
            )
            for name in ("start", "end")
        ]
        return {"loss": 0.5 * tf.reduce_sum(tf.add_n(losses) * record_weights(batch))}

    def collect(self, outputs: SpanLogits, batch: Tensors) -> dict[str, tf.Tensor]:
        """What `question_answers.rank_examples` needs of each window.

        Raises:
            InputError: these are another program's records, for training alone.
        """
        if "token_starts" not in batch or "example_index" not in batch:
            raise InputError(
                "these records do not say where their tokens stand in the context: prepare the "
                "file with data_prep.create_finetuning_data to evaluate or predict"
            )
        token_starts = batch["token_starts"]  # [B, S]; -1 outside the context, 0 in padding
        in_context = (batch["paragraph_mask"] != 0) & (token_starts >= 0)
        tokens = ContextTokens(
            starts=tf.where(in_context, token_starts, -1),
            ends=batch["token_limits"],
            is_max_context=batch["max_context_mask"] != 0,
        )
        return {
            "unique_id": batch["unique_ids"][:, 0],
            "example_index": batch["example_index"][:, 0],
            **window_answers(outputs._asdict(), tokens, self._rule)._asdict(),
        }

    def results(
        self,
        values: Mapping[str, float],
        collected: Collected,
        examples: Examples,
    ) -> dict[str, float]:
        """The official metrics, in percent.

        For SQuAD 2.0 they are those with `null_threshold`: the one of `use_results`, or else the
        one that is best here; `best_f1_thresh` is that one always.

        Args:
            values: of `sums`.
            collected: from `collect`, of every window.
            examples: the questions.
        """
        golds: dict[str, list[str]] = {}
        rankings: dict[str, Ranking] = {}
        for row, ranking in self._rankings(collected, examples):
            # A question that has no gold answer and does not say so cannot be scored.
            if row["answers"] or row["is_impossible"]:
                golds[row["id"]] = [answer["text"] for answer in row["answers"]]
                rankings[row["id"]] = ranking
        if not golds:
            return dict(values)
        if not self._rule.version_2_with_negative:
            return {**values, **squad.evaluate_v1(golds, self._predictions(rankings, 0.0))}
        return {**values, **self._v2_results(golds, rankings)}

    def write_predictions(
        self,
        collected: Collected,
        examples: Examples,
        output_dir: pathlib.Path,
    ) -> list[pathlib.Path]:
        """Writes the files of run_squad.py; null_odds.json only for SQuAD 2.0.

        The null threshold is that of `use_results`, or 0.

        Returns:
            the paths.
        """
        rankings = {row["id"]: ranking for row, ranking in self._rankings(collected, examples)}
        files: dict[str, Any] = {
            PREDICTIONS_NAME: self._predictions(rankings, self._null_threshold or 0.0),
            NBEST_NAME: {question: _nbest(ranking) for question, ranking in rankings.items()},
        }
        if self._rule.version_2_with_negative:
            files[NULL_ODDS_NAME] = {q: ranking.null_odds for q, ranking in rankings.items()}
        for name, content in files.items():
            with atomic_file(output_dir / name) as file:
                file.write(json.dumps(content, indent=4) + "\n")
        return [output_dir / name for name in files]

    def _rankings(
        self, collected: Collected, examples: Examples
    ) -> Iterator[tuple[Mapping[str, Any], Ranking]]:
        """Each question that has windows, in order of the file."""
        windows: dict[int, list[Window]] = defaultdict(list)
        for window in sorted(collected, key=lambda window: int(window["unique_id"])):
            windows[int(window["example_index"])].append(window)
        with_windows = (
            (row, windows[index]) for index, row in enumerate(examples()) if index in windows
        )
        yield from rank_examples(with_windows, self._rule)

    def _predictions(
        self, rankings: Mapping[str, Ranking], null_threshold: float
    ) -> dict[str, str]:
        return {
            question: ranking.prediction(self._rule, null_threshold)
            for question, ranking in rankings.items()
        }

    def _v2_results(
        self, golds: Mapping[str, list[str]], rankings: Mapping[str, Ranking]
    ) -> dict[str, float]:
        answers = self._predictions(rankings, np.inf)
        odds = {question: ranking.null_odds for question, ranking in rankings.items()}
        threshold = self._null_threshold
        if threshold is None:
            threshold = squad.choose_null_threshold(golds, answers, odds)
        with_threshold = squad.evaluate_v2(golds, self._predictions(rankings, threshold))
        names = {"exact": "exact_match"}
        return {
            **{
                names.get(name, name): value
                for name, value in with_threshold.items()
                if not name.startswith("best_")
            },
            **{
                name: value
                for name, value in squad.evaluate_v2(golds, answers, odds).items()
                if name.startswith("best_")
            },
            "null_threshold": threshold,
        }


def _nbest(ranking: Ranking) -> list[dict[str, Any]]:
    return [
        {
            "text": candidate.text,
            "probability": candidate.probability,
            "start_logit": candidate.start_logit,
            "end_logit": candidate.end_logit,
        }
        for candidate in ranking.candidates
    ]
