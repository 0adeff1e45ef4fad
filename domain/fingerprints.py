"""Is this the history that we know?

History v2 is a chain over normalised messages: what clients change without
meaning it is normalised away by the named rules below, and nothing else is.
History v1 is the reference's fingerprint, kept for runners that use it already.
"""

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Final, TypeAlias

from domain.canonical import canonical, canonical_as_javascript
from domain.json_text import JsonValue, NotJson, parse

Part: TypeAlias = Mapping[str, JsonValue]
Message: TypeAlias = Mapping[str, JsonValue]

EMPTY: Final = sha256(b"").digest()
"""The fingerprint of a history without messages."""


def digest(role: str, parts: Sequence[Part]) -> bytes:
    """Return SHA-256 of the canonical JSON of a message's role and normalised parts."""
    written = b",".join([canonical(part) for part in normalise(parts)])
    return sha256(b'{"parts":[%b],"role":%b}' % (written, canonical(role))).digest()


def chain(previous: bytes, message_digest: bytes) -> bytes:
    """Return the fingerprint of the history `previous` followed by one more message."""
    return sha256(previous + message_digest).digest()


def is_empty(parts: Sequence[Part]) -> bool:
    """Say whether nothing of a message is left once it is normalised."""
    return all(map(_says_nothing, parts))


def normalise(parts: Sequence[Part]) -> list[dict[str, JsonValue]]:
    """Return `parts` as they enter a digest.

    Parts that say nothing are dropped, then each is reduced by the rule for its
    type, then neighbours that say one thing in pieces are joined. A part of a type
    without a rule is kept whole.
    """
    reduced = [_reduced(part) for part in parts if not _says_nothing(part)]
    return reduced if len(reduced) <= 1 else _join_pieces(reduced)


def history_v1(messages: Sequence[Message]) -> str:
    """Return the reference's history fingerprint, in hex, of messages in its own shape.

    It sees what users wrote and attached, and which tool calls there were. It is
    blind to what assistants said and to what tools were given and answered.
    """
    prompts = [message for message in messages if message.get("role") == "user"]
    calls = [call for message in messages for call in _tool_call_ids(message)]
    seen: dict[str, JsonValue] = {
        "userTexts": [_user_text(message) for message in prompts],
        "userAttachmentIds": [[*_attachment_ids(message)] for message in prompts],
        "userInlineMedia": [[*_inline_media(message)] for message in prompts],
        "toolCallIds": [*dict.fromkeys(calls)],
        "promptCount": len(prompts),
    }
    return sha256(canonical_as_javascript(seen)).hexdigest()


def as_reference_messages(messages: Sequence[Message]) -> list[dict[str, JsonValue]]:
    """Return transcript messages in the reference's shape, with all that `history_v1` looks at."""
    return [
        {"role": message.get("role"), "content": [*_reference_blocks(message)]}
        for message in messages
    ]


def _says_nothing(part: Part) -> bool:
    """Empty text is dropped, and empty reasoning, unless a signature gives it a meaning."""
    kind = part.get("type")
    silent = part.get("text") in ("", None)
    return silent and (
        kind == "text" or (kind == "reasoning" and part.get("signature") in ("", None))
    )


def _join_pieces(parts: Iterable[dict[str, JsonValue]]) -> list[dict[str, JsonValue]]:
    """Adjacent texts are one text, and adjacent reasoning is one reasoning."""
    joined: list[dict[str, JsonValue]] = []
    for kind, run in groupby(parts, _kind_of_piece):
        if kind is None:
            joined.extend(run)
        else:
            joined.append({"type": kind, "text": "".join(str(part["text"]) for part in run)})
    return joined


def _kind_of_piece(part: Part) -> str | None:
    match part:
        case {"type": "text", "text": str()}:
            return "text"
        case {"type": "reasoning", "text": str()}:
            return "reasoning"
        case _:
            return None


def _reduced(part: Part) -> dict[str, JsonValue]:
    kind = part.get("type")
    rule = _RULES.get(kind) if isinstance(kind, str) else None
    return rule(part) if rule else dict(part)


def _text(part: Part) -> dict[str, JsonValue]:
    """A text is what it says."""
    return {"type": "text", "text": part.get("text")}


