"""Messages: what joins the last one, what replaces it, and what each one is called."""

import pytest

from domain import events as e
from domain.decide import decide
from domain.evolve import evolve, fold
from domain.messages import Author, Message, texts
from domain.pieces import pieces_of
from domain.place import RECORDS_A_MESSAGE
from domain.refusals import InvalidValue, MessageClosed, MessageExists
from tests.scenario import (
    OPENED,
    called,
    compacted,
    ended,
    folded,
    given,
    message,
    record,
    recorded,
    returned,
    said,
    started,
    transcript,
)

RUNNING = given(OPENED, started())


def test_what_an_assistant_says_and_calls_is_one_message_until_a_result() -> None:
    assert transcript(
        OPENED, started(), said("a"), said("b"), called(), returned(), said("c"), ended()
    ) == [
        ("user", ["hi"]),
        ("assistant", ["a", "b", ("c1", "read", {})]),
        ("tool", [("c1", "done")]),
        ("assistant", ["c"]),
    ]


def test_user_input_within_a_turn_ends_the_assistants_message() -> None:
    assert transcript(OPENED, started(), said("a"), said("stop", "user"), said("b")) == [
        ("user", ["hi"]),
        ("assistant", ["a"]),
        ("user", ["stop"]),
        ("assistant", ["b"]),
    ]


def test_an_assistant_with_another_message_id_begins_another_message() -> None:
    state = folded(OPENED, started(), said("a", message_id="m1"), said("b", message_id="m2"))
    assert [m.message_id for m in state.messages.values()] == ["t1:1", "m1", "m2"]
    assert state.message_ids == {"m1": 1, "m2": 2}


def test_an_assistant_without_a_message_id_goes_on() -> None:
    assert transcript(OPENED, started(), said("a", message_id="m1"), said("b")) == [
        ("user", ["hi"]),
        ("assistant", ["a", "b"]),
    ]


def test_a_partial_message_is_replaced_in_its_place() -> None:
    partial = said("He", message_id="m", partial=True)
    history = (OPENED, started(), partial, called(), said("later"))
    whole = said("Hello", message_id="m")
    given(*history).when(whole).then(whole)
    assert transcript(*history, whole) == [
        ("user", ["hi"]),
        ("assistant", ["Hello", ("c1", "read", {}), "later"]),
    ]
    assert not folded(*history, whole).messages[1].partial


def test_a_partial_message_is_replaced_as_often_as_it_takes() -> None:
    more = said("Hell", message_id="m", partial=True)
    history = (OPENED, started(), said("He", message_id="m", partial=True), more)
    given(*history).when(more).then(more)
    assert transcript(*history)[1] == ("assistant", ["Hell"])


def test_a_message_takes_a_bounded_number_of_records() -> None:
    full = folded(OPENED, started(), *[said("a")] * RECORDS_A_MESSAGE)
    assert (full.head.messages, full.head.tail_open) == (2, False)
    more = folded(OPENED, started(), *[said("a")] * (RECORDS_A_MESSAGE + 1))
    assert (more.head.messages, more.messages[2].versions) == (3, (RECORDS_A_MESSAGE + 3,))


def test_a_partial_message_can_be_replaced_a_bounded_number_of_times() -> None:
    flush, whole = said("a", message_id="m", partial=True), said("ab", message_id="m")
    history: list[e.Fact] = [OPENED, started(), *[flush] * RECORDS_A_MESSAGE]
    given(*history).when(flush).then_refused(MessageClosed, "message", "message_id")
    given(*history).when(whole).then(whole)
    done = folded(*history, whole)
    assert transcript(*history, whole)[1] == ("assistant", ["ab"])
    assert (done.head.tail_open, done.head.messages) == (False, 2)


