"""What are the items and lines of a Codex rollout to the conversation?

Codex puts its own words into user messages (the environment, notes of an interruption); newer
versions say so in the item's metadata, older ones only by tags. Here they are told apart from what
a person typed.
"""

from typing import Final

from domain.json_text import JsonValue, NotJson, parse
from infrastructure.imports.chat_content import parts_of
from infrastructure.imports.claude_lines import JsonObject, text_or_none
from infrastructure.imports.source_lines import count_of

_OWN_TAGS: Final = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<permissions instructions>",
    "<skills_instructions>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
)
_PASSED: Final = "internal_chat_message_metadata_passthrough"


def is_persons(item: JsonObject) -> bool:
    """Tell whether a user item holds what a person said."""
    passed = item.get(_PASSED)
    kinds = passed.get("content_item_kinds") if isinstance(passed, dict) else None
    if isinstance(kinds, list) and kinds:
        return any(isinstance(kind, str) and kind.startswith("user.") for kind in kinds)
    texts = [text for text in texts_of(item.get("content")) if text.strip()]
    return not texts or not all(text.lstrip().startswith(_OWN_TAGS) for text in texts)


def turn_in(value: JsonObject) -> str | None:
    """Return the turn that an item or an event names."""
    passed = value.get(_PASSED)
    within = passed.get("turn_id") if isinstance(passed, dict) else None
    return text_or_none(value.get("turn_id")) or text_or_none(within)


def texts_of(content: JsonValue) -> list[str]:
    """Return the texts of an item's content."""
    if isinstance(content, str):
        return [content]
    found = (
        [part.get("text") for part in content if isinstance(part, dict)]
        if isinstance(content, list)
        else []
    )
    return [text for text in found if isinstance(text, str)]


def said_in(item: JsonObject) -> list[JsonValue]:
    """Return the parts of a message item."""
    return parts_of(item.get("content"))


def reasoning_of(item: JsonObject) -> JsonObject:
    """Return a reasoning item as a part; what is encrypted stays verbatim, as its signature."""
    texts = [*texts_of(item.get("summary")), *texts_of(item.get("content"))]
    part: JsonObject = {"type": "reasoning", "text": "\n\n".join(texts)}
    encrypted = text_or_none(item.get("encrypted_content"))
    if encrypted is not None:
        part["signature"] = encrypted
    return {**part, "provider": "openai"}


def arguments_of(item: JsonObject) -> JsonValue:
    """Return what a call was asked to do: an object, or the text that the model wrote."""
    if item.get("type") == "custom_tool_call":
        return item.get("input", "")
    if item.get("type") == "local_shell_call":
        return item.get("action", {})
    text = item.get("arguments", {})
    if not isinstance(text, str):
        return text
    try:
        value = parse(text.encode())
    except (NotJson, UnicodeEncodeError):
        return text
    return value if isinstance(value, dict) else text


def failed(output: JsonValue) -> bool:
    """Tell whether an output says of itself that the call failed."""
    return isinstance(output, dict) and output.get("success") is False


def usage_of(usage: JsonValue, model: str) -> JsonObject | None:
    """Return usage as we record it, with the numbers as Codex counts them."""
    if not isinstance(usage, dict):
        return None
    given = count_of(usage.get("input_tokens"))
    made = count_of(usage.get("output_tokens"))
    if given is None or made is None:
        return None
    told: JsonObject = {"model": model, "input_tokens": given, "output_tokens": made}
    read = count_of(usage.get("cached_input_tokens"))
    wrote = count_of(usage.get("cache_write_input_tokens"))
    if read is not None:
        told["cache_read_tokens"] = read
    if wrote is not None:
        told["cache_write_tokens"] = wrote
    return told


def summary_of(payload: JsonObject) -> str:
    """Return the summary that a compaction put in place of the history, if it is readable."""
    message = text_or_none(payload.get("message"))
    if message is not None:
        return message
    replacement = payload.get("replacement_history")
    for item in reversed(replacement if isinstance(replacement, list) else []):
        texts = texts_of(item.get("content")) if isinstance(item, dict) else []
        if texts and isinstance(item, dict) and item.get("type") == "message":
            return "\n\n".join(texts)
    return ""
