"""Errors follow the log: each once, the same at once counted, the newest kept."""

from domain.commands import Proposal
from infrastructure import tables as t
from infrastructure.followers.errors import ErrorsFollower
from infrastructure.reading.errors import ErrorQuery, errors
from projections.errors import Errors
from tests.infrastructure.followers.watching import begun, following, rows
from tests.infrastructure.writing import NEW_YEAR, SECOND, Store, propose

SECRET = "what nobody may read"


def failed(turn_id: str, code: str = "process-died") -> Proposal:
    body = f'{{"turn_id":"{turn_id}","error":{{"code":"{code}","message":"{SECRET}"}}}}'
    return propose("turn-failed", body.encode())


def called(turn_id: str, call_id: str, name: str) -> Proposal:
    body = (
        f'{{"turn_id":"{turn_id}","tool_call_id":"{call_id}","name":"{name}","arguments":'
        f'{{"path":"{SECRET}"}}}}'
    )
    return propose("tool-call-requested", body.encode())


def gave(turn_id: str, call_id: str, *, denied: bool = False) -> Proposal:
    body = (
        f'{{"turn_id":"{turn_id}","tool_call_id":"{call_id}","output":"{SECRET}",'
        f'"is_error":true,"denied":{str(denied).lower()}}}'
    )
    return propose("tool-call-completed", body.encode())


def found(store: Store, project_id: str = "default") -> list[Errors]:
    query = ErrorQuery(project_id=project_id, limit=200)
    with store.database.read() as connection:
        return [item.errors for item in errors(connection, query)]


def told(store: Store) -> list[tuple[str, str, int]]:
    return [(each.source, each.code, each.times) for each in found(store)]


def fail(store: Store, turn_id: str, session_id: str = "s1", code: str = "process-died") -> None:
    store.append([begun(turn_id, SECRET), failed(turn_id, code)], session_id)


def test_errors_are_listed_newest_first_without_a_word_of_what_was_said(store: Store) -> None:
    store.append(
        [
            begun("t1", SECRET),
            called("t1", "c1", "read_file"),
            gave("t1", "c1"),
            called("t1", "c2", "write_file"),
            gave("t1", "c2", denied=True),
            failed("t1"),
        ]
    )
    with following(store) as views:
        views.catch_up("errors")

    assert told(store) == [
        ("harness", "process-died", 1),
        ("tool", "tool_failed:read_file", 1),
    ]
    assert SECRET not in str(rows(store, t.errors))


def test_the_same_at_once_is_counted_and_later_is_listed_again(store: Store) -> None:
    with following(store) as views:
        for second in (0, 1, 3, 6):
            store.clock.at = NEW_YEAR + second * SECOND
            fail(store, f"t{second}", f"s{second}")
            views.catch_up("errors")

    assert told(store) == [("harness", "process-died", 1), ("harness", "process-died", 3)]
    oldest = found(store)[-1]
    assert (oldest.first_at, oldest.last_at) == (NEW_YEAR, NEW_YEAR + 3 * SECOND)


def test_a_project_keeps_its_newest(store: Store) -> None:
    with following(store, [ErrorsFollower(most=3)]) as views:
        for number in range(5):
            fail(store, f"t{number}", code=f"e{number}")
        views.catch_up("errors")
        assert [each.code for each in found(store)] == ["e4", "e3", "e2"]
        assert views.errors == {("harness", "unexpected"): 5}


def test_errors_folded_anew_are_those_that_were_folded_as_they_came(store: Store) -> None:
    with following(store) as views:
        for number in range(6):
            store.clock.at = NEW_YEAR + number * SECOND
            store.append(
                [begun(f"t{number}", "go"), called(f"t{number}", "c", f"tool{number % 2}")]
            )
            store.append([gave(f"t{number}", "c"), failed(f"t{number}")])
            views.catch_up("errors")
        before = found(store)
        views.rebuild("errors")
        assert found(store) == before
        assert sum(each.times for each in before) == 12
        assert views.errors == {("harness", "unexpected"): 6, ("tool", "expected"): 6}
