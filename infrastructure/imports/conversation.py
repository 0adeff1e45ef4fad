"""Which events does a conversation amount to, told step by step?

A fresh prompt begins a turn, and the turn ends before the next one, or where the source says so.
What was written never changes, so a longer source only adds to it. For sources that tell messages
in their order; a tree of messages is put in order first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from domain.json_text import JsonValue, dump
from infrastructure.imports.claude_lines import JsonObject, id_for, name_for, short_digest
from infrastructure.imports.translation import Loss, TranslatedEvent
from infrastructure.imports.turn_state import CallLedger, Counts, Last, Turn

OWNER_LOST: Final = "owner-lost"
NO_ANSWER: Final = "no-answer"


@dataclass(slots=True)
class Conversation:
    """One session's events so far.

    Attributes:
        source: What `data-recorded` kinds begin with.
        line, at: Where the source stands, and when that was.
        last_message: The id of the newest message of the conversation.
    """

    source: str
    line: int = 0
    at: datetime | None = None
    events: list[TranslatedEvent] = field(default_factory=list[TranslatedEvent])
    losses: list[Loss] = field(default_factory=list[Loss])
    told: Counts = field(default_factory=Counts)
    last_message: str | None = None
    _turn: Turn | None = None
    _calls: CallLedger = field(default_factory=CallLedger)
    _names: set[str] = field(default_factory=set[str])
    _turn_ids: set[str] = field(default_factory=set[str])
    _held: list[JsonObject] = field(default_factory=list[JsonObject])
    _held_at: list[int] = field(default_factory=list[int])

    @property
    def in_turn(self) -> bool:
        """Tell whether a turn is open."""
        return self._turn is not None

    @property
    def open_calls(self) -> int:
        """Return how many calls of the open turn have no result."""
        return 0 if self._turn is None else self._turn.open_calls

    @property
    def held(self) -> Sequence[int]:
        """Return the lines of configuration that no turn has carried yet."""
        return tuple(self._held_at)

    def stand(self, line: int, at: datetime | None = None) -> None:
        """Go on to a line of the source."""
        self.line, self.at = line, at

    def resume(self, turn_id: str, messages: int, calls: Sequence[str], last: Last) -> None:
        """Go on in a turn that the log has open already."""
        self._turn = Turn(turn_id=turn_id, messages=messages, last=last, open_calls=len(calls))
        self._turn_ids.add(turn_id)
        for call in calls:
            self._calls.ask(call, turn_id)

    def message_id(self, given: str | None, otherwise: str) -> str:
        """Return a message's id: its own if it can be one and is new, else a like one."""
        name = name_for(given, prefix="message", otherwise=otherwise)
        while name in self._names:
            name = short_digest(name)
        self._names.add(name)
        return name

    def configure(self, message: JsonObject) -> None:
        """Take a system or developer message: into the open turn, else into the next one."""
        self.told.messages += 1
        if self._turn is None:
            self._held.append(message)
            self._held_at.append(self.line)
        else:
            self.last_message = self._turn.place(_id_in(message))
            self._emit("message-recorded", {"message": message})

    def prompt(self, message: JsonObject, turn_id: str | None, otherwise: str) -> None:
        """Begin a turn with what the user said."""
        self.close()
        self.told.messages += 1
        self._start(turn_id, otherwise, message)

    def add_input(self, message: JsonObject) -> None:
        """Record what the user said within the open turn."""
        turn = self._turn or self._start(None, f"line-{self.line}")
        self.told.messages += 1
        self.last_message = turn.place(_id_in(message))
        self._emit("message-recorded", {"message": message})

    def say(self, parts: JsonValue, name: str | None, *, counts: bool = True) -> None:
        """Record what the assistant said."""
        turn = self._turn or self._start(None, f"line-{self.line}")
        message: JsonObject = {"role": "assistant", "content": parts}
        if name is not None:
            message["message_id"] = name
        self.last_message = turn.speak(name)
        self.told.messages += counts
        turn.last = "text"
        self._emit("message-recorded", {"message": message})

    def call(self, call_id: str, name: str | None, arguments: JsonValue) -> str:
        """Record a call; return the id of the turn that asked for it."""
        turn = self._turn or self._start(None, f"line-{self.line}")
        if not isinstance(arguments, dict | str):
            arguments = dump(arguments).decode()
        data: JsonObject = {
            "tool_call_id": call_id,
            "name": name_for(name, prefix="tool", otherwise="unnamed"),
            "arguments": arguments,
        }
        self._emit("tool-call-requested", data)
        self._calls.ask(call_id, turn.turn_id)
        self.last_message = turn.speak(None)
        self.told.tool_calls += 1
        turn.open_calls += 1
        turn.last = "call"
        return turn.turn_id

    def result(
        self, call_id: str, output: JsonValue, *, is_error: bool = False, denied: bool = False
    ) -> None:
        """Record what a call came to: in its turn, late after it, or as data if it is a repeat."""
        data: JsonObject = {"tool_call_id": call_id, "output": output}
        if is_error:
            data["is_error"] = True
        if denied:
            data["denied"] = True
        self.told.tool_results += 1
        asked_in = self._calls.answer(call_id)
        turn = self._turn
        if asked_in is None:
            turn = turn or self._start(None, f"line-{self.line}")
            if not self._calls.answer_unasked(call_id, turn.turn_id):
                self.lose("repeated-result")
                self.keep("repeated-result", data)
                return
            self.lose("result-without-call")
        elif turn is None or turn.turn_id != asked_in:
            self.lose("late-result")
            self._append("tool-call-completed", {"turn_id": asked_in, **data})
            return
        else:
            turn.open_calls -= 1
        turn.last = "result"
        self.last_message = turn.place(None)
        self._emit("tool-call-completed", data)

    def record(self, kind: str, data: JsonObject) -> None:
        """Record another event of the open turn; without one there is nothing to tie it to."""
        if self._turn is None:
            self.keep(kind, data)
        else:
            self._emit(kind, data)

    def keep(self, label: str, value: JsonValue) -> None:
        """Keep `value` as opaque data, within the turn that is open."""
        self.told.kept_as_data += 1
        data: JsonObject = {"kind": f"{self.source}/{label}", "data": value}
        self._emit("data-recorded", data)

    def compact(self, summary: str) -> bool:
        """Let a summary stand for all that was said; say whether there was anything."""
        if self.last_message is None or not summary:
            return False
        data: JsonObject = {"summary": summary, "through_message_id": self.last_message}
        self._append("history-compacted", data)
        if self._turn is not None:
            self._turn.speaking = None
        return True

    def end(self, kind: str, data: JsonObject) -> None:
        """End the open turn, if there is one, as the source says."""
        if self._turn is not None:
            self._emit(kind, data)
            self._turn = None

    def close(self) -> None:
        """End the open turn, if there is one, since another begins."""
        turn = self._turn
        if turn is None:
            return
        if turn.open_calls > 0:
            self.end("turn-interrupted", {"reason": OWNER_LOST})
        elif turn.last == "input":
            self.end("turn-interrupted", {"reason": NO_ANSWER})
        else:
            self.end("turn-completed", {})

    def settle(self) -> None:
        """End the open turn if what was told so far shows that it has ended."""
        if self._turn is not None and self._turn.last == "text" and not self._turn.open_calls:
            self.close()

    def lose(self, code: str, detail: str = "") -> None:
        """Note that something of this line is not carried as it was."""
        self.losses.append(Loss(line=self.line, code=code, detail=detail))

    def _start(
        self, turn_id: str | None, otherwise: str, message: JsonObject | None = None
    ) -> Turn:
        name = id_for(turn_id, prefix="turn", otherwise=otherwise)
        while name in self._turn_ids:
            name = short_digest(name)
        self._turn_ids.add(name)
        messages: list[JsonValue] = [*self._held, *([] if message is None else [message])]
        self._held.clear()
        self._held_at.clear()
        self._turn = Turn(turn_id=name)
        self.told.turns += 1
        for each in messages:
            self.last_message = self._turn.place(_id_in(each))
        self._emit("turn-started", {"messages": messages})
        return self._turn

    def _emit(self, kind: str, data: JsonObject) -> None:
        self._append(kind, data if self._turn is None else {"turn_id": self._turn.turn_id, **data})

    def _append(self, kind: str, data: JsonObject) -> None:
        self.events.append(
            TranslatedEvent(type=kind, data=dump(data), occurred_at=self.at, line=self.line)
        )


def _id_in(message: JsonValue) -> str | None:
    name = message.get("message_id") if isinstance(message, dict) else None
    return name if isinstance(name, str) else None
