"""How many tokens did each API message cost?

Every piece of a message repeats the message's usage, and the last one knows best. A
message that goes on after an import was told in part already: then only the rest counts.
"""

from collections.abc import Sequence
from typing import Final

from domain.identifiers import is_name
from domain.json_text import JsonValue
from infrastructure.imports.claude_lines import JsonObject, Line

_FIELDS: Final = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
}


_TOKENS_LIMIT: Final = 2**53


class UsageLedger:
    """What has been counted for each API message."""

    def __init__(self) -> None:
        self._counted: dict[tuple[str, str], dict[str, int]] = {}

    def spent(self, pieces: Sequence[Line]) -> JsonObject | None:
        """Return the usage that these pieces of a message add, or None if they add none."""
        reported = [line for line in pieces if isinstance(line.message.get("usage"), dict)]
        if not reported or reported[-1].is_synthetic:
            return None
        tokens = _tokens(reported[-1].message["usage"])
        group = pieces[0].group
        before = self._counted.get(group, {}) if group else {}
        added = {name: max(0, count - before.get(name, 0)) for name, count in tokens.items()}
        if not tokens or (before and not any(added.values())):
            return None
        if group:
            self._counted[group] = {**before, **tokens}
        usage: JsonObject = {"model": _model(reported[-1]), "input_tokens": 0, "output_tokens": 0}
        usage.update(added)
        return usage


def _tokens(usage: JsonValue) -> dict[str, int]:
    counts = usage if isinstance(usage, dict) else {}
    tokens: dict[str, int] = {}
    for name, theirs in _FIELDS.items():
        count = counts.get(theirs)
        if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < _TOKENS_LIMIT:
            tokens[name] = count
    return tokens


def _model(line: Line) -> str:
    model = line.message.get("model")
    return model if isinstance(model, str) and is_name(model) else "unknown"
