"""A place has one session, whoever asks for it at the same time, and however often."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select, text

from domain import commands as c
from domain.json_text import JsonValue, dump
from domain.lanes.decide import LaneCommand, MarkResume, PruneLane, SuspendLane, decide
from domain.lanes.project_aliases import read_project_aliases
from domain.lanes.source import read_source
from domain.refusals import LaneDamaged
from infrastructure import tables as t
from infrastructure.lane_aliases import replace_aliases
from infrastructure.lanes.arriving import arrival, arrival_at
from infrastructure.lanes.lookup import FoundLane, find_lane
from infrastructure.lanes.resolving import Resolved
from infrastructure.rebuilding import rebuild
from infrastructure.runner import Attempt
from infrastructure.setting_rows import Change
from infrastructure.verification import verify_all
from tests.infrastructure.lanes.arrivals import TELEGRAM, lanes, resolve
from tests.infrastructure.writing import NOBODY, SECOND, Store, target, turn

ONE = "agent:main:telegram:dm:99"


def ask(store: Store, lane_id: str, command: LaneCommand) -> FoundLane:
    def work(attempt: Attempt) -> FoundLane:
        found = find_lane(attempt.connection, "default", lane_id)
        assert found is not None
        facts = decide(found.lane, found.standing, command)
        return lanes(store).append(attempt, ("default", lane_id), found, facts, NOBODY)

    return store.runner.run(work)


def carry_out(store: Store, session_id: str, *steps: c.SessionCommand) -> None:
    store.runner.run(
        lambda attempt: store.handler.carry_out(
            attempt, target(session_id), list(steps), caller=NOBODY
        )
    )


def move(store: Store, lane_id: str, source: dict[str, JsonValue]) -> None:
    def work(attempt: Attempt) -> None:
        found = find_lane(attempt.connection, "default", lane_id)
        assert found is not None
        there = arrival(attempt.connection, "default", read_source(source))
        lanes(store).move(attempt, found, there, NOBODY, follow=True)

    store.runner.run(work)


def put_aliases(store: Store, people: dict[str, JsonValue]) -> None:
    value: JsonValue = {"whatsapp": people}
    change = Change(actor="ann", now=store.clock.at)
    store.runner.run(
        lambda attempt: replace_aliases(
            attempt.connection, "default", (read_project_aliases(value), dump(value)), change
        )
    )


def now(store: Store, lane_id: str) -> FoundLane:
    with store.database.read() as connection:
        found = find_lane(connection, "default", lane_id)
    assert found is not None
    return found


def test_a_source_finds_its_lane_and_its_session_again(store: Store) -> None:
    first = resolve(store)
    assert (first.reason, first.created) == ("created", True)
    assert first.found.lane.lane_key == ONE
    again = resolve(store)
    assert (again.reason, again.created) == ("existing", False)
    assert again.session_id == first.session_id
    assert again.found.lane == first.found.lane


def test_a_hundred_at_once_open_one_session(store: Store) -> None:
    def again(_: int) -> Resolved:
        return resolve(store)

    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(again, range(100)))
    assert len({each.session_id for each in found}) == 1
    assert sum(each.created for each in found) == 1
    with store.database.read() as connection:
        opened = connection.execute(select(func.count()).select_from(t.heads)).scalar_one()
    assert opened == 1


def test_many_at_once_reset_a_suspended_lane_once(store: Store) -> None:
    first = resolve(store)
    store.append(turn("t1"), first.session_id)
    ask(store, first.found.lane_id, SuspendLane(reason="stuck"))

    def again(_: int) -> Resolved:
        return resolve(store)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(again, range(24)))
    assert sum(each.reason == "suspended" for each in found) == 1
    (session_id,) = {each.session_id for each in found}
    assert session_id != first.session_id
    lane = now(store, first.found.lane_id).lane
    assert (lane.previous_session_id, lane.had_activity) == (first.session_id, True)
    with store.database.read() as connection:
        head = t.heads.c
        ended = connection.execute(
            select(head.status, head.archived_reason).where(head.turns == 1)
        ).one()
    assert tuple(ended) == ("archived", "lane-suspended")


def test_only_what_counts_as_activity_moves_the_time_of_a_lane(store: Store) -> None:
    first = resolve(store)
    store.clock.at += 60 * SECOND
    assert resolve(store, touches=False).found.touched_at == first.found.touched_at
    resolve(store)
    assert now(store, first.found.lane_id).touched_at == store.clock.at


def test_a_lane_that_is_as_it_should_be_is_found_without_a_write(store: Store) -> None:
    first = resolve(store)
    came = arrival_at(first.found.lane_id, "default", first.found.lane)

    def peek() -> Resolved | None:
        with store.database.read() as connection:
            return lanes(store).peek(connection, came)

    found = peek()
    assert found is not None
    assert (found.session_id, found.reason) == (first.session_id, "existing")
    store.clock.at += 2 * SECOND
    assert peek() is None, "it has to be kept that something came"


def test_what_was_ended_by_accident_is_taken_up_again(store: Store) -> None:
    first = resolve(store)
    carry_out(store, first.session_id, c.ArchiveSession(reason="orphan-reaped"))
    healed = resolve(store)
    assert (healed.reason, healed.session_id) == ("healed", first.session_id)
    assert healed.found.standing.status == "open"
    carry_out(store, first.session_id, c.ArchiveSession())
    after = resolve(store)
    assert (after.reason, after.previous_session_id) == ("session-ended", first.session_id)


def test_a_new_session_is_set_up_as_the_one_before(store: Store) -> None:
    first = resolve(store)
    carry_out(store, first.session_id, c.SetApprovalMode(mode="read-only"))
    after = resolve(store, force_new=True)
    with store.database.read() as connection:
        modes = connection.execute(select(t.heads.c.approval_mode)).scalars().all()
    assert after.reason == "forced"
    assert list(modes) == ["read-only", "read-only"]


def test_a_lane_that_was_given_up_finds_its_session_again(store: Store) -> None:
    first = resolve(store)
    ask(store, first.found.lane_id, PruneLane())
    again = resolve(store)
    assert (again.reason, again.session_id) == ("recovered", first.session_id)
    assert again.found.lane.status == "open"


def test_a_conversation_goes_on_where_it_moved_and_is_followed(store: Store) -> None:
    first = resolve(store)
    ask(store, first.found.lane_id, MarkResume(reason="restart-timeout"))
    there = {**TELEGRAM, "chat_id": "-100"}
    move(store, first.found.lane_id, there)
    for source in (there, TELEGRAM):
        found = resolve(store, source)
        assert (found.reason, found.session_id) == ("resume-pending", first.session_id)
        assert found.found.lane.lane_key == "agent:main:telegram:dm:-100"
        assert found.found.lane.moved_from == first.found.lane_id
    assert resolve(store, TELEGRAM, force_new=True).found.lane.lane_key.endswith(":-100")


def test_a_conversation_that_moved_often_is_still_one(store: Store) -> None:
    first = resolve(store)
    lane_id = first.found.lane_id
    for number in range(20):
        there: dict[str, JsonValue] = {"platform": "telegram", "chat_id": f"moved-{number}"}
        move(store, lane_id, there)
        lane_id = resolve(store, there).found.lane_id
    found = resolve(store)
    assert (found.session_id, found.found.lane_id) == (first.session_id, lane_id)


def test_slack_without_a_workspace_is_moved_to_the_one_that_claims_it(store: Store) -> None:
    slack: dict[str, JsonValue] = {"platform": "slack", "chat_id": "D1", "user_id": "U1"}
    old = resolve(store, slack)
    claimed = resolve(store, {**slack, "scope_id": "T1"})
    assert (claimed.reason, claimed.session_id) == ("recovered", old.session_id)
    assert claimed.found.lane.moved_from == old.found.lane_id
    other = resolve(store, {**slack, "scope_id": "T2"})
    assert (other.reason, other.created) == ("created", True)
    later = resolve(store, slack)
    assert (later.reason, later.created) == ("created", True), "not in the hands of T1"
    third = resolve(store, {**slack, "scope_id": "T3"})
    assert (third.reason, third.created) == ("created", True), "claimed once"


def test_a_person_whose_ids_become_known_keeps_the_newest_conversation(store: Store) -> None:
    lid: dict[str, JsonValue] = {"platform": "whatsapp", "chat_id": "999999999999999@lid"}
    phone: dict[str, JsonValue] = {"platform": "whatsapp", "chat_id": "15551234567@c.us"}
    hidden = resolve(store, lid)
    assert resolve(store, phone).created, "nobody knows yet that they are one"
    alone = {**phone, "chat_id": "15559999999@s.whatsapp.net"}
    other = resolve(store, alone)
    put_aliases(store, {"999999999999999": ["15551234567"], "888888888888888": ["15559999999"]})
    assert resolve(store, phone).reason == "existing"
    assert resolve(store, lid).session_id != hidden.session_id, "one person, one conversation"
    under_lid = {**phone, "chat_id": "888888888888888@lid"}
    assert resolve(store, under_lid).session_id == other.session_id


def test_what_is_kept_of_lanes_follows_from_the_log_and_is_mended(store: Store) -> None:
    first = resolve(store)
    resolve(store, force_new=True)
    resolve(store, {**TELEGRAM, "chat_id": "100"})
    assert rebuild(store.database, store.runner).differences == ()
    with store.database.write() as connection:
        connection.execute(text("UPDATE lanes SET session_id = 'x'"))
        connection.execute(text("DELETE FROM lane_sessions"))
    found = rebuild(store.database, store.runner).differences
    assert {(each.table, each.missing, each.changed) for each in found} == {
        ("lanes", 0, 1),
        ("lane_sessions", 2, 0),
        ("lane_sessions", 1, 0),
    }
    assert rebuild(store.database, store.runner).differences == ()
    assert now(store, first.found.lane_id).lane.previous_session_id == first.session_id


def test_a_lane_that_is_lost_from_the_views_is_folded_anew(store: Store) -> None:
    first = resolve(store)
    with store.database.write() as connection:
        connection.execute(text("DELETE FROM lanes"))
    with pytest.raises(LaneDamaged):  # and no other conversation is begun
        resolve(store)
    rebuild(store.database, store.runner)
    assert resolve(store).session_id == first.session_id


def test_a_lane_whose_source_is_kept_unreadably_keeps_its_session(store: Store) -> None:
    first = resolve(store)
    with store.database.write() as connection:
        connection.execute(t.lanes.update().values(source=b"\x00{", policy=b""))
    found = resolve(store)
    assert (found.session_id, found.found.lane.source) == (first.session_id, {})


def test_the_chain_of_a_lane_is_verified(store: Store) -> None:
    first = resolve(store)
    resolve(store, force_new=True)
    found = {each.session_id: each for each in verify_all(store.database)}
    lane = found[f"lane:{first.found.lane_id}"]
    assert (lane.ok, lane.events) == (True, 3)
    with store.database.write() as connection:
        connection.execute(text("UPDATE lanes SET version = 9"))
    (bad,) = [each for each in verify_all(store.database) if not each.ok]
    assert bad.first_bad is not None
    assert (bad.session_id, bad.first_bad.reason) == (lane.session_id, "missing-event")
