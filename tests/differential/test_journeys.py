"""Every journey by every way: the model receives the same, and the log keeps the same."""

import pytest

from tests.differential.conftest import HELD, ON_POSTGRESQL, SOME, journeys_of
from tests.differential.journeys import JOURNEYS, Journey
from tests.differential.judging import differing, mistakes, strange_ends, strange_paths
from tests.differential.results import Results
from tests.differential.table import table
from tests.differential.ways import FULL, MORE_WAYS, NEWEST, Way

CELLS = [
    pytest.param(journey, way, id=f"{journey.name}-{way.name}")
    for way in (*HELD, *MORE_WAYS)
    for journey in journeys_of(way)
]
CELLS_ON_POSTGRESQL = [
    pytest.param(journey, way, id=f"{journey.name}-{way.name}")
    for way in ON_POSTGRESQL
    for journey in SOME
]


@pytest.mark.parametrize(("journey", "way"), CELLS)
def test_what_the_model_receives_and_what_the_log_keeps_do_not_depend_on_the_way(
    journey: Journey, way: Way, walked: Results
) -> None:
    found, reference = walked.of(way)[journey.name], walked.of(FULL)[journey.name]

    assert found.arrays == reference.arrays
    assert found.transcript == reference.transcript
    assert found.fingerprints == reference.fingerprints
    assert differing(found, reference) == []


@pytest.mark.parametrize(("journey", "way"), CELLS)
def test_nothing_is_forgotten_or_asked_twice_or_done_twice(
    journey: Journey, way: Way, walked: Results
) -> None:
    assert mistakes(journey, walked.of(way)[journey.name]) == []


@pytest.mark.parametrize(("journey", "way"), CELLS)
def test_a_turn_is_warm_unless_its_harness_was_taken_away(
    journey: Journey, way: Way, walked: Results
) -> None:
    found = walked.of(way)[journey.name]

    assert strange_paths(journey, way, found) == [], found.paths
    assert strange_ends(journey, way, found) == set()


@pytest.mark.parametrize("journey", [each for each in JOURNEYS if not each.expires])
def test_the_newest_message_alone_costs_no_warm_turn(journey: Journey, walked: Results) -> None:
    found = walked.of(NEWEST)[journey.name]

    assert [path for path, _ in found.paths[1:]] == ["warm"] * (len(found.paths) - 1)
    assert found.evicted == []


@pytest.mark.parametrize(("journey", "way"), CELLS_ON_POSTGRESQL)
def test_on_postgresql_it_is_as_on_sqlite(
    journey: Journey, way: Way, walked: Results, walked_on_postgresql: Results
) -> None:
    found = walked_on_postgresql.of(way)[journey.name]

    assert differing(found, walked.of(FULL)[journey.name]) == []
    assert mistakes(journey, found) == []
    assert strange_paths(journey, way, found) == [], found.paths


def test_the_table_has_a_line_for_each_journey_and_finds_nothing_wrong(walked: Results) -> None:
    written, wrong = table(JOURNEYS, HELD, {way.name: walked.of(way) for way in HELD})

    assert wrong == []
    assert len(written.splitlines()) == 2 + len(JOURNEYS)
