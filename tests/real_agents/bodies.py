"""What does a request to OpenAI's interfaces say, and how is a reply said in them?"""

import json
from collections.abc import Iterator
from typing import Any, Final

from tests.real_agents.script import Heard, Json, Reply, Role

NAME: Final = "stand-in"
INPUT_TOKENS: Final = 1200
OUTPUT_TOKENS: Final = 50
_ROLES: Final[dict[str, Role]] = {"user": "user", "assistant": "assistant", "tool": "tool"}
_RESULTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})


def _text(content: Any) -> str:  # noqa: ANN401 - any JSON
    if isinstance(content, str):
        return content
    parts: list[Json] = content or []
    return "\n".join(part.get("text") or "" for part in parts)


def tools_of(body: Json) -> Iterator[tuple[str, list[str]]]:
    """Yield the tools that a request offers, each with the names of its arguments."""
    for tool in body.get("tools") or ():
        said: Json = tool.get("function", tool)
        if "name" in said:
            yield said["name"], [*said.get("parameters", {}).get("properties", ())]


def chat_messages(body: Json) -> Iterator[Heard]:
    """Yield what a request for a completion says."""
    for message in body["messages"]:
        role = _ROLES.get(message["role"], "system")
        calls = message.get("tool_calls") or ()
        words = [_text(message.get("content")), *(each["function"]["arguments"] for each in calls)]
        yield Heard(role=role, text="\n".join(words))


def response_items(body: Json) -> Iterator[Heard]:
    """Yield what a request for a response says."""
    items = body["input"]
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    for item in items:
        kind = item.get("type", "message")
        if kind in _RESULTS:
            yield Heard(role="tool", text=_text(item["output"]))
        elif kind == "message":
            role = _ROLES.get(item["role"], "system")
            yield Heard(role=role, text=_text(item["content"]))
        else:
            yield Heard(role="assistant", text=str(item.get("arguments") or item.get("input")))


def _call(said: Reply, number: int) -> Json:
    return {
        "index": 0,
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": said.tool, "arguments": json.dumps(said.arguments)},
    }


def _chat_usage() -> Json:
    return {
        "prompt_tokens": INPUT_TOKENS,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    }


def completion(said: Reply, number: int) -> Json:
    """Return a reply as a completion."""
    message: Json = {"role": "assistant", "content": said.words}
    if said.tool is not None:
        message["tool_calls"] = [_call(said, number)]
    choice = {"index": 0, "message": message, "finish_reason": _finish(said)}
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 0, "model": NAME}
    return head | {"choices": [choice], "usage": _chat_usage()}


def _finish(said: Reply) -> str:
    return "stop" if said.tool is None else "tool_calls"


def completion_pieces(said: Reply, number: int) -> Iterator[Json]:
    """Yield a reply as the pieces of a completion."""
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "model": NAME}
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in _pieces(said.words)]
    if said.tool is not None:
        deltas.append({"tool_calls": [_call(said, number)]})
    for delta in deltas:
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        yield head | {"created": 0, "choices": [choice]}
    last: Json = {"index": 0, "delta": {}, "finish_reason": _finish(said)}
    yield head | {"created": 0, "choices": [last], "usage": _chat_usage()}


def _pieces(words: str) -> tuple[str, str]:
    """Return words in two pieces, as they come one after the other."""
    middle = len(words) // 2
    return words[:middle], words[middle:]


def _output(said: Reply, number: int) -> list[Json]:
    text: Json = {"type": "output_text", "text": said.words, "annotations": []}
    output: list[Json] = [
        {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "content": [text],
        }
    ]
    if said.tool is not None:
        output.append(
            {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": f"call_{number}",
                "name": said.tool,
                "arguments": json.dumps(said.arguments),
                "status": "completed",
            }
        )
    return output


def response(said: Reply, number: int) -> Json:
    """Return a reply as a response."""
    usage = {
        "input_tokens": INPUT_TOKENS,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": OUTPUT_TOKENS,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    }
    head = {"id": f"resp_{number}", "object": "response", "created_at": 0, "model": NAME}
    return head | {"status": "completed", "output": _output(said, number), "usage": usage}


def response_pieces(said: Reply, number: int) -> Iterator[Json]:
    """Yield a reply as the events of a response."""
    whole = response(said, number)
    begun: Json = whole | {"status": "in_progress", "output": []}
    events: list[Json] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(_output(said, number)):
        place = {"output_index": index}
        empty: Json = item | {"content": []} if item["type"] == "message" else item
        events.append({"type": "response.output_item.added", "item": empty} | place)
        if item["type"] == "message":
            where = place | {"item_id": item["id"], "content_index": 0}
            events += [
                {"type": "response.output_text.delta", "delta": piece} | where
                for piece in _pieces(said.words)
            ]
        events.append({"type": "response.output_item.done", "item": item} | place)
    events.append({"type": "response.completed", "response": whole})
    for number_of_event, event in enumerate(events):
        yield event | {"sequence_number": number_of_event}
