"""Runs a saved tokenizer where nothing of this project is: load_and_run.py FOLDER [SAVE_TO].

Reads {"strings": [...], "pairs": [[a, b], ...]} from stdin, with strings in base64, and prints what
the SavedModel in FOLDER makes of them; with SAVE_TO, saves what it loaded there.
"""

import base64
import json
import sys

import tensorflow as tf
import tensorflow_text  # noqa: F401  (its ops)

folder, *save_to = sys.argv[1:]
model = tf.saved_model.load(folder)
given = json.load(sys.stdin)
strings = tf.constant([base64.b64decode(string) for string in given["strings"]])
first, second = (tf.constant(side) for side in zip(*given["pairs"], strict=True))
ids, starts, limits = model.tokenizer.tokenize_batch_with_offsets(strings)
result = {
    "ids": model.tokenizer.tokenize_batch(strings).to_list(),
    "offsets": [ids.to_list(), starts.to_list(), limits.to_list()],
    "texts": [text.decode() for text in model.tokenizer.detokenize_batch(ids).numpy()],
    "joined": {k: v.numpy().tolist() for k, v in sorted(model.joined(first, second).items())},
    "asset": tf.io.read_file(model.tokenizer.vocab_asset.asset_path).numpy().decode(),
}
assert not any(name.startswith("official") for name in sys.modules)
if save_to:
    tf.saved_model.save(model, save_to[0])
print(json.dumps(result))
