"""Which session does a Codex rollout (JSONL) hold, and which events is it?

Response items are the conversation; `event_msg` and the rest tell what happened around it and are
kept as data, as is every kind of line that this build does not know. A call that was killed stays
open until the next turn begins.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from domain.identifiers import is_id, is_name
from domain.json_text import JsonValue
from infrastructure.imports import codex_items as items
from infrastructure.imports.claude_lines import JsonObject, name_for, text_or_none
from infrastructure.imports.conversation import Conversation
from infrastructure.imports.source_lines import Read, read_lines, time_of
from infrastructure.imports.summing import Summed, stem_of, summed
from infrastructure.imports.translation import Loss, Translation

SOURCE: Final = "codex-rollout"
LINES: Final = frozenset(
    {
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
        "world_state",
        "token_usage_record",
    }
)
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_RESULTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})


def translate(
    lines: Sequence[bytes], *, source_name: str, flush_after: Sequence[int] = ()
) -> Translation:
    """Return the session that the lines hold; arguments as `claude_code.translate`."""
    losses: list[Loss] = []
    rollout = _Rollout(stem_of(source_name))
    ends = {count for count in flush_after if 0 < count < len(lines)}
    for read in read_lines(lines, losses):
        while ends and min(ends) < read.number:
            ends.remove(min(ends))
            rollout.settle()
        rollout.take(read)
    rollout.settle()
    session = Summed(
        session_id=rollout.session_id,
        told=rollout.told,
        parent=rollout.parent,
        agent_id=rollout.agent,
    )
    return summed([session], len(lines), losses, set())


class _Rollout:
    """One rollout's lines so far."""

    def __init__(self, stem: str) -> None:
        self.told: Final = Conversation(SOURCE)
        self.session_id = stem
        self.parent: str | None = None
        self.agent: str | None = None
        self._named = False
        self._model = "unknown"
        self._turn: str | None = None
        self._turn_told: str | None = None
        self._count = 0
        self._said: set[str] = set()
        self._has_records = False
        self._total: JsonValue = None
        self._lines: Final[Mapping[str, Callable[[JsonObject], bool]]] = {
            "session_meta": self._meta,
            "turn_context": self._context,
            "response_item": self._item,
            "event_msg": self._event,
            "compacted": self._compacted,
            "token_usage_record": self._usage_record,
        }

    def take(self, read: Read) -> None:
        line = read.value
        self.told.stand(read.number, None if line is None else time_of(line.get("timestamp")))
        if line is None:
            self.told.keep("unreadable-line", {"base64": read.raw})
            return
        kind, payload = text_or_none(line.get("type")), line.get("payload")
        take = self._lines.get(kind or "")
        if take is None or not isinstance(payload, dict) or not take(payload):
            self.told.keep(_label(kind), line)

    def settle(self) -> None:
        """End a turn that has ended; Codex says so itself, if it says when tasks start."""
        if self._turn is None:
            self.told.settle()

    def _meta(self, payload: JsonObject) -> bool:
        """Name the session; the line itself is kept, whichever it is."""
        given = text_or_none(payload.get("id")) or text_or_none(payload.get("session_id"))
        if not self._named and given is not None and is_id(given):
            self.session_id, self._named = given, True
            self._spawned(payload.get("source"))
        return False

    def _spawned(self, source: JsonValue) -> None:
        match source:
            case {"subagent": {"thread_spawn": {"parent_thread_id": str(parent)}}}:
                if is_id(parent):
                    self.parent, self.agent = parent, self.session_id
            case _:
                pass

    def _context(self, payload: JsonObject) -> bool:
        model = text_or_none(payload.get("model"))
        self._model = model if model is not None and is_name(model) else self._model
        return False

    def _item(self, item: JsonObject) -> bool:
        kind, role = text_or_none(item.get("type")), item.get("role")
        if kind == "message" and role == "assistant":
            self._say(items.said_in(item), item)
        elif kind == "message" and role == "user" and items.is_persons(item):
            self._prompt(item)
        elif kind == "reasoning":
            self._say([items.reasoning_of(item)], item)
        elif kind in _CALLS:
            self._call(item)
        elif kind in _RESULTS:
            self._result(item)
        else:
            return False
        return True

    def _prompt(self, item: JsonObject) -> None:
        self._count += 1
        turn = items.turn_in(item) or self._turn or None
        message: JsonObject = {
            "role": "user",
            "content": items.said_in(item),
            "message_id": self.told.message_id(text_or_none(item.get("id")), f"{self._count}"),
        }
        self._said = set(items.texts_of(item.get("content")))
        if self.told.in_turn and turn is not None and turn == self._turn_told:
            self.told.add_input(message)  # what a person adds while the turn runs
        else:
            self._turn_told = turn
            self.told.prompt(message, turn, f"line-{self.told.line}")

    def _say(self, parts: list[JsonValue], item: JsonObject) -> None:
        self._count += 1
        name = self.told.message_id(text_or_none(item.get("id")), f"{self._count}")
        self._said |= set(items.texts_of(item.get("content")))
        if not parts:
            self.told.lose("empty-message")
        self.told.say(parts, name)

    def _call(self, item: JsonObject) -> None:
        given = text_or_none(item.get("call_id")) or text_or_none(item.get("id"))
        if given is None:
            self.told.lose("call-without-id")
        name = text_or_none(item.get("name"))
        if item.get("type") == "local_shell_call":
            name = "local_shell"
        call_id = name_for(given, prefix="call", otherwise=f"line-{self.told.line}")
        self.told.call(call_id, name, items.arguments_of(item))

    def _result(self, item: JsonObject) -> None:
        given = text_or_none(item.get("call_id"))
        call_id = name_for(given, prefix="call", otherwise=f"line-{self.told.line}")
        output = item.get("output")
        self.told.result(call_id, output, is_error=items.failed(output))

    def _event(self, event: JsonObject) -> bool:
        """Take what ends a turn, and drop what only repeats an item; the rest is kept."""
        match event.get("type"):
            case "task_started":
                self._turn = items.turn_in(event) or ""
            case "task_complete":
                self.told.keep("event_msg/task_complete", self._without_words(event))
                self.told.end("turn-completed", {})
                return True
            case "turn_aborted":
                reason = text_or_none(event.get("reason"))
                self.told.keep("event_msg/turn_aborted", event)
                ending = {"reason": "user" if reason in {None, "interrupted"} else str(reason)}
                self.told.end("turn-interrupted", {**ending})
                return True
            case "token_count":
                return self._token_count(event)
            case "user_message" | "agent_message" | "agent_reasoning":
                text = event.get("message", event.get("text"))
                return self._repeats(text)
            case _:
                pass
        return False

    def _repeats(self, text: JsonValue) -> bool:
        known = isinstance(text, str) and text in self._said
        self.told.told.repeats_dropped += known
        return known

    def _without_words(self, event: JsonObject) -> JsonObject:
        """Leave out of a task's end the last message, if it stands before it."""
        if text_or_none(event.get("last_agent_message")) not in self._said:
            return event
        return {key: value for key, value in event.items() if key != "last_agent_message"}

    def _token_count(self, event: JsonObject) -> bool:
        info = event.get("info")
        if not isinstance(info, dict) or self._has_records or not self.told.in_turn:
            return False
        total = info.get("total_token_usage")
        usage = items.usage_of(info.get("last_token_usage"), self._model)
        if usage is None or total == self._total:
            return False
        self._total = total
        self.told.record("usage-recorded", usage)
        return False

    def _usage_record(self, payload: JsonObject) -> bool:
        usage = items.usage_of(payload.get("usage"), self._model)
        if usage is None or not self.told.in_turn:
            return False
        self._has_records = True
        self.told.record("usage-recorded", usage)
        return False

    def _compacted(self, payload: JsonObject) -> bool:
        if payload.get("replacement_history") is not None:
            self.told.lose("replacement-history")
            self.told.keep("compacted", payload)
        if self.told.compact(items.summary_of(payload)):
            return True
        self.told.lose("compaction-without-summary")
        return payload.get("replacement_history") is not None


_LABEL: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


def _label(kind: str | None) -> str:
    return kind if kind is not None and _LABEL.fullmatch(kind) else "line"
