"""Tagging with a BiLSTM on the features of a frozen encoder (Devlin et al. 2019, section 5.3)."""

from __future__ import annotations

import tf_keras

from official_bert.checkpoints.load import Pretrained
from official_bert.config import BertConfig
from official_bert.data.manifest import Manifest
from official_bert.errors import InputError
from official_bert.experiment import ExperimentConfig
from official_bert.models.feature_tagger import BertFeatureTagger
from official_bert.tasks.tagging import TaggingTask
from official_bert.text.vocab import Vocab


class FeatureTaggingTask(TaggingTask):
    """As `TaggingTask`, with another model.

    Args:
        manifest, vocab: of the prepared data.
        experiment: the run; `model.feature_tagger` and `model.pretrained` are read.

    Raises:
        InputError: there is no checkpoint, whose features these would be; or a BiLSTM is to be put
            on it, as if this task had none.
    """

    # An LSTM reads on from one record of a row into the next.
    batching = "bucketed"
    can_pack = False

    def __init__(self, manifest: Manifest, vocab: Vocab, experiment: ExperimentConfig):
        super().__init__(manifest, vocab, experiment)
        self._settings = experiment.model.feature_tagger
        if not experiment.model.pretrained:
            raise InputError("model.pretrained is not set: features are those of a checkpoint")
        if experiment.model.add_bilstm:
            raise InputError(
                "model.add_bilstm: the tagger on features has a BiLSTM of its own, see "
                "model.feature_tagger"
            )

    def make_model(self, config: BertConfig, pretrained: Pretrained | None) -> tf_keras.Model:
        return BertFeatureTagger(
            config if pretrained is None else pretrained.encoder,
            len(self._labels),
            features=self._settings.features,
            lstm_size=self._settings.lstm_size,
            lstm_layers=self._settings.lstm_layers,
        )
