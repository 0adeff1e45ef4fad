"""Lines of a Claude Code session file, as small as they can be.

U("u1", None, "hi")            what a person typed
A("a1", "u1", "m1", text(..))  a piece of the API message m1
R("r1", "a1", "c1", "out")     what call c1 came to
"""

import json
from collections.abc import Sequence
from typing import Any

from infrastructure.imports.claude_code import translate
from infrastructure.imports.translation import TranslatedSession, Translation

SESSION = "s-1"


def U(uuid: str, parent: str | None, content: object, **more: object) -> bytes:  # noqa: N802 - reads as a drawing
    return line("user", uuid, parent, message={"role": "user", "content": content}, **more)


def A(  # noqa: N802 - reads as a drawing
    uuid: str,
    parent: str | None,
    message_id: str,
    *blocks: object,
    stop: str | None = None,
    **more: object,
) -> bytes:
    message = {
        "id": message_id,
        "role": "assistant",
        "model": "model-1",
        "content": list(blocks),
        "stop_reason": stop,
    }
    return line("assistant", uuid, parent, message=message, **more)


def R(uuid: str, parent: str, call: str, output: object, **more: object) -> bytes:  # noqa: N802 - reads as a drawing
    is_error = {"is_error": True} if more.pop("is_error", False) else {}
    block = {"type": "tool_result", "tool_use_id": call, "content": output, **is_error}
    return U(uuid, parent, [block], **more)


def line(kind: str, uuid: str, parent: str | None, **more: object) -> bytes:
    return js(type=kind, uuid=uuid, parentUuid=parent, sessionId=SESSION, **more)


def js(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


def call(call_id: str, **arguments: object) -> dict[str, object]:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": arguments}


def read(*lines: bytes, flush_after: Sequence[int] = ()) -> Translation:
    return translate(lines, source_name=f"{SESSION}.jsonl", flush_after=flush_after)


def only(translation: Translation) -> TranslatedSession:
    (session,) = translation.sessions
    return session


def told(session: TranslatedSession) -> list[str]:
    """Return each event as its type and what tells it apart, without `-recorded` and the like."""
    return [_short(event.type, json.loads(event.data)) for event in session.events]


def data_of(session: TranslatedSession, kind: str) -> list[dict[str, Any]]:
    return [json.loads(event.data) for event in session.events if event.type == kind]


def losses(translation: Translation) -> list[tuple[int | None, str]]:
    return [
        (loss.line, loss.code)
        for loss in translation.report.losses
        if loss.code != "fields-not-carried"
    ]


def _short(kind: str, data: dict[str, Any]) -> str:
    match kind:
        case "turn-started" | "turn-interrupted" | "turn-completed" | "turn-failed":
            return f"{kind} {data['turn_id']}"
        case "message-recorded":
            message = data["message"]
            return f"{message['role']} {message.get('message_id', '-')}"
        case "tool-call-requested" | "tool-call-completed":
            return f"{kind.removeprefix('tool-')} {data['tool_call_id']}"
        case "data-recorded":
            return str(data["kind"]).removeprefix("claude-")
        case _:
            return kind
