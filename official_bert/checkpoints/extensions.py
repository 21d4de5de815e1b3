"""What a `BertConfig` may say and the BERT of another program has no place for."""

from __future__ import annotations

from collections.abc import Collection

from official_bert.config import BertConfig
from official_bert.errors import InputError

FACTORISED = "factorised embeddings"


def refuse_extensions(config: BertConfig, program: str, *, known: Collection[str] = ()) -> None:
    """Raises InputError for an encoder that `program` would read as another one.

    Args:
        config: of the encoder.
        program: whose format is to be written, for the message.
        known: what that program has after all.
    """
    extensions = {
        FACTORISED: config.embedding_width != config.hidden_size,
        "shared layers": config.share_layers,
        "causal attention": config.attention != "bidirectional",
        "BiLSTM on top": config.bilstm,
    }
    for what, is_so in extensions.items():
        if is_so and what not in known:
            raise InputError(f"{program} has no {what}: write another format")
