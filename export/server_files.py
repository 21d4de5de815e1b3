"""What `tensorflow_model_server` needs beside the SavedModel: two configs and the command."""

from __future__ import annotations

import pathlib
import re

import tensorflow as tf

from official_bert.atomic import atomic_file
from official_bert.errors import InputError
from official_bert.inference.export_info import ExportInfo
from official_bert.path import is_url

_MODELS = """\
# --model_config_file of tensorflow_model_server.
model_config_list {{
  config {{
    name: "{name}"
    base_path: "/models/{name}"
    model_platform: "tensorflow"
  }}
}}
"""
# A server joins requests whose tensors differ in nothing but the first axis, and lets all that it
# joined fail where they differ elsewhere: rows of choices, whose number is free, and those of
# `encoded`. To let it pad them (pad_variable_length_inputs) would be wrong: it pads with the first
# value of a tensor, here a choice and the [CLS] of a row.
_BATCHING = """\
# --batching_parameters_file of tensorflow_model_server. A request waits at most
# batch_timeout_micros for others to share its batch. Requests to the signature `encoded` must all
# have rows of one length, or the server must run without --enable_batching.
max_batch_size { value: 32 }
batch_timeout_micros { value: 2000 }
max_enqueued_batches { value: 1000 }
num_batch_threads { value: 4 }
"""
_COMMAND = """\
#!/bin/sh
# Serves the newest version: gRPC on port 8500, REST on 8501. Needs TensorFlow Serving {least} or
# later. A request:
#   curl http://localhost:8501/v1/models/{name}:predict \\
#     -d '{{"signature_name": "serving_default", "instances": [{instance}]}}'
folder=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit
# Docker reads --mount as CSV: in quotes, with its own quotes doubled, any path is one field.
source=$(printf '%s' "source=$folder" | sed 's/"/""/g')
exec docker run --rm -p 8500:8500 -p 8501:8501 \\
  --mount "type=bind,\\"$source\\",target=/models/{name},readonly" \\
  tensorflow/serving:{version} \\
  --model_config_file=/models/{name}/models.config{batching}
"""
_WITH_BATCHING = """ \\
  --enable_batching --batching_parameters_file=/models/{name}/batching.config"""


def write_server_files(output_dir: pathlib.Path, name: str, info: ExportInfo) -> None:
    """Writes models.config, batching.config and serve.sh, those that are not there yet.

    There is no batching.config where an input of `serving_default` has a second axis.

    Args:
        output_dir: the folder of the versions.
        name: under which the model is served.
        info: of the newest version.
    """
    inputs = info.signatures["serving_default"]["inputs"]
    samples = {1: '"some text"', 2: '["some text", "another"]'}
    shown = [f'"{key}": {samples[len(shape)]}' for key, (_, shape) in inputs.items()]
    instance = "{" + ", ".join(shown) + "}"
    batched = all(len(shape) == 1 for _, shape in inputs.values())
    command = _COMMAND.format(
        name=name,
        instance=instance,
        version=tf.__version__,
        least=info.least_tensorflow_serving,
        batching=_WITH_BATCHING.format(name=name) if batched else "",
    )
    files = {"models.config": _MODELS.format(name=name), "serve.sh": command}
    if batched:
        files["batching.config"] = _BATCHING
    for file_name, content in files.items():
        path = output_dir / file_name
        if not path.exists():  # One that is there may have been edited.
            with atomic_file(path) as file:
                file.write(content)
            if not is_url(path):
                path.chmod(0o755 if path.suffix == ".sh" else 0o644)


def checked_name(name: str) -> str:
    """The name of a served model, which stands in paths and in configs.

    Raises:
        InputError: it has other characters than letters, digits, dots, dashes and underscores.
    """
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", name):
        raise InputError(
            f"{name!r} cannot be the name of a served model: give --model_name, of letters, "
            "digits, dots, dashes and underscores"
        )
    return name
