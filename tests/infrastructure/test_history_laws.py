"""However turns, rewinds, redos, summaries and late results follow each other, these laws hold.

Through the real runner and the real views, on both databases.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from domain import commands as c
from domain.forking import beginning
from domain.keys import Keys, keys_of
from domain.recorded import Recorded
from domain.restrict import restrict
from domain.state import State
from infrastructure import tables as t
from infrastructure.backing_up import back_up
from infrastructure.canonical_import import import_export
from infrastructure.export import export_session
from infrastructure.lookup import find_head, look_up
from infrastructure.reading.audit import AuditQuery, line_shape, whole_audit
from infrastructure.reading.fingerprint import Fingerprints, fingerprints
from infrastructure.reading.moment import moment
from infrastructure.reading.transcript import extent, extent_placed, live_view
from infrastructure.reading.transcript_json import page_json
from infrastructure.rebuilding import rebuild
from infrastructure.verification import verify
from tests.conftest import NewDatabase
from tests.databases import DatabaseKind, Databases
from tests.infrastructure.families import forked, whole
from tests.infrastructure.reading.asking import as_json
from tests.infrastructure.reading.wandering import WANDERINGS, Plain, Step, Wanderer, wandered
from tests.infrastructure.test_backup import everything, restored
from tests.infrastructure.test_lookup import COUNT, EVERYTHING
from tests.infrastructure.test_rebuilding import execute, rows
from tests.infrastructure.writing import NEW_YEAR, Store, opened, target

SESSIONS = count(1)
FEW = settings(COUNT, max_examples=4)
MANY = settings(COUNT, max_examples=10)
ONCE = settings(COUNT, max_examples=2)


BEGIN: Step = ("turn", 1, 0)


@dataclass(frozen=True)
class Journey:
    """Steps in a session, then perhaps in a fork of it, at a version counted from its newest."""

    steps: Sequence[Step]
    back: int | None = None
    further: Sequence[Step] = ()


@dataclass
class Forked(Wanderer):
    """Who goes on in a fork, with all that its parent had."""

    shared: Sequence[Recorded] = ()

    def facts(self) -> list[Recorded]:
        """Return what was recorded, shared or own."""
        return [*self.shared, *self.store.facts(self.where.session_id)]


JOURNEYS: SearchStrategy[Journey] = st.one_of(
    st.builds(Journey, WANDERINGS),
    st.builds(Journey, WANDERINGS, st.integers(0, 12), WANDERINGS),
)


def travelled(store: Store, journey: Journey) -> Wanderer:
    """Return who made the journey, in sessions of its own."""
    wanderer = wandered(store, [BEGIN, *journey.steps], f"law{next(SESSIONS)}")
    if journey.back is None:
        return wanderer
    facts = wanderer.facts()
    at = max(1, len(facts) - journey.back)
    session_id = wanderer.where.session_id
    child = f"{session_id}-fork"
    forked(store, session_id, child, at=at)
    plain = Plain()
    for fact in facts[:at]:
        plain.take(fact)
    plain.state = beginning(plain.state)
    further = Forked(store, target(child), wanderer.turns, plain, facts[:at])
    for step in journey.further:
        further.take(step)
    return further


def stopped(wanderer: Wanderer) -> Wanderer:
    """Return the one whose turn is interrupted if it still runs."""
    turn_id = wanderer.plain.state.head.turn_id
    if turn_id is not None:
        wanderer.command(c.InterruptTurn(turn_id=turn_id, reason="stopped"))
    return wanderer


def state(wanderer: Wanderer) -> State:
    return whole(wanderer.store, wanderer.where.session_id)


def shown(wanderer: Wanderer) -> tuple[list[str], list[bytes], Fingerprints]:
    """Return what is read of a session: the transcript, the model's view, the fingerprints."""
    with wanderer.store.database.read() as connection:
        now = moment(connection, wanderer.where, None)
        display = extent(now, with_archived=True)
        return (
            page_json(connection, now, display.after(0, 1_000)),
            as_json([*live_view(connection, now).messages]),
            fingerprints(connection, now, v1=True),
        )


def placed(wanderer: Wanderer) -> list[str]:
    """Return all that was ever placed, as it is read."""
    with wanderer.store.database.read() as connection:
        now = moment(connection, wanderer.where, None)
        return page_json(connection, now, extent_placed(connection, now).after(0, 1_000))


@FEW
@given(journey=JOURNEYS)
def test_what_is_stored_is_what_the_log_makes(store: Store, journey: Journey) -> None:
    travelled(store, journey)
    assert rebuild(store.database, store.runner, check_only=True).differences == ()
    before = rows(store)
    execute(store, *(f"DELETE FROM {table.name}" for table in t.VIEWS))
    assert rebuild(store.database, store.runner).differences != () or not before["heads"]
    assert rows(store) == before


NEXT: Sequence[c.SessionCommand] = (
    *(c.Rewind(turns=turns, interrupt=True) for turns in (1, 2, 99)),
    *(c.Rewind(to_turn=f"t{number}") for number in (1, 2, 3)),
    *(c.Rewind(to_version=version) for version in (1, 5, 12, 20)),
    *(c.Rewind(before_message=f"t{number}:1") for number in (1, 2, 3)),
    *(c.Compact(summary="s", through_message_id=f"t{number}:2") for number in (1, 2, 3)),
    c.Redo(),
)


