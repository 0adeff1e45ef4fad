"""The table of journeys by ways: how each got its harnesses, and whether all is the same."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tests.differential.journeys import Journey
from tests.differential.judging import differing, evicted_for, expected_paths, mistakes
from tests.differential.walking import Walked
from tests.differential.ways import Way


def verdict(journey: Journey, way: Way, walked: Walked, reference: Walked) -> list[str]:
    """Return what is wrong with a journey by a way; nothing if all is as it should be."""
    wrong = mistakes(journey, walked)
    wrong += [f"another {name} than by the first way" for name in differing(walked, reference)]
    if walked.paths != expected_paths(journey, way):
        wrong.append("a harness was got in another way than expected")
    expiring = {"approval-ttl-expire"} if journey.expires else set[str]()
    if not set(walked.evicted) <= evicted_for(way) | expiring:
        wrong.append("a harness was let go for another reason than expected")
    return wrong


def cell(walked: Walked, wrong: Sequence[str]) -> str:
    """Return what a table says of a journey by a way, in few words."""
    if wrong:
        return "WRONG"
    paths = Counter(str(path) for path, _ in walked.paths)
    return ", ".join(f"{paths[path]} {path}" for path in ("cold", "evicted", "warm") if paths[path])


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
