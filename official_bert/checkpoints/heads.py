"""One row for each kind of model: what reading, writing, prediction and export know of its head.

A new kind of head is a class in models/, a row here, a class in inference/ that answers with it, a
task and a config. Classes are named, not imported: answers live above this table, and a command
lists them in its --help without TensorFlow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from official_bert.class_path import load_class
from official_bert.errors import InputError

if TYPE_CHECKING:
    import tf_keras

    from official_bert.config import BertConfig
    from official_bert.models.encoder import BertEncoder


@dataclasses.dataclass(frozen=True)
class Part:
    """Variables that a head adds to the encoder, with their names in other programs.

    A program without names for them has no such head, and its format is not written.

    Attributes:
        name: the first part of our names: "classifier" of "classifier/kernel".
        shapes: {"kernel": "HC"}, with the letters of `name_maps.SHAPES`, or numbers.
        huggingface: {"kernel": "classifier.weight"}; kernels are transposed there.
        google: names in google-research/bert.
        google_transposed: which of them hold [outputs, inputs] there.
        model_garden: names of the Model Garden's variables.
        model_garden_paths: attributes of its models, by which `tf.train.Checkpoint` finds them.
        model_garden_pooler: name of the pooler that a classification head has for itself there. It
            is the one that was trained: the encoder's `pooler_transform` beside it is untouched
            noise and is dropped.
    """

    name: str
    shapes: Mapping[str, str]
    huggingface: Mapping[str, str] = dataclasses.field(default_factory=dict)
    google: Mapping[str, str] = dataclasses.field(default_factory=dict)
    google_transposed: tuple[str, ...] = ()
    model_garden: Mapping[str, str] = dataclasses.field(default_factory=dict)
    model_garden_paths: Mapping[str, str] = dataclasses.field(default_factory=dict)
    model_garden_pooler: str = ""

    def is_in(self, names: Iterable[str]) -> bool:
        """Whether one of our names is of this part."""
        return any(name.startswith(f"{self.name}/") for name in names)


@dataclasses.dataclass(frozen=True)
class Head:
    """One kind of model.

    Attributes:
        kind: its name in `Pretrained.kind`; its class names itself `bert_` and the kind, by which
            our checkpoints tell models apart whose parts have the same names.
        model: "package.module:Class"; made with an encoder or the config of one.
        parts: the variables beside the encoder's.
        optional: name of a part that a checkpoint may lack -> argument of `model` that leaves it
            out.
        settings: further arguments of `model`, of "num_classes" and "dropout".
        pooled: whether it reads the pooled output.
        huggingface: names of the parts -> class of transformers that has these; the first one for
            the whole model.
        huggingface_pooler: whether that class keeps the encoder's pooler.
        answers: name of the answer -> "package.module:Class", the usual one first.
        ensemble: "package.module:Class", the mean of several of these models; "" where there is
            none.
    """

    kind: str
    model: str
    parts: tuple[Part, ...] = ()
    optional: Mapping[str, str] = dataclasses.field(default_factory=dict)
    settings: tuple[str, ...] = ()
    pooled: bool = False
    huggingface: Mapping[tuple[str, ...], str] = dataclasses.field(default_factory=dict)
    huggingface_pooler: bool = True
    answers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    ensemble: str = ""

    @property
    def has_classes(self) -> bool:
        """Whether somebody must say how many classes it has."""
        return "num_classes" in self.settings

    def build(
        self,
        encoder: BertConfig | BertEncoder,
        num_classes: int | None = None,
        dropout: float | None = None,
        parts: Collection[str] | None = None,
    ) -> tf_keras.Model:
        """A model of this kind; its head starts from random values.

        Args:
            encoder: an encoder, which becomes part of the model, or a config to make one.
            num_classes: where the head has classes.
            dropout: rate of the dropout before the head; None for the encoder's.
            parts: names of the parts that it is to have; None for all that the encoder allows.

        Raises:
            InputError: nobody says how many classes it has, or it needs a pooler that is not there.
        """
        from official_bert.models.encoder import BertEncoder

        if self.has_classes and num_classes is None:
            raise InputError(f"a {self.kind} needs num_classes, the number of its classes")
        model_class = load_class(self.model)
        if model_class is BertEncoder and isinstance(encoder, BertEncoder):
            return encoder
        given: dict[str, Any] = {"num_classes": num_classes, "dropout": dropout}
        arguments = {name: given[name] for name in self.settings}
        if parts is not None:
            arguments |= {argument: name in parts for name, argument in self.optional.items()}
        return model_class(encoder, **arguments)

    def parts_in(self, names: Collection[str]) -> tuple[Part, ...]:
        """The parts of a model with variables of these names; only optional ones may be missing."""
        return tuple(p for p in self.parts if p.name not in self.optional or p.is_in(names))

    def fits(self, names: Collection[str]) -> bool:
        """Whether there are variables of every part that is not optional."""
        needed = [part for part in self.parts if part.name not in self.optional]
        return bool(needed) and all(part.is_in(names) for part in needed)


_MASKED_LM = Part(
    name="masked_lm",
    shapes={
        "transform/kernel": "HE",
        "transform/bias": "E",
        "layer_norm/gamma": "E",
        "layer_norm/beta": "E",
        "output_bias": "V",
    },
    huggingface={
        "transform/kernel": "cls.predictions.transform.dense.weight",
        "transform/bias": "cls.predictions.transform.dense.bias",
        "layer_norm/gamma": "cls.predictions.transform.LayerNorm.weight",
        "layer_norm/beta": "cls.predictions.transform.LayerNorm.bias",
        "output_bias": "cls.predictions.bias",
    },
    google={
        "transform/kernel": "cls/predictions/transform/dense/kernel",
        "transform/bias": "cls/predictions/transform/dense/bias",
        "layer_norm/gamma": "cls/predictions/transform/LayerNorm/gamma",
        "layer_norm/beta": "cls/predictions/transform/LayerNorm/beta",
        "output_bias": "cls/predictions/output_bias",
    },
    model_garden={
        "transform/kernel": "cls/predictions/transform/dense/kernel",
        "transform/bias": "cls/predictions/transform/dense/bias",
        "layer_norm/gamma": "cls/predictions/transform/LayerNorm/gamma",
        "layer_norm/beta": "cls/predictions/transform/LayerNorm/beta",
        "output_bias": "cls/predictions/output_bias/bias",
    },
    model_garden_paths={
        "transform/kernel": "masked_lm/dense/kernel",
        "transform/bias": "masked_lm/dense/bias",
        "layer_norm/gamma": "masked_lm/layer_norm/gamma",
        "layer_norm/beta": "masked_lm/layer_norm/beta",
        "output_bias": "masked_lm/output_bias.Sbias",
    },
)
_NEXT_SENTENCE = Part(
    name="next_sentence",
    shapes={"kernel": "H2", "bias": "2"},
    huggingface={"kernel": "cls.seq_relationship.weight", "bias": "cls.seq_relationship.bias"},
    google={
        "kernel": "cls/seq_relationship/output_weights",
        "bias": "cls/seq_relationship/output_bias",
    },
    google_transposed=("kernel",),
    model_garden={"kernel": "next_sentence/logits/kernel", "bias": "next_sentence/logits/bias"},
    model_garden_paths={
        "kernel": "classification_heads/0/out_proj/kernel",
        "bias": "classification_heads/0/out_proj/bias",
    },
    model_garden_pooler="next_sentence/pooler_dense",
)
_CLASSIFIER = Part(
    name="classifier",
    shapes={"kernel": "HC", "bias": "C"},
    huggingface={"kernel": "classifier.weight", "bias": "classifier.bias"},
    google={"kernel": "output_weights", "bias": "output_bias"},
    google_transposed=("kernel",),
    model_garden={
        "kernel": "sentence_prediction/logits/kernel",
        "bias": "sentence_prediction/logits/bias",
    },
    model_garden_pooler="sentence_prediction/pooler_dense",
)
_SPAN = Part(
    name="span",
    shapes={"kernel": "H2", "bias": "2"},
    huggingface={"kernel": "qa_outputs.weight", "bias": "qa_outputs.bias"},
    google={"kernel": "cls/squad/output_weights", "bias": "cls/squad/output_bias"},
    google_transposed=("kernel",),
)

_EMBED = "official_bert.inference.embed:Embed"

# Where tensors fit several kinds and nobody says which it is, it is the first of them.
_ROWS = (
    Head(
        kind="encoder",
        model="official_bert.models.encoder:BertEncoder",
        huggingface={(): "BertModel"},
        answers={"embed": _EMBED},
    ),
    Head(
        kind="pretrainer",
        model="official_bert.models.pretrainer:BertPretrainer",
        parts=(_MASKED_LM, _NEXT_SENTENCE),
        optional={"next_sentence": "use_next_sentence"},
        huggingface={
            ("masked_lm", "next_sentence"): "BertForPreTraining",
            ("masked_lm",): "BertForMaskedLM",
        },
        answers={
            "fill_mask": "official_bert.inference.fill_mask:FillMask",
            "next_sentence": "official_bert.inference.next_sentence:NextSentence",
            "embed": _EMBED,
        },
    ),
    Head(
        kind="classifier",
        model="official_bert.models.classifier:BertClassifier",
        parts=(_CLASSIFIER,),
        settings=("num_classes", "dropout"),
        pooled=True,
        huggingface={("classifier",): "BertForSequenceClassification"},
        answers={
            "sentence_prediction": "official_bert.inference.sentence_prediction:SentencePrediction"
        },
    ),
    Head(
        kind="token_classifier",
        model="official_bert.models.token_classifier:BertTokenClassifier",
        parts=(_CLASSIFIER,),
        settings=("num_classes", "dropout"),
        huggingface={("classifier",): "BertForTokenClassification"},
        huggingface_pooler=False,
        answers={"tagging": "official_bert.inference.tagging:Tagging"},
    ),
    Head(
        kind="multiple_choice",
        model="official_bert.models.multiple_choice:BertMultipleChoice",
        # One score for a choice, however many there are.
        parts=(dataclasses.replace(_CLASSIFIER, shapes={"kernel": "H1", "bias": "1"}),),
        settings=("dropout",),
        pooled=True,
        huggingface={("classifier",): "BertForMultipleChoice"},
        answers={"multiple_choice": "official_bert.inference.multiple_choice:MultipleChoice"},
    ),
    Head(
        kind="span_labeler",
        model="official_bert.models.span_labeler:BertSpanLabeler",
        parts=(_SPAN,),
        huggingface={("span",): "BertForQuestionAnswering"},
        huggingface_pooler=False,
        answers={
            "question_answering": "official_bert.inference.question_answering:QuestionAnswering"
        },
        ensemble="official_bert.models.span_ensemble:SpanEnsemble",
    ),
)


def _distinct_parts() -> tuple[Part, ...]:
    """Every part once, as the first row that has it says."""
    parts: dict[str, Part] = {}
    for head in _ROWS:
        for part in head.parts:
            parts.setdefault(part.name, part)
    return tuple(parts.values())


HEADS: dict[str, Head] = {head.kind: head for head in _ROWS}
PARTS: tuple[Part, ...] = _distinct_parts()
# Name of an answer -> its class.
ANSWERS: dict[str, str] = {name: path for head in _ROWS for name, path in head.answers.items()}
# Class of transformers -> kind.
HUGGINGFACE_KINDS: dict[str, str] = {
    name: head.kind for head in reversed(_ROWS) for name in head.huggingface.values()
}
# Models that only a training run can open: what stands in their variables' names -> what they are.
ONLY_TRAINED = {
    "feature_tagger": (
        "a tagger on frozen features: official_bert.evaluate and official_bert.predict --split can "
        "use it, nothing else"
    )
}


def kind_of(names: Collection[str], stated: str | None = None) -> str:
    """The kind of model that variables of these names make.

    Args:
        names: our names.
        stated: the kind that the checkpoint states; None where it does not say.
    """
    fitting = [head.kind for head in _ROWS if head.fits(names)]
    if stated is not None and stated in fitting:
        return stated
    return fitting[0] if fitting else "encoder"
