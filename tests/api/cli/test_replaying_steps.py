"""Steps by index: the same however one comes to them, and never more in memory than so many."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from api.cli import replaying_steps
from api.cli.failures import Failure
from api.cli.replaying_facts import fact_of
from api.cli.replaying_places import index_at, index_from
from api.cli.replaying_steps import Steps
from domain.json_text import dump
from domain.times import rfc3339

TURNS = 60
TURN: tuple[tuple[str, str], ...] = (
    ("turn-started", '{"turn_id":"T","messages":[{"role":"user","content":"hi"}]}'),
    ("message-recorded", '{"turn_id":"T","message":{"role":"assistant","content":"yes"}}'),
    ("turn-completed", '{"turn_id":"T"}'),
)


def event(version: int, type_: str, data: str, **more: str) -> bytes:
    told = {
        "id": f"e{version}",
        "version": version,
        "position": str(version),
        "type": type_,
        "schema": 1,
        "affects": "none" if type_ == "turn-completed" else "history",
        "recorded_at": rfc3339(version * 1_000_000),
        "body_digest": "00" * 32,
        "hash": f"{version:064x}",
        **more,
    }
    return dump({**told})[:-1] + b',"data":' + data.encode() + b"}"


def log() -> list[bytes]:
    """Return the events of 60 short turns."""
    found = [event(1, "session-opened", "{}", affects="none")]
    for number in range(1, TURNS + 1):
        for type_, data in TURN:
            turn_id = f"t{number}"
            found.append(event(len(found) + 1, type_, data.replace("T", turn_id), turn_id=turn_id))
    return found


@dataclass
class Log:
    """A source that has the events of one session; `read` counts how many were asked for."""

    held: list[bytes] = field(default_factory=log)
    read: int = 0

    def events(self, session_id: str, after: int, *, follow: bool) -> Iterator[bytes]:
        assert (session_id, follow) == ("s", False)
        for each in self.held[after:]:
            self.read += 1
            yield each

    def event(self, session_id: str, version: int) -> bytes:
        assert session_id == "s"
        return self.held[version - 1]

    def blob(self, digest: str) -> Iterator[bytes]:
        raise Failure("no-such-blob", digest)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep little, so that a short log is long."""
    monkeypatch.setattr(replaying_steps, "STEPS_KEPT", 8)
    monkeypatch.setattr(replaying_steps, "STATES_KEPT", 4)
    monkeypatch.setattr(replaying_steps, "STRIDE", 4)


def over(held: Log) -> Steps:
    return Steps(held, "default", "s", len(held.held))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] - it has all that steps ask for


@pytest.mark.usefixtures("few")
def test_a_step_is_the_same_however_one_comes_to_it() -> None:
    held = Log()
    steps = over(held)
    forward = [steps.step(index) for index in range(len(held.held))]
    to_and_fro = [number * 67 % len(forward) for number in range(len(forward))]

    for index in [*reversed(range(len(forward))), *to_and_fro]:
        assert steps.step(index) == forward[index]
        assert steps.event(index) == held.held[index]
    assert steps.step(len(forward)) is None
    assert steps.newest_version == len(forward)


@pytest.mark.usefixtures("few")
def test_so_much_is_kept_and_a_step_back_folds_no_more_than_lies_between() -> None:
    held = Log()
    steps = over(held)

    assert steps.last() == len(held.held) - 1
    most = 0
    for index in reversed(range(len(held.held))):
        held.read = 0
        steps.step(index)
        most = max(most, held.read)
    assert len(steps._kept) <= 8  # pyright: ignore[reportPrivateUsage]
    assert len(steps._states) <= 5  # pyright: ignore[reportPrivateUsage]
    assert most <= 64


def test_stepping_asks_for_no_more_than_the_next_event() -> None:
    held = Log()
    steps = over(held)

    for index in range(3):
        steps.step(index)

    assert held.read == 3


@pytest.mark.usefixtures("few")
def test_places_are_found_from_wherever_one_stands() -> None:
    def places(steps: Steps) -> list[int]:
        return [
            index_at(steps, "40"),
            index_at(steps, "t30"),
            index_at(steps, "#2"),
            index_at(steps, "1970-01-01T00:01:40.5Z"),
            index_from(steps, "1970-01-01T00:01:40.5Z"),
            index_from(steps, "500"),
            index_at(steps, "500"),
            index_at(steps, "0"),
        ]

    wanted = [39, 88, 4, 99, 100, 181, 180, 0]
    assert places(over(Log())) == wanted
    ended = over(Log())
    ended.last()
    ended.step(0)
    assert places(ended) == wanted


def test_events_that_come_later_are_seen() -> None:
    held = Log()
    more = held.held[4:]
    del held.held[4:]
    steps = over(held)

    assert (steps.last(), steps.step(4)) == (3, None)
    held.held += more
    assert (steps.last(), steps.newest_version) == (180, 181)


def test_what_is_gone_or_cut_is_read_as_the_log_reads_it() -> None:
    names = ("default", "s")
    gone = event(1, "turn-started", "null")
    bytes_ = event(1, "turn-started", "null", data_base64="/w==")
    cut = '{"kind":"k","data":"x","blobs":[{"at":"/data","sha256":"%s","size":9,' % ("ab" * 32)
    cut += '"media_type":"text/plain; charset=utf-8","kept":1}]}'
    missing = event(1, "data-recorded", cut)

    def absent(_: str) -> bytes | None:
        return None

    reasons = [
        getattr(fact_of(each, names, absent).event, "reason", None)
        for each in (gone, bytes_, missing)
    ]
    assert reasons == ["missing-body", "unreadable", "missing-body"]


def test_an_event_told_in_another_way_is_refused() -> None:
    for strange in (b'{"version":1}', event(1, "turn-started", "{}", hash="none")):
        with pytest.raises(Failure) as caught:
            fact_of(strange, ("default", "s"), lambda _: None)
        assert caught.value.code == "not-turnlog"
