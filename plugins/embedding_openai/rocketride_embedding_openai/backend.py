# SPDX-License-Identifier: MIT
"""The endpoint `/embeddings` by the official client."""

from __future__ import annotations

import base64
import math
import sys
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import attrs

from rocketride_llm import LLMError, counted, shown
from rocketride_llm_openai_api import explain, read_error

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["Embeddings", "Vectors"]

UNIT = 1e-4  # a length that far from 1 is taken for 1


@attrs.frozen
class Vectors:
    """What came back for some texts.

    Parameters:
        vectors: in the order of the texts, of format `f` and unit length.
        tokens: of all texts, as the server counted them; None where it did not say.
    """

    vectors: Sequence[memoryview]
    tokens: int | None


class Embeddings:
    """A `rocketride_llm.Client` for embeddings.

    Vectors are asked for as bytes in Base64, a third of their size as numbers; a server that refuses that is asked for numbers from then on.

    Parameters:
        client: is closed with this.
        dimensions: floats of a vector; 0 is the model's own number.
    """

    def __init__(self, client: AsyncOpenAI, model: str, dimensions: int = 0) -> None:
        from openai import Omit

        self._client, self._model = client, model
        self._headers = {} if client.api_key else {"Authorization": Omit()}
        self._options: dict[str, Any] = {"dimensions": dimensions} if dimensions else {}
        self._encoding = "base64"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One request, without retries."""
        from openai import BadRequestError, UnprocessableEntityError

        try:
            reply = await self._create(texts)
        except (BadRequestError, UnprocessableEntityError) as error:
            if self._encoding == "float" or "encoding_format" not in f"{error.param} {read_error(error.body)[0]}":
                raise
            self._encoding = "float"
            reply = await self._create(texts)
        return _read(reply, len(texts))

    def explain(self, error: Exception, /) -> LLMError | None:
        told = explain(error, shown(str(self._client.base_url)), "embeddings")
        if told is not None and told.kind == "too-long":
            told.sentence = f"A text is too long for the model '{self._model}'"
        return told

    async def close(self) -> None:
        await self._client.close()

    async def _create(self, texts: Sequence[str]) -> Any:
        create = cast(Any, self._client.embeddings.create)
        options = {**self._options, "encoding_format": self._encoding}
        return await create(model=self._model, input=list(texts), extra_headers=self._headers, **options)


def _read(reply: Any, count: int) -> Vectors:
    data = getattr(reply, "data", None)
    if not isinstance(data, list) or len(data) != count:
        found = len(data) if isinstance(data, list) else "no"
        raise LLMError("bad-reply", f"it has {found} vectors for {count} texts")
    numbered = {getattr(one, "index", None): one for one in data}
    if set(numbered) == set(range(count)):
        data = [numbered[index] for index in range(count)]
    elif set(numbered) != {None}:
        raise LLMError("bad-reply", "its vectors are not numbered as the texts are")
    vectors = [_vector(getattr(one, "embedding", None)) for one in data]
    if len({len(vector) for vector in vectors}) > 1:
        raise LLMError("bad-reply", "its vectors are not all of one length")
    usage = getattr(reply, "usage", None)
    return Vectors(vectors, counted(getattr(usage, "prompt_tokens", None)))


def _vector(given: Any) -> memoryview:
    """A vector as the server gives it, Base64 of little-endian floats or numbers, at unit length."""
    try:
        if isinstance(given, str):
            numbers = array("f")
            numbers.frombytes(base64.b64decode(given, validate=True))
            if sys.byteorder == "big":
                numbers.byteswap()
        else:
            numbers = array("f", given)
    except (TypeError, ValueError, OverflowError):
        raise LLMError("bad-reply", "a vector in it is neither Base64 of floats nor a list of numbers") from None
    length = math.hypot(*numbers)
    if not math.isfinite(length) or length == 0:
        raise LLMError("bad-reply", "a vector in it is empty, zero, or has numbers that are none")
    if abs(length - 1) > UNIT:
        numbers = array("f", [number / length for number in numbers])
    return cast("memoryview", memoryview(numbers.tobytes()).cast("f"))
