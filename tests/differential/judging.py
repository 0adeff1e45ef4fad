"""What has to hold of a journey that was walked by a way?"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from tests.differential.journeys import Aside, Decide, Journey, LetExpire
from tests.differential.walking import Walked
from tests.differential.ways import Between, Way

SAME: Final = ("arrays", "transcript", "fingerprints", "tools", "gates", "turns")
"""What is equal by all ways, to the letter."""
Path: TypeAlias = Sequence[str | None]
_WARM: Final[Sequence[Path]] = (["warm", None],)
_NONE: Final[Sequence[Path]] = (["cold", "no-seat"],)
_LOST: Final[Sequence[Path]] = (["evicted", "other-owner"], ["cold", "no-seat"])
"""A server that was killed still has its seats, until the next one notices."""
_ENDS: Final[Mapping[Between, set[str]]] = {
    "nothing": set(),
    "emptied": {"request"},
    "killed": {"seat-lost"},
}


def differing(walked: Walked, reference: Walked) -> list[str]:
    """Return in what a journey differs from the same one by another way."""
    return [name for name in SAME if _text(walked, name) != _text(reference, name)]


def mistakes(journey: Journey, walked: Walked) -> list[str]:
    """Return what went wrong on a journey, whatever it is compared with."""
    calls = [call["tool_call_id"] for call in walked.tools]
    wrong = {
        "something was forgotten": walked.last != journey.ends,
        f"there was trouble: {', '.join(walked.troubles)}": bool(walked.troubles),
        "a turn did not end well": set(walked.turns) != {"completed"},
        "a gate was asked for twice, or not at all": walked.gates != journey.gates,
        "a tool ran that was not to, or not": _names(walked) != list(journey.tools),
        "a call was made twice": len(set(calls)) != len(calls),
        "the first prompt does not stand at the beginning, once": not _begins_once(journey, walked),
        "what the model had seen changed later": not all(map(_grows, pairwise(walked.arrays))),
    }
    return [sentence for sentence, is_so in wrong.items() if is_so]


def strange_paths(journey: Journey, way: Way, walked: Walked) -> list[int]:
    """Return which harnesses a journey got in another way than it had to, counted from 0."""
    expected = list(_expected(journey, way))
    if len(expected) != len(walked.paths):
        return [min(len(expected), len(walked.paths))]
    pairs = zip(walked.paths, expected, strict=True)
    return [at for at, (path, allowed) in enumerate(pairs) if path not in allowed]


def strange_ends(journey: Journey, way: Way, walked: Walked) -> set[str]:
    """Return for which reasons harnesses were let go that had no reason to be."""
    allowed = {"approval-ttl-expire"} if journey.expires else set[str]()
    return set(walked.evicted) - allowed - _ENDS[way.between]


def _expected(journey: Journey, way: Way) -> Iterator[Sequence[Path]]:
    """Yield how each harness may have been got."""
    is_kept, seat = False, _NONE
    for request, is_last_answer, expired, goes_on in _requests(journey):
        if way.disturbs(request):
            is_kept = False
            seat = _LOST if way.between == "killed" else _NONE
        is_kept = is_kept and not expired
        if not is_kept and not is_last_answer:
            continue  # nothing is started for it: the turn waits for other answers, too
        yield _WARM if is_kept else seat
        yield from [_WARM] * goes_on
        is_kept = True


def _requests(journey: Journey) -> Iterator[tuple[int, bool, bool, bool]]:
    """Yield each request's number, and what it finds and leaves.

    That is whether it leaves no gate open, whether a harness went since the one before, and whether
    another turn begins with it when the one that waited is over.
    """
    request, expired, open_gates = 0, False, 0
    for at, step in enumerate(journey.steps):
        if isinstance(step, LetExpire | Aside):
            expired |= isinstance(step, LetExpire)
            continue
        if isinstance(step, Decide):
            open_gates = _answers_after(journey, at)
        says = isinstance(step, Decide) and step.text is not None
        yield request, open_gates == 0, expired, says
        request, expired, open_gates = request + 1, False, 0


def _answers_after(journey: Journey, at: int) -> int:
    """Return how many answers to gates that are open follow an answer."""
    if not journey.at_once:
        return 0
    after = journey.steps[at + 1 :]
    return next((n for n, step in enumerate(after) if not isinstance(step, Decide)), len(after))


def _text(walked: Walked, name: str) -> str:
    """Return it as JSON: for Python true is one, for a model it is not."""
    return json.dumps(getattr(walked, name), sort_keys=True)


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
