"""People name a session as they remember it; nobody is told of another's."""

import pytest

from domain.lanes.choosing import Earlier, by_id, by_title
from domain.refusals import AmbiguousSession, NoSuchSession

EARLIER = (
    Earlier("s1", "The Garden"),
    Earlier("s2", "Garden plans"),
    Earlier("s3", "Garden  PLANS 2026"),
    Earlier("s4", "Taxes"),
    Earlier("s5", "taxes"),
    Earlier("s6"),
    Earlier("s7", "\u00c5ngstr\u00f6m"),
)


def test_an_id_names_one_of_theirs() -> None:
    assert by_id(EARLIER, "s6") == "s6"
    with pytest.raises(NoSuchSession):
        by_id(EARLIER, "S6")


@pytest.mark.parametrize(
    ("title", "session_id"),
    [("the garden", "s1"), (" GARDEN plans ", "s2"), ("garden plans 2", "s3"), ("the", "s1")]
    + [(title, "s7") for title in ("\u00e5ngstr", "a\u030angstro\u0308m", "A\u030angstr\u00f6")],
)
def test_a_title_names_a_session_whole_or_by_how_it_begins(title: str, session_id: str) -> None:
    assert by_title(EARLIER, title) == session_id


@pytest.mark.parametrize(
    ("title", "session_ids"), [("Taxes", ("s4", "s5")), ("gard", ("s2", "s3"))]
)
def test_a_title_of_several_names_none(title: str, session_ids: tuple[str, ...]) -> None:
    with pytest.raises(AmbiguousSession) as refused:
        by_title(EARLIER, title)
    assert refused.value.session_ids == session_ids


@pytest.mark.parametrize("title", ["plans", "", "  "])
def test_a_title_of_none_is_told_as_if_there_were_none(title: str) -> None:
    with pytest.raises(NoSuchSession):
        by_title(EARLIER, title)
