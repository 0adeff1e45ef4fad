"""Views that are up to date cost a look for all of them together, however many there are."""

from pathlib import Path

from infrastructure.followers.following import followers
from tests.api.costs import Cost, metered
from tests.infrastructure.followers.watching import begun, following, found, position, visible
from tests.infrastructure.writing import opened

LOOK = 2
"""Statements: how far the log can be read, and how far each view has come."""


def test_one_look_tells_that_no_view_is_behind(database_url: str, tmp_path: Path) -> None:
    with metered(database_url, tmp_path) as (url, meter), opened(url) as store:
        store.append([begun("t1", "word")])
        with following(store) as views:
            while "more" in views.take_steps():
                pass
            meter.reset()

            assert set(views.take_steps()) == {"done"}

            assert meter.cost._replace(trips=0) == Cost(statements=LOOK)


def test_what_came_in_quick_succession_costs_a_step_as_one_fact_does(
    database_url: str, tmp_path: Path
) -> None:
    costs: list[Cost] = []
    with metered(database_url, tmp_path) as (url, meter), opened(url) as store:
        with following(store) as views:
            while "more" in views.take_steps():
                pass
            for facts in (1, 40):
                for number in range(facts):
                    store.append([begun(f"t{facts}-{number}", "word")], f"s{facts}-{number}")
                meter.reset()
                views.take_steps()
                costs.append(meter.cost)
            names = [each.name for each in followers(search=True)]
            assert [position(store, name) for name in names] == [visible(store)] * len(names)
        assert len(found(store, "word")) == 1 + 40

    assert costs[0].commits == costs[1].commits