def test_a_partial_message_that_calls_keep_joining_is_closed_in_the_end() -> None:
    history = (OPENED, started(), said("a", message_id="m", partial=True))
    calls = [called(f"c{number}") for number in range(2 * RECORDS_A_MESSAGE - 1)]
    facts = recorded(*history, *calls)
    state, whole = fold(facts[:-1]), record(said("ab", message_id="m"))
    assert [decided.event for decided in decide(state, whole)] == [said("ab", message_id="m")]
    state.apply(evolve(state, facts[-1]))
    with pytest.raises(MessageClosed) as caught:
        decide(state, whole)
    assert caught.value.at == ("message", "message_id")


def test_a_fact_that_says_nothing_brings_no_pieces() -> None:
    assert pieces_of(OPENED, 1) == ()
    assert pieces_of(started(), 1, 7) == ()


def test_records_without_an_id_do_not_complete_a_partial_message() -> None:
    state = folded(OPENED, started(), said("He", message_id="m", partial=True), said("x"))
    assert state.messages[1].partial


def test_a_replacement_of_more_parts_takes_all_of_the_old_ones_place() -> None:
    old = e.MessageRecorded(
        turn_id="t1",
        message=Message(
            role="assistant",
            content=({"type": "text", "text": "a"}, {"type": "text", "text": "b"}),
            message_id="m",
            status="partial",
        ),
    )
    assert transcript(OPENED, started(), old, called(), said("c", message_id="m")) == [
        ("user", ["hi"]),
        ("assistant", ["c", ("c1", "read", {})]),
    ]


def test_a_users_partial_message_is_replaced_too() -> None:
    history = (OPENED, started(), said("st", "user", "m", partial=True))
    whole = said("stop", "user", "m")
    given(*history).when(whole).then(whole)
    assert transcript(*history, whole) == [("user", ["hi"]), ("user", ["stop"])]
    assert not folded(*history, whole).head.tail_open


def test_a_whole_message_is_recorded_once() -> None:
    """Row B8: no second copy."""
    given(OPENED, started(), said("a", message_id="m")).when(
        said("a", message_id="m")
    ).then_refused(MessageExists, "message", "message_id")


@pytest.mark.parametrize(
    "other", [said("a", message_id="m", turn_id="t2"), said("a", "user", "m", turn_id="t2")]
)
def test_a_message_is_replaced_in_its_own_turn_only(other: e.MessageRecorded) -> None:
    given(OPENED, started(), said("a", message_id="m", partial=True), ended(), started("t2")).when(
        other
    ).then_refused(MessageExists, "message", "message_id")


def test_a_message_is_replaced_by_its_own_role_only() -> None:
    given(OPENED, started(), said("a", message_id="m", partial=True)).when(
        said("a", "user", "m")
    ).then_refused(MessageExists, "message", "message_id")


def test_a_partial_message_is_closed_by_what_follows_it() -> None:
    given(OPENED, started(), said("a", message_id="m", partial=True), called(), returned()).when(
        said("b", message_id="m")
    ).then_refused(MessageClosed, "message", "message_id")


def test_a_partial_message_is_closed_by_a_summary_of_it() -> None:
    given(OPENED, started(), said("a", message_id="m", partial=True), compacted("m")).when(
        said("b", message_id="m")
    ).then_refused(MessageClosed, "message", "message_id")


def test_a_partial_message_can_be_named_and_says_something() -> None:
    RUNNING.when(said("a", partial=True)).then_refused(InvalidValue, "message", "message_id")
    silent = Message(role="assistant", content=(), message_id="m", status="partial")
    RUNNING.when(e.MessageRecorded(turn_id="t1", message=silent)).then_refused(
        InvalidValue, "message", "content"
    )


def test_what_replaces_a_partial_message_says_something() -> None:
    silent = Message(role="assistant", content=(), message_id="m")
    given(OPENED, started(), said("a", message_id="m", partial=True)).when(
        e.MessageRecorded(turn_id="t1", message=silent)
    ).then_refused(InvalidValue, "message", "content")


def test_a_result_is_no_message() -> None:
    RUNNING.when(said("a", "tool")).then_refused(InvalidValue, "message", "role")


