"""What has to hold of a journey that was walked by a way?"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from tests.differential.journeys import Decide, Journey, LetExpire
from tests.differential.walking import Walked
from tests.differential.ways import Way

SAME: Final = ("arrays", "transcript", "fingerprints", "tools", "gates", "turns")
"""What is equal by all ways, to the letter."""


def differing(walked: Walked, reference: Walked) -> list[str]:
    """Return in what a journey differs from the same one by another way."""
    return [name for name in SAME if getattr(walked, name) != getattr(reference, name)]


def mistakes(journey: Journey, walked: Walked) -> list[str]:
    """Return what went wrong on a journey, whatever it is compared with."""
    calls = [call["tool_call_id"] for call in walked.tools]
    wrong = {
        "something was forgotten": walked.last != journey.ends,
        "a turn did not end well": set(walked.turns) != {"completed"},
        "a gate was asked for twice, or not at all": walked.gates != journey.gates,
        "a tool ran that was not to, or not": _names(walked) != list(journey.tools),
        "a call was made twice": len(set(calls)) != len(calls),
        "the first prompt does not stand at the beginning, once": not _begins_once(journey, walked),
        "what the model had seen changed later": not all(map(_grows, pairwise(walked.arrays))),
    }
    return [sentence for sentence, is_so in wrong.items() if is_so]


def expected_paths(journey: Journey, way: Way) -> list[list[str | None]]:
    """Return how each request has to get its harness, and why it is not warm."""
    found: list[list[str | None]] = []
    is_kept, last_seat = False, "gone"
    for request, is_last_answer, expired in _requests(journey):
        if way.disturbs(request):
            is_kept = False
            last_seat = "gone" if way.between == "emptied" else "elsewhere"
        if expired:
            is_kept = False
        if not is_kept and not is_last_answer:
            continue  # nothing is started for it: the turn waits for other answers, too
        cold = ["evicted", "other-owner"] if last_seat == "elsewhere" else ["cold", "no-seat"]
        found.append(["warm", None] if is_kept else list[str | None](cold))
        is_kept = True
    return found


def evicted_for(way: Way) -> frozenset[str]:
    """Return for which reasons a harness may be let go by a way, besides its time being over."""
    return frozenset({"request"} if way.between == "emptied" else ())


def _requests(journey: Journey) -> Iterator[tuple[int, bool, bool]]:
    """Yield each request's number, whether it leaves no gate open, and whether a harness went."""
    request, expired, open_gates = 0, False, 0
    for at, step in enumerate(journey.steps):
        if isinstance(step, LetExpire):
            expired = True
            continue
        if isinstance(step, Decide):
            open_gates = _answers_after(journey, at)
        yield request, open_gates == 0, expired
        request, expired, open_gates = request + 1, False, 0


def _answers_after(journey: Journey, at: int) -> int:
    """Return how many answers to gates that are open follow an answer."""
    if not journey.at_once:
        return 0
    after = journey.steps[at + 1 :]
    return next((n for n, step in enumerate(after) if not isinstance(step, Decide)), len(after))


def _names(walked: Walked) -> Sequence[str]:
    return [call["name"] for call in walked.tools]


def _begins_once(journey: Journey, walked: Walked) -> bool:
    """Tell whether every array begins with the first prompt, and has it nowhere else."""
    said = {"role": "user", "parts": [{"type": "text", "text": journey.first_prompt}]}
    return all(
        array["messages"][0] == said and str(array).count(journey.first_prompt) == 1
        for array in walked.arrays
    )


def _grows(arrays: tuple[dict[str, list[object]], dict[str, list[object]]]) -> bool:
    """Tell whether an array is the beginning of the next; a message under way may have grown."""
    before, after = (each["messages"] for each in arrays)
    return after[: len(before) - 1] == before[:-1] and len(after) >= len(before)
