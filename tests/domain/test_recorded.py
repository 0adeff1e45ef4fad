"""Names are permanent, and every fact is chained to the one before it."""

from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType

import pytest

from domain.decided import fact
from domain.json_text import parse
from domain.raw_json import RawJson, dumped, opaque_members, with_member, without_raw
from domain.recorded import Envelope, body_digest, chained_hash
from domain.refusals import ALL, ImportConflict, RecordConflict, Refusal, SessionDamaged
from domain.registry import KINDS, NAMES, PRODUCIBLE
from domain.state import Loss, State
from domain.times import microseconds, rfc3339
from tests.scenario import OPENED, RUNNER, recorded, started


def test_every_event_has_one_permanent_name() -> None:
    assert len(NAMES) == len(KINDS)
    assert set(KINDS) > PRODUCIBLE
    assert fact(started()).type == "turn-started"
    assert fact(started()).turn_id == "t1"
    assert fact(OPENED).turn_id is None


ENVELOPE = recorded(OPENED)[0].envelope._replace(
    producer=RUNNER,
    occurred_at=1,
    actor="key:1",
    batch=1,
    turn_id="t1",
    trace_id="trace",
)


@pytest.mark.parametrize(
    "changed",
    [
        ENVELOPE._replace(project_id="other"),
        ENVELOPE._replace(session_id="other"),
        ENVELOPE._replace(version=2),
        ENVELOPE._replace(event_id="other"),
        ENVELOPE._replace(type="session-renamed"),
        ENVELOPE._replace(schema=2),
        ENVELOPE._replace(affects="history"),
        ENVELOPE._replace(recorded_at=2),
        ENVELOPE._replace(occurred_at=None),
        ENVELOPE._replace(actor=None),
        ENVELOPE._replace(producer=None),
        ENVELOPE._replace(producer=replace(RUNNER, sequence=2)),
        ENVELOPE._replace(batch=None),
        ENVELOPE._replace(turn_id=None),
        ENVELOPE._replace(trace_id=None),
        ENVELOPE._replace(body_digest=b"\0" * 32),
    ],
)
def test_the_hash_covers_every_field_of_the_envelope(changed: Envelope) -> None:
    assert chained_hash(changed, b"\0" * 32) != chained_hash(ENVELOPE, b"\0" * 32)


def test_the_hash_covers_what_came_before() -> None:
    assert chained_hash(ENVELOPE, b"\0" * 32) != chained_hash(ENVELOPE, b"\1" * 32)


def test_a_body_is_known_by_its_salted_digest() -> None:
    assert body_digest(b"s", b"{}") != body_digest(b"t", b"{}")
    assert body_digest(b"s", b"{}") != body_digest(b"s", b"[]")


def test_a_copy_changes_alone() -> None:
    state = State()
    copy = state.copy()
    copy.losses[1] = Loss(version=1, count=None, turn_id=None)
    assert state.losses == {}


def test_refusals_know_their_place_and_are_all_listed() -> None:
    refused = RecordConflict(7)
    assert (refused.inside("a").at, refused.sequence) == (("a", "producer", "sequence"), 7)
    assert ImportConflict("other lines").detail == "other lines"
    assert "turnlog rebuild" in SessionDamaged().detail
    assert RecordConflict in ALL
    assert Refusal not in ALL


def test_raw_json_goes_out_as_it_came_in() -> None:
    raw = RawJson(b"[1.50, 2]")
    assert dumped({"a": raw, "b": (1, "x"), "c": None}) == b'{"a":[1.50, 2],"b":[1,"x"],"c":null}'
    assert without_raw({"a": [raw], 1: (True,)}) == {"a": [[1.5, 2]], "1": [True]}
    assert opaque_members(b'{"a": 1.50}') == {"a": b"1.50"}


def test_raw_json_that_was_read_before_is_not_read_again() -> None:
    value = parse(b"[1.5, 2]")
    raw = RawJson.of(b"[1.50, 2]", value)
    assert raw == RawJson(b"[1.50, 2]")
    assert raw.parsed() is value
    assert RawJson.of(b"null", None).parsed() is None


@pytest.mark.parametrize(
    ("raw", "written"),
    [
        (b"{}", b'{"id":"g"}'),
        (b"{ }", b'{"id":"g" }'),
        (b'{"a":1.50}', b'{"id":"g","a":1.50}'),
        (b'{"a":1.50,"id":null}', b'{"id":"g","a":1.50}'),
        (b'{"i\\u0064":"old"}', b'{"id":"g"}'),
    ],
)
def test_a_member_is_written_once(raw: bytes, written: bytes) -> None:
    assert with_member(raw, "id", "g") == written


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        (None, None),
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t01:00:00.000001+01:00", 1),
        ("1970-01-01 00:00:00z", 0),
        ("0001-01-01T00:00:00+00:00", -62_135_596_800_000_000),
        ("0001-01-01T00:00:00+23:59", None),
        ("9999-12-31T23:59:59.999999-00:01", None),
        ("2026-02-30T00:00:00Z", None),
        ("2026-01-01T00:00:00", None),
        ("2026-W01-1T00:00:00Z", None),
    ],
)
def test_a_moment_is_read_from_rfc_3339_alone(text: str | None, moment: int | None) -> None:
    assert microseconds(text) == moment


def test_a_moment_is_written_with_six_digits() -> None:
    assert rfc3339(-1) == "1969-12-31T23:59:59.999999Z"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (RawJson(b"1.50"), b"1.50"),
        (
            {"a": [RawJson(b'{"x": 1E5}'), 1.5, ("b", None)], "c": True},
            b'{"a":[{"x": 1E5},1.5,["b",null]],"c":true}',
        ),
        (
            {"exact": (Decimal("0.10000000000000000001"),), "raw": RawJson(b"[ ]")},
            b'{"exact":[0.10000000000000000001],"raw":[ ]}',
        ),
        (
            {"said": "\ue000gap\ue000", "raw": RawJson(b"7")},
            '{"said":"\ue000gap\ue000","raw":7}'.encode(),
        ),
        ({"plain": "é"}, '{"plain":"é"}'.encode()),
        (MappingProxyType({"a": MappingProxyType({"b": RawJson(b"0.10")})}), b'{"a":{"b":0.10}}'),
    ],
)
def test_what_passes_through_is_written_as_it_came(value: object, written: bytes) -> None:
    assert dumped(value) == written
    assert without_raw(RawJson(written)) == without_raw(value)
