"""How do tests tell a session what a client believes its history to be?"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

from sqlalchemy import Connection

from domain import commands as c
from domain.dispatch.outcomes import Step
from domain.json_text import JsonValue, dump, parse
from domain.keys import keys_of
from domain.messages import readable
from infrastructure.command_handler import Appended
from infrastructure.hosting.asking import ClientHistory
from infrastructure.hosting.compared import Compared
from infrastructure.hosting.priors import compared_prior, steps_for
from infrastructure.hosting.requests import Heard, heard
from infrastructure.proposing import proposal_of
from infrastructure.reading.moment import moment
from infrastructure.reading.transcript import live_view
from projections.comparing.told import Form
from projections.transcript import TranscriptMessage
from tests.infrastructure.writing import NOBODY, Store, target

Json = dict[str, Any]


def user(text: str, **more: JsonValue) -> Json:
    """Return what a person says."""
    return {"role": "user", "content": text, **more}


def assistant(*parts: JsonValue, **more: JsonValue) -> Json:
    """Return what the agent says: texts, and other parts."""
    said: list[JsonValue] = [
        {"type": "text", "text": part} if isinstance(part, str) else part for part in parts
    ]
    return {"role": "assistant", "content": said, **more}


def call(call_id: str, name: str = "read", **arguments: JsonValue) -> Json:
    """Return a call as a part."""
    return {"type": "tool_call", "tool_call_id": call_id, "name": name, "arguments": arguments}


def result(call_id: str, output: JsonValue = "done") -> Json:
    """Return a result as a message of its own."""
    part: Json = {"type": "tool_result", "tool_call_id": call_id, "output": output}
    return {"role": "tool", "content": [part]}


def hear(*messages: Json, form: Form | None = None) -> Heard:
    """Return what a client that sends these messages says."""
    return heard(cast("list[JsonValue]", list(messages)), form)


def whole(told: Heard) -> ClientHistory:
    """Return all that is told, as what came before something new."""
    said = [each for message in told.messages for each in message.told]
    while said and said[0].role in {"system", "developer"}:
        del said[0]
    return ClientHistory(messages=[each for each in said if each.parts], form=told.form)


def history(*messages: Json, form: Form | None = None) -> ClientHistory:
    """Return these messages as what came before something new."""
    return whole(hear(*messages, form=form))


@dataclass
class Telling:
    """A session that clients tell its history."""

    store: Store
    session_id: str = "s1"
    turn_ids: Iterator[int] = field(default_factory=lambda: count(1))

    def carry_out(self, *steps: c.SessionCommand) -> Appended:
        """Carry out steps in one transaction."""
        return self.store.runner.run(
            lambda attempt: self.store.handler.carry_out(
                attempt, target(self.session_id), steps, keys_of(steps), caller=NOBODY
            )
        )

    def compare(self, prior: ClientHistory, rewind: c.Rewind | None = None) -> Compared:
        """Return how a prior stands to the session."""
        with self.store.database.read() as connection:
            return compared_prior(connection, target(self.session_id), prior, rewind=rewind)

    def follow(
        self,
        step: Step,
        prior: ClientHistory,
        rewind: c.Rewind | None = None,
        reasons: Sequence[str] = (),
    ) -> Appended:
        """Let a prior become the history."""
        known = self.compare(prior, rewind)
        names = self.turn_ids
        steps = steps_for(step, prior, known, reasons, mint=lambda: f"told-{next(names)}")
        return self.carry_out(*steps)

    def say(self, turn_id: str, text: str, *answers: str) -> None:
        """Record a whole turn."""
        self.record("turn-started", turn_id=turn_id, messages=[user(text)])
        for answer in answers:
            self.record("message-recorded", turn_id=turn_id, message=assistant(answer))
        self.record("turn-completed", turn_id=turn_id)

    def record(self, type_: str, **data: JsonValue) -> Appended:
        """Record one fact."""
        return self.carry_out(c.Record(proposal=proposal_of(type_, dump(data))))

    def said(self) -> list[tuple[str | None, str, str]]:
        """Return who says what in which turn, as the model sees it."""
        return [(each.turn_id, each.role, _words(each)) for each in self.transcript()]

    def transcript(self) -> Sequence[TranscriptMessage]:
        """Return what the model sees."""
        with self.reading() as connection:
            return live_view(connection, moment(connection, target(self.session_id))).messages

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """Give a connection to read with."""
        with self.store.database.read() as connection:
            yield connection


def facts_in(appended: Appended) -> list[Json]:
    """Return what was recorded: the type, and the data."""
    return [
        {"type": fact.envelope.type, **cast("Json", parse(fact.body or b"{}"))}
        for fact in appended.facts
    ]


def kinds_in(appended: Appended) -> list[str]:
    """Return the types of what was recorded."""
    return [fact.envelope.type for fact in appended.facts]


def _words(message: TranscriptMessage) -> str:
    shown = {"text": "text", "tool_call": "name", "tool_result": "output"}
    return "|".join(
        str(part[shown[kind]])
        for part in readable(message.parts)
        if isinstance(kind := part["type"], str) and kind in shown
    )