@pytest.mark.parametrize("name", ["", "a\0", "a\nb", "m" * 257, "\ud800"])
def test_names_are_readable(name: str) -> None:
    RUNNING.when(said("a", message_id=name)).then_refused(InvalidValue, "message", "message_id")
    given(OPENED).when(started("t1", message("a", message_id=name))).then_refused(
        InvalidValue, "messages", 0, "message_id"
    )


def test_an_author_is_named() -> None:
    def by(author: Author) -> e.TurnStarted:
        return started("t1", message("a", author=author))

    given(OPENED).when(by(Author(subject_id="\0"))).then_refused(
        InvalidValue, "messages", 0, "author", "subject_id"
    )
    given(OPENED).when(by(Author(subject_id="u1", display="\n"))).then_refused(
        InvalidValue, "messages", 0, "author", "display"
    )
    given(OPENED).when(by(Author(subject_id="u1"))).then(by(Author(subject_id="u1")))


def test_no_id_is_used_twice_in_a_session() -> None:
    given(OPENED, started("t1", message("a", message_id="m")), ended()).when(
        started("t2", message("b", message_id="m"))
    ).then_refused(MessageExists, "messages", 0, "message_id")


@pytest.mark.parametrize("message_id", ["t1:1", "t1:2", "t1:99"])
def test_the_logs_own_names_are_not_given_away(message_id: str) -> None:
    RUNNING.when(said("a", message_id=message_id)).then_refused(
        InvalidValue, "message", "message_id"
    )
    given(OPENED, started(), ended()).when(
        started("t2", message("a", message_id=message_id))
    ).then_refused(InvalidValue, "messages", 0, "message_id")
    given(OPENED).when(started("t1", message("a", message_id=message_id))).then_refused(
        InvalidValue, "messages", 0, "message_id"
    )


@pytest.mark.parametrize("message_id", ["t1:01", "t1:0", "t1:x", "t9:1", "12:34", "t1"])
def test_other_names_with_a_colon_are_taken(message_id: str) -> None:
    RUNNING.when(said("a", message_id=message_id)).then(said("a", message_id=message_id))


def test_what_a_message_says_may_be_anything() -> None:
    RUNNING.when(said("\0\x1b[2J\u202e", message_id="m")).then(
        said("\0\x1b[2J\u202e", message_id="m")
    )


def test_a_message_that_is_named_like_a_call_is_no_call() -> None:
    assert transcript(
        OPENED, started(), said("a", message_id="call:c1", partial=True), called()
    ) == [("user", ["hi"]), ("assistant", ["a", ("c1", "read", {})])]


def test_leading_instructions_are_configuration_and_no_history() -> None:
    rules = message("be brief", "system")
    with_rules = folded(OPENED, started("t1", rules, message("hi")))
    without = folded(OPENED, started("t1", message("hi")))
    assert with_rules.head.fingerprint == without.head.fingerprint
    assert (with_rules.head.messages, with_rules.messages[0].digest) == (2, None)


def test_later_instructions_are_history() -> None:
    assert (
        folded(OPENED, started(), said("x", "system")).head.fingerprint
        != folded(OPENED, started()).head.fingerprint
    )


def test_leading_instructions_stay_configuration_when_they_are_replaced() -> None:
    state = folded(
        OPENED,
        e.TurnStarted(turn_id="t1"),
        said("be", "system", "m", partial=True),
        said("be brief", "system", "m"),
    )
    assert (state.head.messages, state.messages[0].digest) == (1, None)


def test_a_silent_message_is_not_in_the_fingerprint() -> None:
    assert (
        folded(OPENED, started(), said("")).head.fingerprint
        == folded(OPENED, started()).head.fingerprint
    )


def test_an_unreadable_fact_ends_the_message_only_if_it_changes_history() -> None:
    state = folded(OPENED, started(), said("a"), e.Opaque(reason="unreadable"))
    assert (state.head.tail_open, state.head.unreadable) == (False, 1)


def test_the_texts_of_parts_are_those_of_text_parts() -> None:
    assert list(
        texts(
            (
                {"type": "text", "text": "a"},
                {"type": "reasoning", "text": "b"},
                {"type": "text", "text": 1},
            )
        )
    ) == ["a"]
