"""Histories that go back and forth, and what a plain list says was to be seen at each version."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from hypothesis import strategies as st

from domain import commands as c
from domain.evolve import evolve
from domain.keys import keys_of
from domain.recorded import Recorded
from domain.refusals import Refusal
from domain.state import Move, State
from infrastructure.command_handler import Target
from tests.infrastructure.writing import NOBODY, Store, propose, target

Step: TypeAlias = tuple[str, int, int]
STEPS = st.tuples(
    st.sampled_from(
        ["turn"] * 4 + ["long"] * 2 + ["silent", "open", "rewind", "rewind", "to"]
        + ["redo", "switch", "switch", "compact", "late"]
    ),
    st.integers(0, 9),
    st.integers(0, 2),
)  # fmt: skip
WANDERINGS = st.lists(STEPS, min_size=3, max_size=18)


class Seen(NamedTuple):
    """What was in sight at a version: indexes of messages, ids of turns; and how much archived."""

    path: tuple[int, ...]
    turns: tuple[str, ...]
    archived: int


@dataclass
class Plain:
    """A session's history by plain lists.

    Attributes:
        seen: What was in sight at each version.
        before: Which message each one followed when it was placed, by index; -1 for none.
        depth: How many came before it then.
    """

    state: State = field(default_factory=State)
    seen: list[Seen] = field(default_factory=lambda: [Seen((), (), 0)])
    before: dict[int, int] = field(default_factory=dict[int, int])
    depth: dict[int, int] = field(default_factory=dict[int, int])
    started: dict[str, int] = field(default_factory=dict[str, int])

    def take(self, fact: Recorded) -> None:
        """Take one more fact."""
        changes = evolve(self.state, fact)
        path, turns, archived = self.seen[-1]
        for turn in changes.turns:
            if turn.turn_id not in self.state.turns:
                self.started[turn.turn_id] = len(self.seen)
                turns = (*turns, turn.turn_id)
        for message in changes.messages:
            if message.index not in self.state.messages:
                self.before[message.index] = path[-1] if path else -1
                self.depth[message.index] = len(path)
                path = (*path, message.index)
        for move in changes.moves:
            path, turns, archived = self._moved(move, fact, Seen(path, turns, archived))
        self.state.apply(changes)
        self.seen.append(Seen(path, turns, archived))

    def _moved(self, move: Move, fact: Recorded, now: Seen) -> Seen:
        if move.kind == "rewound":
            return self.seen[self.started[getattr(fact.event, "turn_id", "")] - 1]
        if move.kind == "reverted":
            return self.seen[getattr(fact.event, "rewind_version", 0) - 1]
        return now._replace(archived=move.after.archived)


@dataclass
class Wanderer:
    """Takes steps in a session, and remembers what is in sight by plain lists."""

    store: Store
    where: Target
    turns: int = 0
    plain: Plain = field(default_factory=Plain)

    def take(self, step: Step) -> None:
        """Take a step; one that is refused leaves all as it was."""
        with suppress(Refusal):
            _KINDS[step[0]](self, step[1], step[2])
        for fact in self.facts()[len(self.plain.seen) - 1 :]:
            self.plain.take(fact)

    def facts(self) -> list[Recorded]:
        """Return what was recorded."""
        return self.store.facts(self.where.session_id)

    def command(self, command: c.SessionCommand) -> None:
        """Carry a command out."""
        self.store.runner.run(
            lambda attempt: self.store.handler.carry_out(
                attempt, self.where, [command], keys_of([command]), caller=NOBODY
            )
        )

    def events(self, *said: tuple[str, str]) -> None:
        """Record events of the newest turn, each one by itself."""
        for type_, data in said:
            body = f'{{"turn_id":"t{self.turns}",{data}}}'.encode()
            self.store.append([propose(type_, body)], self.where.session_id)

    def summary(self, place: int) -> tuple[str, str] | None:
        """Return a summary through one of the messages in sight."""
        path = self.plain.seen[-1].path
        if not path:
            return None
        name = self.plain.state.messages[path[place % len(path)]].message_id
        return "history-compacted", f'"summary":"so far","through_message_id":"{name}"'


def wandered(store: Store, steps: Sequence[Step], session_id: str) -> Wanderer:
    """Return who took these steps in a session."""
    wanderer = Wanderer(store, target(session_id))
    for step in steps:
        wanderer.take(step)
    return wanderer


def asked(count: int) -> tuple[str, str]:
    """Return the beginning of a turn with so many messages."""
    said = ",".join('{"role":"user","content":"go"}' for _ in range(count))
    return "turn-started", f'"messages":[{said}]'


def answer(text: str, **more: str) -> tuple[str, str]:
    """Return something that the assistant says."""
    given = "".join(f',"{name}":"{value}"' for name, value in more.items())
    said = f'"message":{{"role":"assistant","content":"{text}"{given}}}'
    return "message-recorded", said


ENDED = ("turn-completed", '"stop_reason":"end"')


def _turn(wanderer: Wanderer, number: int, asks: int) -> None:
    wanderer.turns += 1
    said = [answer("a"), answer("b")][: number % 3]
    wanderer.events(asked(1 + asks % 2), *said, ENDED)


def _long(wanderer: Wanderer, number: int, asks: int) -> None:
    """A turn with a call, a message that grows, and perhaps a summary in its midst."""
    wanderer.turns += 1
    name = f"m{wanderer.turns}"
    wanderer.events(
        asked(1),
        ("tool-call-requested", '"tool_call_id":"c","name":"ls","arguments":{}'),
        ("tool-call-completed", '"tool_call_id":"c","output":1'),
        answer("a", message_id=name, status="partial"),
    )
    summary = wanderer.summary(number) if asks else None
    if summary is not None:
        with suppress(Refusal):
            wanderer.events(summary)
    wanderer.events(
        answer("ab", message_id=name, status="partial"),
        answer("abc", message_id=name),
        answer("d"),
        answer("e"),
        ENDED,
    )


def _silent(wanderer: Wanderer, _: int, __: int) -> None:
    wanderer.turns += 1
    wanderer.events(asked(0), ENDED)


def _open(wanderer: Wanderer, number: int, _: int) -> None:
    """A turn that is left waiting for a gate, and is interrupted by what comes."""
    wanderer.turns += 1
    gate = f"g-{wanderer.where.session_id}-t{wanderer.turns}"
    asks = f'"gate_id":"{gate}","kind":"permission","tool_call_id":"c","tool":"rm"'
    wanderer.events(asked(1), ("gate-opened", asks))
    if number % 2:
        wanderer.events(("turn-interrupted", '"reason":"stopped"'))


def _to(wanderer: Wanderer, number: int, _: int) -> None:
    turn_id = f"t{number % (wanderer.turns + 1)}"
    wanderer.command(c.Rewind(to_turn=turn_id, interrupt=True))


def _switch(wanderer: Wanderer, number: int, _: int) -> None:
    rewinds = [m.version for m in wanderer.plain.state.moves.values() if m.kind == "rewound"]
    if rewinds:
        version = rewinds[number % len(rewinds)]
        wanderer.command(c.Redo(rewind_version=version, interrupt=True))


def _compact(wanderer: Wanderer, number: int, _: int) -> None:
    summary = wanderer.summary(number)
    if summary is not None:
        wanderer.events(summary)


def _late(wanderer: Wanderer, _: int, __: int) -> None:
    wanderer.events(("tool-call-completed", '"tool_call_id":"c","output":"late"'))


_KINDS: dict[str, Callable[[Wanderer, int, int], None]] = {
    "turn": _turn,
    "long": _long,
    "silent": _silent,
    "open": _open,
    "rewind": lambda w, number, _: w.command(c.Rewind(turns=1 + number % 3, interrupt=True)),
    "to": _to,
    "redo": lambda w, _, __: w.command(c.Redo(interrupt=True)),
    "switch": _switch,
    "compact": _compact,
    "late": _late,
}
