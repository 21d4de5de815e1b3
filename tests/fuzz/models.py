"""Checkpoints, model folders and exports."""

from __future__ import annotations

import contextlib
import functools
import json
import pathlib
from collections.abc import Callable

from tests.fuzz import texts
from tests.fuzz.kind import Kind, command

_TEXT = "the capital of [MASK]\n"


def _checkpoint(output_format: str) -> Kind:
    def make(folder: pathlib.Path) -> None:
        from official_bert import BertClassifier
        from official_bert.checkpoints.write import write_pretrained
        from tests.checkpoints.bundles import bundle_of
        from tests.small_models import TINY

        bundle = bundle_of(BertClassifier(TINY, 3), "classifier", ("a", "b", "c"))
        write_pretrained(bundle, folder, output_format)

    return Kind(make, _load)


def _load(folder: pathlib.Path) -> None:
    from official_bert import load_pretrained

    load_pretrained(folder)


def _torch(folder: pathlib.Path) -> None:
    """The weights of the safetensors file as `torch.save` writes them."""
    from safetensors.numpy import load_file

    from tests.checkpoints import bad_torch_files as torch_files

    _checkpoint("huggingface").make(folder)
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    items, storages = [], {}
    for number, (name, array) in enumerate(tensors.items()):
        strides = [stride // array.itemsize for stride in array.strides]
        storage = torch_files.storage(torch_files.text(str(number)), count=array.size)
        items += [
            torch_files.text(name),
            torch_files.tensor(
                storage,
                shape=torch_files.sizes(*array.shape),
                strides=torch_files.sizes(*strides),
            ),
        ]
        storages[str(number)] = array.tobytes()
    torch_files.write_zip(folder / "pytorch_model.bin", torch_files.state(*items), storages)


def _sharded(folder: pathlib.Path) -> None:
    """The weights of the safetensors file in two files."""
    from safetensors.numpy import load_file, save_file

    _checkpoint("huggingface").make(folder)
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    weight_map = {}
    for number, chosen in enumerate((names[::2], names[1::2]), start=1):
        file = f"model-0000{number}-of-00002.safetensors"
        save_file({name: tensors[name] for name in chosen}, folder / file)
        weight_map.update(dict.fromkeys(chosen, file))
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def _model_folder(folder: pathlib.Path) -> None:
    from tests.small_models import tiny_bundle, write_model_folder

    write_model_folder(folder, tiny_bundle())


def _trained(folder: pathlib.Path) -> None:
    from official_bert.experiment import load_experiment
    from official_bert.runs.run import Run
    from tests.finetuning_data import opinions, prepare_table

    data = prepare_table(folder / "of_data", {"train": opinions(8), "dev": opinions(4)})
    experiment = load_experiment([], [f"data.path={data}", *_SETTINGS])
    Run(experiment, folder / "model").train(evaluate=True, skip_nonfinite=False)


_SETTINGS = [
    "task=sentence_prediction",
    "model.encoder.hidden_size=16",
    "model.encoder.num_hidden_layers=2",
    "model.encoder.num_attention_heads=2",
    "model.encoder.intermediate_size=32",
    "model.encoder.max_position_embeddings=16",
    "train.batch_size=4",
    "train.steps=2",
]


def _evaluate(folder: pathlib.Path) -> None:
    from official_bert.inference.load import open_model
    from official_bert.runs.run import Run

    open_model(folder / "model")
    data = str(folder / "of_data" / "data")
    Run.of_trained(folder / "model", data_path=data).evaluate()


def _export(folder: pathlib.Path) -> None:
    from export.saving import export_savedmodel

    _model_folder(folder / "from")
    export_savedmodel(folder / "from", folder / "export", candidates=3, model_name="tiny")


def _hub(folder: pathlib.Path) -> None:
    """As official.nlp exports an encoder."""
    import tensorflow as tf
    from official.legacy.bert import configs
    from official.nlp.tools import export_tfhub_lib

    from tests.checkpoints.bundles import VOCAB
    from tests.small_models import TINY

    config = configs.BertConfig(
        vocab_size=TINY.vocab_size,
        hidden_size=TINY.hidden_size,
        num_hidden_layers=TINY.num_hidden_layers,
        num_attention_heads=TINY.num_attention_heads,
        intermediate_size=TINY.intermediate_size,
        max_position_embeddings=TINY.max_position_embeddings,
    )
    encoder = export_tfhub_lib.get_bert_encoder(config)
    folder.mkdir()
    VOCAB.save(folder / "vocab.txt")
    export_tfhub_lib.export_model(
        str(folder / "hub"),
        bert_config=config,
        model_checkpoint_path=tf.train.Checkpoint(encoder=encoder).save(str(folder / "ckpt")),
        with_mlm=False,
        vocab_file=str(folder / "vocab.txt"),
        do_lower_case=True,
    )


def _load_hub(folder: pathlib.Path) -> None:
    _load(folder / "hub")


def _litert(folder: pathlib.Path) -> None:
    from export.litert_saving import export_litert
    from official_bert.models.classifier import BertClassifier
    from tests.small_models import bundle_of, tiny_config, write_model_folder

    bundle = bundle_of("classifier", BertClassifier(tiny_config(), 3))
    write_model_folder(folder / "from", bundle)
    export_litert(folder / "from", folder / "lite", precision="float32", lengths=[8])


def _predict(flag: str, part: str, folder: pathlib.Path) -> None:
    (folder / "input").write_text(_TEXT)
    command("official_bert.predict", f"{flag}={folder / part}", f"--input_file={folder}/input")


def _config(folder: pathlib.Path) -> None:
    folder.mkdir()
    (folder / "config.yaml").write_text(
        "task: sentence_prediction\n"
        "data: {path: x, train_split: train, shuffle_buffer: 16}\n"
        "model: {encoder: {hidden_size: 16, num_attention_heads: 2}}\n"
        "optimizer: {learning_rate: 0.001, warmup_proportion: 0.1}\n"
        "train: {batch_size: 4, steps: 2, seed: 1, class_weights: [1.0, 2.0]}\n"
        "evaluation: {batch_size: 8, every_steps: 1, best_metric: accuracy}\n"
        "runtime: {precision: float32}\n"
    )


def _read_config(folder: pathlib.Path) -> None:
    from official_bert.experiment import load_experiment

    load_experiment([folder / "config.yaml"])


def _grid(folder: pathlib.Path) -> None:
    folder.mkdir()
    (folder / "grid.yaml").write_text(
        "variants: {whole: {}, frozen: {model.frozen_layers: 3}}\n"
        "grid: {optimizer.learning_rate: [5.0e-5, 3.0e-5], train.batch_size: [4, 8]}\n"
        "seeds: [1, 2, 3]\n"
    )


def _read_grid(folder: pathlib.Path) -> None:
    from official_bert.ablation.grid import load_grid

    load_grid(folder / "grid.yaml")


def _override(folder: pathlib.Path) -> None:
    folder.mkdir()
    (folder / "override.txt").write_text(
        "train.batch_size=8,train.class_weights=[1.0, 2.0],model.pretrained='a,b'"
    )


def _read_override(folder: pathlib.Path) -> None:
    from official_bert.experiment import load_experiment

    # As the interpreter gives what is no UTF-8 on a command line.
    load_experiment([], [(folder / "override.txt").read_bytes().decode(errors="surrogateescape")])


def _prepared_pretraining(folder: pathlib.Path) -> None:
    from tests.prepared_data import write_pretraining_data

    write_pretraining_data(folder / "data", train=16, dev=8, shards=1)


def _prepared_sentences(folder: pathlib.Path) -> None:
    from tests.finetuning_data import opinions, prepare_table

    prepare_table(folder, {"train": opinions(8), "dev": opinions(4)})


def _prepared_from(raw: str, folder: pathlib.Path) -> None:
    """What `create_finetuning_data` writes of the good files of a kind."""
    kind = texts.KINDS[raw]
    kind.make(folder)
    with contextlib.suppress(SystemExit):
        kind.read(folder)


def _read_prepared(task: str, eval_split: str, folder: pathlib.Path) -> None:
    from official_bert.experiment import load_experiment
    from official_bert.runs.input_pipeline import InputPipeline
    from official_bert.runs.prepared_data import PreparedData
    from official_bert.tasks.examples import examples_of
    from tests.small_models import TINY

    path = folder / "data"
    experiment = load_experiment([], [f"task={task}", f"data.path={path}", "train.batch_size=2"])
    data = PreparedData(path, experiment)
    config = TINY.replace(vocab_size=data.manifest.vocab_size, max_position_embeddings=32)
    pipeline = InputPipeline(data, config, experiment, batch_size=2)
    with pipeline.bad_records_named("train"):
        for _ in pipeline.training_dataset(0).take(8):
            pass
    with pipeline.bad_records_named(eval_split):
        for _ in pipeline.evaluation_dataset(eval_split):
            pass
    if task != "pretraining":
        list(examples_of(path, eval_split)())


def _prepared_kind(
    task: str, make: Callable[[pathlib.Path], object], eval_split: str = "dev"
) -> Kind:
    return Kind(make, functools.partial(_read_prepared, task, eval_split), part="data", share=3)


def _prepared_from_kind(task: str, raw: str) -> Kind:
    return _prepared_kind(task, functools.partial(_prepared_from, raw), eval_split="train")


KINDS = {
    "HF safetensors": _checkpoint("huggingface"),
    "HF bin": Kind(_torch, _load),
    "HF index": Kind(_sharded, _load),
    "TF1 checkpoint": _checkpoint("google_tf1"),
    "TF2 checkpoint": _checkpoint("model_garden"),
    "official folder": _checkpoint("official_bert"),
    "prepared pretraining": _prepared_kind("pretraining", _prepared_pretraining),
    "prepared sentences": _prepared_kind("sentence_prediction", _prepared_sentences),
    "prepared tagging": _prepared_from_kind("tagging", "CoNLL"),
    "prepared questions": _prepared_from_kind("question_answering", "SQuAD JSON"),
    "prepared choices": _prepared_from_kind("multiple_choice", "choices"),
    "model folder": Kind(_trained, _evaluate, part="model", share=3),
    "SavedModel": Kind(
        _export, functools.partial(_predict, "--saved_model", "export"), part="export", share=10
    ),
    "TF Hub": Kind(_hub, _load_hub, part="hub", share=7),
    "LiteRT": Kind(_litert, functools.partial(_predict, "--litert", "lite"), part="lite", share=10),
    "config": Kind(_config, _read_config),
    "grid": Kind(_grid, _read_grid),
    "override": Kind(_override, _read_override),
}
