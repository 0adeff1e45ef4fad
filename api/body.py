"""What does a request's body say, exactly, and is it what the route takes?

Read strictly before anything else: a body that could not be given back unchanged is refused with
its place. Models then check shape; what is stored are slices of the very bytes that came.
"""

from asyncio import to_thread
from typing import Any, Final, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from api.problems import Flaw, ProblemError
from domain.json_text import JsonValue, NotJson, parse

REQUEST_LIMIT: Final = 8 * 1024 * 1024
SHORT: Final = 64 * 1024
THROWN_AWAY: Final = 64 * 1024 * 1024
"""So much of what is too large is still read."""
FLAWS_SHOWN: Final = 20
_SPACE: Final = b" \t\r\n"

Model = TypeVar("Model", bound=BaseModel)


class Body(BaseModel):
    """A request body; an unknown member is a mistake worth telling."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RawBody:
    """A body as it came: its bytes and what they say."""

    def __init__(self, raw: bytes, value: JsonValue) -> None:
        self.raw: Final = raw
        self.value: Final = value

    def valid(self, model: type[Model]) -> Model:
        """Return the body as `model`.

        Raises:
            ProblemError: naming every member that is wrong.
        """
        return validated(model, self.value)


async def read_body(request: Request) -> RawBody:
    """Return the request's JSON body; an absent one is an empty object.

    Raises:
        ProblemError: too large, not declared as JSON, or not JSON that can be kept.
    """
    raw = await read_bytes(request, REQUEST_LIMIT)
    if not raw.strip(_SPACE):
        return RawBody(b"{}", {})
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared != "application/json" and not declared.endswith("+json"):
        raise ProblemError("unsupported-media-type", "declare the body as application/json")
    try:
        # To find what is wrong in a long body takes seconds, in which others are served.
        value = parse(raw) if len(raw) <= SHORT else await to_thread(parse, raw)
    except NotJson as error:
        detail = f"{error.code}: {error.detail}"
        raise ProblemError(
            "malformed-json",
            detail,
            flaws=[Flaw(error.detail, _tokens(error.pointer))],
            extra={"reason": error.code},
        ) from None
    if not isinstance(value, dict):
        raise ProblemError(
            "invalid-value", "the body is no JSON object", flaws=[Flaw("expected an object", ())]
        )
    return RawBody(raw, value)


async def read_bytes(request: Request, limit: int) -> bytes:
    """Return the body's bytes.

    Of one that is too large some more is read and thrown away: who is still sending when the
    connection ends does not get the answer.

    Raises:
        ProblemError: there are more than `limit`.
    """
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= limit:
            chunks.append(chunk)
        else:
            chunks.clear()
        if size > limit + THROWN_AWAY:
            break
    if size > limit:
        detail = f"a request holds at most {limit} bytes"
        raise ProblemError("body-too-large", detail, headers={"Connection": "close"})
    return b"".join(chunks)


def validated(model: type[Model], value: object, *at: str | int) -> Model:
    """Return `value` as `model`.

    Raises:
        ProblemError: naming every member that is wrong, below the place `at`.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise invalid(error, *at) from None


def invalid(error: ValidationError, *at: str | int) -> ProblemError:
    """Return the problem that tells a validation's errors, without any value."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    flaws = [
        Flaw(_said(flaw), (*at, *_without_variants(flaw["loc"]))) for flaw in found[:FLAWS_SHOWN]
    ]
    return ProblemError("invalid-value", "the body has members that mean nothing here", flaws=flaws)


def _said(flaw: ErrorDetails) -> str:
    """Return what is wrong; of a union's tag pydantic would repeat what was sent."""
    if flaw["type"] == "union_tag_invalid":
        return "`type` names no kind of part"
    return str(flaw["msg"])


def json_of(model: type[BaseModel], example: object = None) -> dict[str, Any]:
    """Return a route's `openapi_extra` for a body that `read_body` reads."""
    content: dict[str, Any] = {"schema": model.model_json_schema(ref_template=_REFERENCE)}
    if example is not None:
        content["example"] = example
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


_REFERENCE: Final = "#/components/schemas/{model}"
_VARIANT: Final = frozenset({"str", "list", "dict", "constrained-str"})
_PART: Final = frozenset({"text", "reasoning", "attachment", "data"})


def _without_variants(place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Leave out of a place what names a union's branch, not a member."""
    kept: list[int | str] = []
    for number, token in enumerate(place):
        a_part = (
            number > 1 and place[number - 2] == "content" and isinstance(place[number - 1], int)
        )
        if isinstance(token, str) and (
            token in _VARIANT or "[" in token or (a_part and token in _PART)
        ):
            continue
        kept.append(token)
    return tuple(kept)


def _tokens(pointer: str) -> tuple[str, ...]:
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])
