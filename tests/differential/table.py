"""The table of journeys by ways: how each got its harnesses, and whether all is the same."""

from collections.abc import Mapping, Sequence

from tests.differential.journeys import Journey
from tests.differential.judging import differing, mistakes, strange_ends, strange_paths
from tests.differential.walking import Walked
from tests.differential.ways import Way


def verdict(journey: Journey, way: Way, walked: Walked, reference: Walked) -> list[str]:
    """Return what is wrong with a journey by a way; nothing if all is as it should be."""
    wrong = mistakes(journey, walked)
    wrong += [f"another {name} than by the first way" for name in differing(walked, reference)]
    if strange_paths(journey, way, walked):
        wrong.append("a harness was got in another way than expected")
    if strange_ends(journey, way, walked):
        wrong.append("a harness was let go for another reason than expected")
    return wrong


def cell(walked: Walked, wrong: Sequence[str]) -> str:
    """Return what a table says of a journey by a way, in few words."""
    if wrong:
        return "WRONG"
    warm = sum(path == "warm" for path, _ in walked.paths)
    cold = len(walked.paths) - warm
    return f"{cold} cold, {warm} warm" if warm else f"{cold} cold"


def table(
    journeys: Sequence[Journey], ways: Sequence[Way], found: Mapping[str, Mapping[str, Walked]]
) -> tuple[str, list[str]]:
    """Return the table in Markdown, and a sentence for everything that is wrong in it."""
    wrong: list[str] = []
    lines = [
        f"| journey | what the model received | {' | '.join(way.name for way in ways)} |",
        f"|{'---|' * (len(ways) + 2)}",
    ]
    for journey in journeys:
        reference = found[ways[0].name][journey.name]
        cells: list[str] = []
        for way in ways:
            walked = found[way.name][journey.name]
            verdicts = verdict(journey, way, walked, reference)
            wrong += [f"{journey.name} by {way.name}: {sentence}" for sentence in verdicts]
            cells.append(cell(walked, verdicts))
        messages = len(reference.arrays[-1]["messages"])
        received = f"{len(reference.arrays)} arrays, {messages} messages in the last"
        lines.append(f"| {journey.name} | {received} | {' | '.join(cells)} |")
    return "\n".join(lines), wrong
