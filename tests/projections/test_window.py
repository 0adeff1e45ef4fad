"""Which messages stand on a page?"""

import pytest

from projections.window import Extent, Window

PLAIN = Extent(messages=5, archived=0, summary=False, with_archived=False)
LIVE = Extent(messages=5, archived=2, summary=True, with_archived=False)
WHOLE = Extent(messages=5, archived=2, summary=True, with_archived=True)


def seen(window: Window) -> list[object]:
    """Return the indexes of a page's messages, and "S" where its summary stands."""
    numbers: list[object] = [*window.indexes]
    if window.summary:
        numbers.insert(window.before_summary, "S")
    return numbers


def test_live_messages_begin_with_the_summary() -> None:
    assert seen(LIVE.after(LIVE.first, 10)) == ["S", 2, 3, 4]
    assert seen(LIVE.after(LIVE.first, 2)) == ["S", 2]


def test_the_summary_stays_in_its_place_after_what_it_archived() -> None:
    assert seen(WHOLE.after(0, 10)) == [0, 1, "S", 2, 3, 4]


@pytest.mark.parametrize("extent", [PLAIN, LIVE, WHOLE])
@pytest.mark.parametrize("limit", [1, 2, 3, 6])
def test_pages_in_either_direction_show_everything_once(extent: Extent, limit: int) -> None:
    everything = seen(extent.after(extent.first, 99))
    forward: list[object] = []
    page = extent.after(extent.first, limit)
    assert page.starts
    while True:
        forward += seen(page)
        if page.ends:
            break
        page = extent.after(page.high, limit)
    backward: list[object] = []
    page = extent.before(extent.end, limit)
    assert page.ends
    while True:
        backward = seen(page) + backward
        if page.starts:
            break
        page = extent.before(page.low, limit)

    assert forward == backward == everything


def test_a_message_stands_in_the_middle_of_the_page_around_it() -> None:
    assert seen(PLAIN.around(PLAIN.slot(2), 3)) == [1, 2, 3]
    assert seen(PLAIN.around(PLAIN.slot(0), 3)) == [0, 1, 2]
    assert seen(PLAIN.around(PLAIN.slot(4), 3)) == [2, 3, 4]
    assert seen(PLAIN.around(PLAIN.slot(1), 99)) == [0, 1, 2, 3, 4]
    assert seen(WHOLE.around(WHOLE.slot(2), 3)) == ["S", 2, 3]


def test_a_place_outside_is_the_nearest_end() -> None:
    assert seen(PLAIN.after(-7, 2)) == [0, 1]
    assert seen(PLAIN.after(99, 2)) == []
    assert seen(LIVE.before(-7, 2)) == []
    assert seen(LIVE.before(99, 2)) == [3, 4]


def test_a_session_without_messages_has_one_empty_page() -> None:
    empty = Extent(messages=0, archived=0, summary=False, with_archived=False)
    page = empty.after(empty.first, 50)

    assert (seen(page), page.starts, page.ends) == ([], True, True)
