"""What a session is called: words that were said at once, a better title, a person's for ever."""

import pytest

from domain import commands as c
from domain import events as e
from domain.events.session import TitleBy
from domain.messages import Message
from domain.titles import FIRST_WORDS, first_words, one_line, stands
from tests.scenario import OPENED, ended, folded, given, message, said, started

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
PROPOSED: tuple[TitleBy, ...] = ("first-words", "harness", "hook")


def test_the_first_words_of_a_turn_are_its_sessions_title_at_once() -> None:
    head = folded(OPENED, started("t1", message("  Plan a trip\n\tto Rome "))).head
    assert (head.title, head.title_by) == ("Plan a trip to Rome", "first-words")


def test_what_a_user_says_within_a_turn_names_the_session_too() -> None:
    user = e.MessageRecorded(turn_id="t1", message=Message(role="user", content="Plan a trip"))
    head = folded(OPENED, e.TurnStarted(turn_id="t1"), said("Which?"), user).head
    assert (head.title, head.title_by) == ("Plan a trip", "first-words")


def test_a_file_names_nothing_and_the_next_words_do() -> None:
    file = Message(role="user", content=({"type": "attachment", "filename": "a.png"},))
    first = (OPENED, e.TurnStarted(turn_id="t1", messages=(file,)))
    assert folded(*first).head.title_by is None
    head = folded(*first, ended("t1"), started("t2", message("What is it?"))).head
    assert (head.title, head.title_by) == ("What is it?", "first-words")


def test_later_words_change_no_title() -> None:
    turns = (started("t1", message("one")), ended("t1"), started("t2", message("two")))
    assert folded(OPENED, *turns).head.title == "one"
    named = e.SessionOpened(title="Trip")
    assert folded(named, *turns).head.title == "Trip"


def test_words_are_cut_between_words() -> None:
    assert first_words("Plan a trip to Rome", 14) == "Plan a trip to"
    assert first_words("Plan a trip to Rome", 13) == "Plan a trip"
    assert first_words("Plan", 4) == "Plan"
    assert first_words("Donaudampfschiff", 5) == "Donau"
    assert first_words(" \x00\n ") is None


@pytest.mark.parametrize("most", range(1, 21))
@pytest.mark.parametrize("smile", ["\U0001f600", FAMILY, "\U0001f1eb\U0001f1f7", "e\u0301"])
def test_a_title_of_emoji_is_cut_between_them(most: int, smile: str) -> None:
    title = first_words(smile * 30, most)
    assert title is not None
    assert title.encode().decode() == title
    if most >= len(smile):
        assert title == smile * (most // len(smile))


def test_a_whole_book_is_a_short_title() -> None:
    title = first_words("word " * 100_000)
    assert title is not None
    assert len(title) <= FIRST_WORDS
    assert title.endswith("word")


def test_a_title_of_another_program_is_one_line_of_what_can_be_seen() -> None:
    assert one_line("a\r\nb\u2028c\x1b[31m\u202egnp\ud800") == "a b c[31mgnp"
    assert one_line("\x00 \n") is None
    assert one_line("x" * 300) == "x" * 200


@pytest.mark.parametrize("by", PROPOSED)
@pytest.mark.parametrize("better", ["harness", "hook"])
def test_a_proposed_title_takes_the_place_of_another(by: TitleBy, better: TitleBy) -> None:
    known = (OPENED, e.SessionRenamed(title="Trip", by=by))
    rename = c.RenameSession(title="Rome", by=better)
    given(*known).when(rename).then(e.SessionRenamed(title="Rome", by=better))
    given(OPENED).when(rename).then(e.SessionRenamed(title="Rome", by=better))


@pytest.mark.parametrize("by", ["person", "import", "fork"])
@pytest.mark.parametrize("proposed", PROPOSED)
def test_a_title_that_was_chosen_stays(by: TitleBy, proposed: TitleBy) -> None:
    known = (OPENED, e.SessionRenamed(title="Trip", by=by))
    given(*known).when(c.RenameSession(title="Rome", by=proposed)).then()


@pytest.mark.parametrize("by", PROPOSED)
def test_the_same_proposal_again_changes_nothing(by: TitleBy) -> None:
    known = (OPENED, e.SessionRenamed(title="Trip", by=by))
    given(*known).when(c.RenameSession(title="Trip", by=by)).then()
    given(*known).when(c.RenameSession(title=None, by=by)).then()


def test_a_person_makes_a_proposed_title_their_own_or_takes_it_away() -> None:
    known = (OPENED, started("t1", message("Trip")))
    given(*known).when(c.RenameSession(title="Trip")).then(e.SessionRenamed(title="Trip"))
    given(*known).when(c.RenameSession(title=None)).then(e.SessionRenamed(title=None))


def test_where_a_person_took_the_title_away_the_next_words_name_the_session() -> None:
    known = (OPENED, started("t1", message("one")), ended("t1"), e.SessionRenamed(title=None))
    assert folded(*known).head.title_by is None
    head = folded(*known, started("t2", message("two"))).head
    assert (head.title, head.title_by) == ("two", "first-words")


def test_whether_a_title_stands_says_also_by_whom() -> None:
    head = folded(OPENED, e.SessionRenamed(title="Trip")).head
    assert stands(c.RenameSession(title="Trip"), head)
    assert not stands(c.RenameSession(title="Trip", by="hook"), head)
    assert stands(c.RenameSession(title=None), folded(OPENED).head)
