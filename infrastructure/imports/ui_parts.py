"""What is a part of an AI SDK UIMessage: words, or a call with its approval and result in one?"""

from dataclasses import dataclass
from typing import Final

from domain.identifiers import is_name
from domain.json_text import JsonValue
from infrastructure.imports.attachments import from_url
from infrastructure.imports.claude_lines import JsonObject, text_or_none
from infrastructure.imports.source_lines import count_of

CALLED: Final = frozenset(
    {
        "input-streaming",
        "input-available",
        "approval-requested",
        "approval-responded",
        "output-available",
        "output-error",
        "output-denied",
    }
)
_CARRIED: Final = frozenset(
    {"type", "toolName", "toolCallId", "state", "input", "rawInput", "output", "errorText"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPart:
    """A call, and how far it has come.

    Attributes:
        rest: What no event carries: provider metadata and the like.
    """

    name: str | None
    call_id: str | None
    state: str
    arguments: JsonValue
    output: JsonValue
    is_error: bool
    approval_id: str | None
    approved: bool | None
    reason: str | None
    rest: JsonObject

    @property
    def denied(self) -> bool:
        """Tell whether the call was not allowed to run."""
        return self.state == "output-denied"

    @property
    def has_output(self) -> bool:
        """Tell whether the call is over."""
        return self.state.startswith("output-")


def tool_part(part: JsonObject) -> ToolPart | None:
    """Return a part as a call, or None if it is none."""
    kind, state = part.get("type"), text_or_none(part.get("state"))
    if not isinstance(kind, str) or state not in CALLED:
        return None
    if kind == "dynamic-tool":
        name = text_or_none(part.get("toolName"))
    elif kind.startswith("tool-"):
        name = kind.removeprefix("tool-")
    else:
        return None
    approval = part.get("approval")
    asked = approval if isinstance(approval, dict) else {}
    approved, reason = asked.get("approved"), text_or_none(asked.get("reason"))
    output = part.get("output")
    if state == "output-error":
        output = part.get("errorText")
    elif state == "output-denied":
        output = reason or "denied"
    return ToolPart(
        name=name,
        call_id=text_or_none(part.get("toolCallId")),
        state=state,
        arguments=part.get("input", part.get("rawInput", {})),
        output=output,
        is_error=state == "output-error",
        approval_id=text_or_none(asked.get("id")),
        approved=approved if isinstance(approved, bool) else None,
        reason=reason,
        rest={key: value for key, value in part.items() if key not in {*_CARRIED, "approval"}},
    )


def said_part(part: JsonValue) -> JsonObject:
    """Return the part of ours that carries a part which is no call."""
    if not isinstance(part, dict):
        return {"type": "data", "kind": "ai-sdk/unknown", "data": part}
    kind, text = part.get("type"), part.get("text")
    if kind == "text" and isinstance(text, str):
        return {"type": "text", "text": text}
    if kind == "reasoning" and isinstance(text, str):
        return _reasoning(part, text)
    url = part.get("url")
    if kind == "file" and isinstance(url, str):
        media, filename = text_or_none(part.get("mediaType")), text_or_none(part.get("filename"))
        attached = from_url(url, media, filename)
        if attached is not None:
            return attached
    named = isinstance(kind, str) and is_name(f"ai-sdk/{kind}")
    return {"type": "data", "kind": f"ai-sdk/{kind if named else 'unknown'}", "data": part}


def usage_in(metadata: JsonObject) -> JsonObject | None:
    """Return what a message's metadata says of its usage, as we record it."""
    usage = metadata.get("totalUsage", metadata.get("usage"))
    if not isinstance(usage, dict):
        return None
    given = count_of(usage.get("inputTokens"))
    made = count_of(usage.get("outputTokens"))
    if given is None or made is None:
        return None
    model = text_or_none(metadata.get("model"))
    told: JsonObject = {
        "model": model if model is not None and is_name(model) else "unknown",
        "input_tokens": given,
        "output_tokens": made,
    }
    read = count_of(usage.get("cachedInputTokens"))
    return told if read is None else {**told, "cache_read_tokens": read}


def _reasoning(part: JsonObject, text: str) -> JsonObject:
    made: JsonObject = {"type": "reasoning", "text": text}
    match part.get("providerMetadata"):
        case {"anthropic": {"signature": str(signature)}}:
            made |= {"signature": signature, "provider": "anthropic"}
        case None:
            pass
        case other:
            made["provider_metadata"] = other
    return made
