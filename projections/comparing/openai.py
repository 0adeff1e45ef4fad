"""What does a history of OpenAI chat messages say?"""

from collections.abc import Iterator, Mapping
from typing import Final

from domain.json_text import JsonValue
from domain.messages import Role
from projections.comparing.told import (
    Part,
    Tokens,
    Told,
    file_of,
    name_in,
    object_at,
    refuse,
    role_at,
    text_at,
)

_ROLES: Final[Mapping[str, Role]] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def read_openai(value: JsonValue, index: int) -> Told:
    """Return one message.

    Raises:
        Unreadable: it is none.
    """
    message = object_at(value, index)
    role = role_at(message, _ROLES, index)
    read = _result if role == "tool" else _said
    return Told(
        index=index,
        message_id=name_in(message, "id"),
        role=role,
        parts=tuple(read(message, index)),
    )


def _result(message: dict[str, JsonValue], index: int) -> Iterator[tuple[Part, Tokens]]:
    call_id = message.get("tool_call_id", message.get("name"))
    content = message.get("content")
    yield (
        {
            "type": "tool_result",
            "tool_call_id": text_at(call_id, index, "tool_call_id"),
            "output": "" if content is None else content,
        },
        ("content",),
    )


def _said(message: dict[str, JsonValue], index: int) -> Iterator[tuple[Part, Tokens]]:
    content = message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}, ("content",)
    elif isinstance(content, list):
        for n, item in enumerate(content):
            yield _part(object_at(item, index, "content", n), (index, "content", n)), ("content", n)
    elif content is not None:
        refuse("expected text, parts or null", index, "content")
    refusal = message.get("refusal")
    if isinstance(refusal, str):
        yield {"type": "text", "text": refusal}, ("refusal",)
    calls = message.get("tool_calls")
    for n, call in enumerate(calls if isinstance(calls, list) else []):
        yield _call(object_at(call, index, "tool_calls", n), (index, "tool_calls", n))
    old = message.get("function_call")
    if isinstance(old, dict):
        name = text_at(old.get("name"), index, "function_call", "name")
        yield _call_part(name, name, old.get("arguments")), ("function_call",)


def _part(part: dict[str, JsonValue], at: Tokens) -> Part:
    match part:
        case {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
            return {"type": "text", "text": text}
        case _:
            text_at(part.get("type"), *at, "type")
            return _file(part) or part


def _file(part: dict[str, JsonValue]) -> Part | None:
    match part:
        case {"image_url": {"url": str(url)}} | {"file": {"file_data": str(url)}}:
            return file_of(url)
        case {"input_audio": {"data": str(data)}}:
            return {"type": "attachment", "data": data}
        case {"file": {"file_id": str(file_id)}}:
            return {"type": "attachment", "attachment_id": file_id}
        case _:
            return None


def _call(call: dict[str, JsonValue], at: Tokens) -> tuple[Part, Tokens]:
    call_id = text_at(call.get("id"), *at, "id")
    kind = "custom" if "custom" in call else "function"
    made = object_at(call.get(kind), *at, kind)
    name = text_at(made.get("name"), *at, kind, "name")
    arguments = made.get("input" if kind == "custom" else "arguments")
    return _call_part(call_id, name, arguments), (*at[1:], kind)


def _call_part(call_id: str, name: str, arguments: JsonValue) -> Part:
    return {"type": "tool_call", "tool_call_id": call_id, "name": name, "arguments": arguments}