def _reasoning(part: Part) -> dict[str, JsonValue]:
    """Reasoning is what it says; its signature and provider are not said."""
    text = part.get("text")
    return {"type": "reasoning", "text": "" if text is None else text}


def _tool_call(part: Part) -> dict[str, JsonValue]:
    """A call is its name and arguments; its id, status and gate are ours or the harness's."""
    arguments = _arguments(part.get("arguments"))
    return {"type": "tool_call", "name": part.get("name"), "arguments": arguments}


def _arguments(arguments: JsonValue) -> JsonValue:
    """Arguments given as the text of a JSON object are that object; other text stays text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        parsed = parse(arguments.encode("utf-8", "surrogatepass"))
    except NotJson:
        return arguments
    return parsed if isinstance(parsed, dict) else arguments


def _tool_result(part: Part) -> dict[str, JsonValue]:
    """A result is its output and how it ended; saying nothing of an error means none."""
    return {
        "type": "tool_result",
        "output": part.get("output"),
        "is_error": part.get("is_error") or False,
        "denied": part.get("denied") or False,
    }


def _attachment(part: Part) -> dict[str, JsonValue]:
    """An attachment is its content, else its id; one that names neither is kept whole."""
    match part:
        case {"sha256": str(content)}:
            return {"type": "attachment", "sha256": content}
        case {"data": str(data)} if decoded := _sha256_of_base64(data):
            return {"type": "attachment", "sha256": decoded}
        case {"attachment_id": str(attachment_id)}:
            return {"type": "attachment", "attachment_id": attachment_id}
        case _:
            return dict(part)


def _sha256_of_base64(data: str) -> str | None:
    try:
        return sha256(base64.b64decode(data, validate=True)).hexdigest()
    except ValueError:
        return None


def _data(part: Part) -> dict[str, JsonValue]:
    """Data is its kind and content."""
    return {"type": "data", "kind": part.get("kind"), "data": part.get("data")}


_RULES: Final[Mapping[str, Callable[[Part], dict[str, JsonValue]]]] = {
    "text": _text,
    "reasoning": _reasoning,
    "tool_call": _tool_call,
    "tool_result": _tool_result,
    "attachment": _attachment,
    "data": _data,
}


def _blocks(message: Message, key: str = "content") -> list[dict[str, JsonValue]]:
    blocks = message.get(key)
    if not isinstance(blocks, list):
        return []
    return [block for block in blocks if isinstance(block, dict)]


def _user_text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    texts = (block.get("text") for block in _blocks(message) if block.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def _attachment_ids(message: Message) -> Iterator[str]:
    for block in _blocks(message):
        match block:
            case {"type": "attachment", "attachmentId": str(attachment_id)}:
                yield attachment_id
            case _:
                pass


def _tool_call_ids(message: Message) -> Iterator[str]:
    for block in _blocks(message):
        match block:
            case {"type": "tool_call" | "tool_result", "toolCallId": str(tool_call_id)}:
                yield tool_call_id
            case _:
                pass


def _inline_media(message: Message) -> Iterator[str]:
    for block in _blocks(message):
        if block.get("type") == "image" and (payload := _payload(block)) is not None:
            media_type = block.get("mimeType")
            stated = media_type if isinstance(media_type, str) else ""
            yield sha256(f"{stated}\n{payload}".encode()).hexdigest()


def _payload(block: Part) -> str | None:
    match block:
        case {"uri": str(uri)} if uri.startswith("data:"):
            return uri
        case {"data": data} if data not in (None, "", False):
            return _javascript_string(data)
        case _:
            return None


def _javascript_string(value: JsonValue) -> str:
    """Return ECMAScript's `String(value)`, which the reference applies to a payload."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ",".join("" if item is None else _javascript_string(item) for item in value)
    if isinstance(value, dict):
        return "[object Object]"
    return canonical_as_javascript(value).decode()


def _reference_blocks(message: Message) -> Iterator[JsonValue]:
    for part in _blocks(message, "parts"):
        match part:
            case {"type": "text", "text": str(text)}:
                yield {"type": "text", "text": text}
            case {"type": "attachment", "attachment_id": str(attachment_id)}:
                yield {"type": "attachment", "attachmentId": attachment_id}
            case {"type": "tool_call" | "tool_result" as kind, "tool_call_id": str(call)}:
                yield {"type": kind, "toolCallId": call}
            case _:
                pass
