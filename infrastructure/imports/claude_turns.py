"""Which events does the conversation of a session file amount to, line by line?

A fresh prompt begins a turn, and the turn ends before the next one. The writer is told
each line's part in the conversation, in order; what it has written never changes, so a
longer file only adds to it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from domain.graphemes import shortened
from domain.json_text import JsonValue, dump
from infrastructure.imports.claude_content import is_denied, part_of, repeats, result_text
from infrastructure.imports.claude_lines import (
    JsonObject,
    Line,
    blocks_of,
    id_for,
    is_interrupt,
    name_for,
    short_digest,
    text_or_none,
)
from infrastructure.imports.claude_turn_state import OpenTurn
from infrastructure.imports.claude_usage import UsageLedger
from infrastructure.imports.translation import Loss, TranslatedEvent
from infrastructure.imports.turn_state import CallLedger, Counts

_FAILURE_LENGTH: Final = 500


@dataclass(slots=True)
class TurnWriter:
    """The events of one session so far.

    Attributes:
        unused: Names of fields that no event carries.
    """

    events: list[TranslatedEvent] = field(default_factory=list[TranslatedEvent])
    losses: list[Loss] = field(default_factory=list[Loss])
    counts: Counts = field(default_factory=Counts)
    _turn: OpenTurn | None = None
    _usage: UsageLedger = field(default_factory=UsageLedger)
    _calls: CallLedger = field(default_factory=CallLedger)
    _told: set[str] = field(default_factory=set[str])
    _turn_ids: set[str] = field(default_factory=set[str])
    _last_message: str | None = None
    _boundary_after: str | None = None

    @property
    def awaits_input(self) -> bool:
        """Whether the model would only speak again because something prompts it."""
        return self._turn is None or self._turn.has_ended

    def prompt(self, line: Line) -> None:
        """Begin a turn with what the user said in `line`."""
        self._close()
        self._start(line, [self._user_message(line, blocks_of(line))])

    def assistant(self, pieces: Sequence[Line]) -> None:
        """Record one API message, or what is known of it; its pieces stand on several lines."""
        first = pieces[0]
        if self._turn is not None and self._turn.interrupt is not None:
            self._close()
        turn = self._turn or self._start(first, [])
        message_id = first.group[0] if first.group else first.uuid
        name = name_for(message_id, prefix="message", otherwise=f"line-{first.number}")
        is_new = name not in self._told
        self.counts.messages += is_new
        self._told.add(name)
        self._say(turn, pieces, name if is_new else None)
        self._conclude(turn, pieces)

    def results(self, line: Line) -> None:
        """Record what calls came to, and what the user said beside it."""
        outputs: list[tuple[str, JsonValue]] = []
        beside: list[JsonObject] = []
        for block in blocks_of(line):
            text = block.get("text")
            if block.get("type") == "tool_result":
                outputs.append(self._complete(line, block))
            elif isinstance(text, str) and is_interrupt(text):
                self.interrupt(line)
            else:
                beside.append(block)
        if beside:
            turn = self._turn or self._start(line, [])
            message = self._user_message(line, beside)
            self._last_message = turn.place(text_or_none(message["message_id"]))
            self._emit("message-recorded", {"message": message}, line, turn)
        self._structured_result(line, outputs)

    def interrupt(self, line: Line) -> None:
        """Note that the user stopped the turn; results may still come before it is closed."""
        if self._turn is None or self._turn.interrupt is not None:
            self.keep(line, "interrupt", line.record)
        else:
            self._turn.interrupt = line

    def boundary(self, line: Line) -> None:
        """Note that the messages up to here were summarised."""
        self._boundary_after = self._last_message
        self.keep(line, line.label, line.record)

    def summary(self, line: Line) -> None:
        """Let the summary stand in for what was said before the boundary."""
        text = "\n\n".join(_texts(blocks_of(line)))
        through = self._boundary_after or self._last_message
        self._boundary_after = None
        if through is None or not text:
            self.keep(line, line.label, line.record)
            self._lose(line, "compaction-without-history")
        else:
            data: JsonObject = {"summary": text, "through_message_id": through}
            self._emit("history-compacted", data, line, None)

    def keep(self, line: Line, label: str, value: JsonValue) -> None:
        """Keep `value` as opaque data, within the turn that is open."""
        self.keep_at(line.number, line.at, label, value)

    def keep_at(self, number: int, at: datetime | None, label: str, value: JsonValue) -> None:
        """Keep `value`, which stands on line `number`, as opaque data."""
        self.counts.kept_as_data += 1
        data: JsonObject = {"kind": f"claude-code/{label}", "data": value}
        self._append("data-recorded", data, number, at, self._turn)

    def settle(self) -> None:
        """Close the turn if the lines so far show that it has ended."""
        if self._turn is not None and self._turn.has_ended:
            self._close()

    def _start(self, line: Line, messages: list[JsonValue]) -> OpenTurn:
        turn_id = id_for(line.uuid, prefix="turn", otherwise=f"line-{line.number}")
        turn_id = _unused(turn_id, self._turn_ids)
        self._turn = OpenTurn(turn_id=turn_id, line=line, messages=len(messages))
        self.counts.turns += 1
        self._emit("turn-started", {"messages": messages}, line, self._turn)
        return self._turn

    def _close(self) -> None:
        turn = self._turn
        if turn is None:
            return
        self._turn = None
        line = turn.interrupt or turn.line
        kind, data = turn.ending()
        self._emit(kind, data, line, turn)

    def _user_message(self, line: Line, blocks: list[JsonObject]) -> JsonObject:
        name = name_for(line.uuid, prefix="message", otherwise=f"line-{line.number}")
        name = _unused(name, self._told)
        self.counts.messages += 1
        self._last_message = name
        content = line.message.get("content")
        parts: list[JsonValue] = [part_of(block) for block in blocks]
        if isinstance(content, str):
            return {"role": "user", "content": content, "message_id": name}
        return {"role": "user", "content": parts, "message_id": name}

    def _say(self, turn: OpenTurn, pieces: Sequence[Line], name: str | None) -> None:
        """Record the pieces' parts and calls in order; the first record bears the name."""
        for line in pieces:
            before = len(self.events)
            parts: list[JsonValue] = []
            for block in blocks_of(line):
                if block.get("type") == "tool_use":
                    self._speak(turn, line, parts, name)
                    name, parts = None, []
                    self._request(turn, line, block)
                else:
                    parts.append(part_of(block))
                    turn.last = "reasoning" if "thinking" in str(block.get("type")) else "text"
            name = self._speak(turn, line, parts, name)
            if len(self.events) == before:
                self._lose(line, "empty-message")

    def _speak(
        self, turn: OpenTurn, line: Line, parts: list[JsonValue], name: str | None
    ) -> str | None:
        if not parts:
            return name
        message: JsonObject = {"role": "assistant", "content": parts}
        if name is not None:
            message["message_id"] = name
        self._last_message = turn.speak(name)
        self._emit("message-recorded", {"message": message}, line, turn)
        return None

    def _request(self, turn: OpenTurn, line: Line, block: JsonObject) -> None:
        call = _call_name(text_or_none(block.get("id")), line)
        arguments = block.get("input", {})
        if not isinstance(arguments, dict | str):
            arguments = dump(arguments).decode()
        tool = name_for(text_or_none(block.get("name")), prefix="tool", otherwise="unnamed")
        data: JsonObject = {"tool_call_id": call, "name": tool, "arguments": arguments}
        self._emit("tool-call-requested", data, line, turn)
        self._calls.ask(call, turn.turn_id)
        self._last_message = turn.speak(None)
        self.counts.tool_calls += 1
        turn.open_calls += 1
        turn.last = "call"

    def _complete(self, line: Line, block: JsonObject) -> tuple[str, JsonValue]:
        call = _call_name(text_or_none(block.get("tool_use_id")), line)
        output = block.get("content")
        data: JsonObject = {"tool_call_id": call, "output": output}
        if block.get("is_error") is True:
            data["is_error"] = True
            if is_denied(output, is_error=True):
                data["denied"] = True
        self.counts.tool_results += 1
        asked_in = self._calls.answer(call)
        if asked_in is None:
            self._complete_unasked(line, call, data, block)
        elif self._turn is None or self._turn.turn_id != asked_in:
            self._lose(line, "late-result")
            late: JsonObject = {"turn_id": asked_in, **data}
            self._append("tool-call-completed", late, line.number, line.at, None)
        else:
            self._turn.open_calls -= 1
            self._place_result(line, data, self._turn)
        return call, output

    def _complete_unasked(self, line: Line, call: str, data: JsonObject, block: JsonObject) -> None:
        """Record a result that no call waits for; a call has one result, so a second is data."""
        turn = self._turn or self._start(line, [])
        if self._calls.answer_unasked(call, turn.turn_id):
            self._lose(line, "result-without-call")
            self._place_result(line, data, turn)
        else:
            self._lose(line, "repeated-result")
            self.keep(line, "repeated-result", block)

    def _place_result(self, line: Line, data: JsonObject, turn: OpenTurn) -> None:
        turn.last = "result"
        self._last_message = turn.place(None)
        self._emit("tool-call-completed", data, line, turn)

    def _structured_result(self, line: Line, outputs: Sequence[tuple[str, JsonValue]]) -> None:
        structured = line.record.get("toolUseResult")
        if structured is None:
            return
        if any(repeats(structured, output) for _, output in outputs):
            self.counts.repeats_dropped += 1
            return
        value: JsonObject = {"tool_call_id": outputs[0][0], "tool_use_result": structured}
        self.keep(line, "tool-use-result", value)

    def _conclude(self, turn: OpenTurn, pieces: Sequence[Line]) -> None:
        """Take from the pieces of a message what they say of its end and its cost."""
        stops = [text_or_none(line.message.get("stop_reason")) for line in pieces]
        turn.stop_reason = next((stop for stop in reversed(stops) if stop), None)
        turn.failure = None
        last = pieces[-1]
        if last.record.get("isApiErrorMessage") is True:
            said = result_text(last.message.get("content"))
            turn.failure = shortened(said, _FAILURE_LENGTH)
        usage = self._usage.spent(pieces)
        if usage is not None:
            self._emit("usage-recorded", usage, last, turn)

    def _emit(self, kind: str, data: JsonObject, line: Line, turn: OpenTurn | None) -> None:
        if turn is not None:
            turn.line = line
        self._append(kind, data, line.number, line.at, turn)

    def _append(
        self,
        kind: str,
        data: JsonObject,
        number: int,
        at: datetime | None,
        turn: OpenTurn | None,
    ) -> None:
        if turn is not None:
            data = {"turn_id": turn.turn_id, **data}
        event = TranslatedEvent(type=kind, data=dump(data), occurred_at=at, line=number)
        self.events.append(event)

    def _lose(self, line: Line, code: str) -> None:
        self.losses.append(Loss(line=line.number, code=code, detail=""))


def _unused(name: str, used: set[str]) -> str:
    """Return `name`, or if it is taken one that only depends on it and on what took it."""
    while name in used:
        name = short_digest(name)
    used.add(name)
    return name


def _call_name(call: str | None, line: Line) -> str:
    return name_for(call, prefix="call", otherwise=f"line-{line.number}")


def _texts(blocks: Iterable[JsonObject]) -> Iterable[str]:
    texts = (block.get("text") for block in blocks)
    return [text for text in texts if isinstance(text, str) and text]