@MANY
@given(journey=JOURNEYS)
def test_a_look_up_finds_what_any_next_command_needs(store: Store, journey: Journey) -> None:
    wanderer = travelled(store, journey)
    folded = state(wanderer)
    redos = [c.Redo(rewind_version=version) for version in folded.moves]
    wanted = [*(keys_of([command]) for command in (*NEXT, *redos)), EVERYTHING, Keys(grows=True)]
    with store.database.read() as connection:
        for each in wanted:
            key, found = find_head(connection, "default", wanderer.where.session_id)
            found = found if key is None else look_up(connection, key, found, each)
            assert found == restrict(folded, each)


@FEW
@given(journey=JOURNEYS, turns=st.integers(1, 4))
def test_a_redo_after_a_rewind_shows_the_very_same_again(
    store: Store, journey: Journey, turns: int
) -> None:
    wanderer = stopped(travelled(store, journey))
    assume(state(wanderer).head.turns)
    before = shown(wanderer)
    wanderer.command(c.Rewind(turns=turns))
    rewound = shown(wanderer)
    wanderer.command(c.Redo())
    assert shown(wanderer) == before != rewound
    wanderer.command(c.Rewind(turns=turns))
    assert shown(wanderer) == rewound


@FEW
@given(journey=JOURNEYS, place=st.integers(0, 9))
def test_a_summary_changes_what_the_model_sees_and_not_the_fingerprint(
    store: Store, journey: Journey, place: int
) -> None:
    wanderer = stopped(travelled(store, journey))
    before = state(wanderer)
    for step in (("compact", place, 0), ("compact", 8, 0)):
        wanderer.take(step)
    after = state(wanderer)
    assume(after.head.version > before.head.version)
    assert after.head.fingerprint == before.head.fingerprint
    assert after.head.model_fingerprint != before.head.model_fingerprint
    assert (after.messages, after.head.messages) == (before.messages, before.head.messages)


@FEW
@given(journey=JOURNEYS)
def test_nothing_that_was_recorded_is_missing_from_the_audit(
    store: Store, journey: Journey
) -> None:
    """A fork's audit tells its own facts; those that it shares are in that of its parent."""
    wanderer = stopped(travelled(store, journey))
    facts = store.facts(wanderer.where.session_id)
    with store.database.read() as connection:
        now = moment(connection, wanderer.where, None)
    lines = [line_shape(line) for line in whole_audit(store.database, now, AuditQuery())]
    assert [(line["version"], line["id"]) for line in lines] == [
        (fact.version, fact.envelope.event_id) for fact in facts
    ]
    whole_line = [fact.version for fact in wanderer.facts()]
    assert whole_line == list(range(1, len(whole_line) + 1))
    assert verify(store.database, "default", wanderer.where.session_id).ok
    assert len(placed(wanderer)) >= state(wanderer).head.placed


@FEW
@given(journey=JOURNEYS, later=WANDERINGS)
def test_a_fork_begins_with_what_its_source_shows_and_keeps_it(
    store: Store, journey: Journey, later: Sequence[Step]
) -> None:
    wanderer = stopped(travelled(store, journey))
    child = f"{wanderer.where.session_id}-child"
    forked(store, wanderer.where.session_id, child)
    there = Wanderer(store, target(child))
    begun = (shown(there), placed(there))
    assert begun == (shown(wanderer), placed(wanderer))
    for step in later:
        wanderer.take(step)
    assert (shown(there), placed(there)) == begun


@FEW
@given(journey=JOURNEYS)
def test_an_export_makes_the_same_session_elsewhere(
    store: Store, new_database: NewDatabase, database_kind: DatabaseKind, journey: Journey
) -> None:
    """A fork's follows that of its parent."""
    wanderer = stopped(travelled(store, journey))
    child = wanderer.where.session_id
    with opened(new_database(database_kind)) as elsewhere:
        for session_id in dict.fromkeys([child.removesuffix("-fork"), child]):
            lines = list(export_session(store.database, "default", session_id))
            import_export(elsewhere.log, elsewhere.runner, "default", lines)
            assert list(export_session(elsewhere.database, "default", session_id)) == lines
            here, there = (Wanderer(each, target(session_id)) for each in (store, elsewhere))
            assert (shown(there), placed(there)) == (shown(here), placed(here))
        found = rebuild(elsewhere.database, elsewhere.runner, check_only=True)
        assert found.differences == ()


@ONCE
@given(journeys=st.lists(JOURNEYS, min_size=3, max_size=3))
def test_a_backup_is_the_same_store_again(
    store: Store, databases: Databases, tmp_path: Path, journeys: Sequence[Journey]
) -> None:
    wanderers = [travelled(store, journey) for journey in journeys]
    path = tmp_path / f"{next(SESSIONS)}.backup"
    back_up(store.database, path, NEW_YEAR)
    url = databases.empty()
    restored(path, url)
    with opened(url) as elsewhere:
        assert everything(elsewhere) == everything(store)
        for wanderer in wanderers:
            assert shown(Wanderer(elsewhere, wanderer.where)) == shown(wanderer)
            assert whole(elsewhere, wanderer.where.session_id) == state(wanderer)
        found = rebuild(elsewhere.database, elsewhere.runner, check_only=True)
        assert found.differences == ()
    databases.drop(url)
