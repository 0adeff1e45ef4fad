"""Which lines of a session file are the conversation, and which a branch left behind?

Claude Code writes a tree: each line names its parent, and going back to an earlier
prompt grows a second child. The conversation is the way up from the newest line. Two
things that the way up alone would lose are kept: all pieces and results of one API
message, wherever they hang, and what stands before a link that leads nowhere.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from infrastructure.imports.claude_lines import (
    SAID,
    Line,
    Role,
    Unreadable,
    blocks_of,
    text_or_none,
)


def live_lines(lines: Sequence[Line]) -> frozenset[int]:
    """Return the numbers of the lines of one session that its newest line stands on.

    `lines` are those that can be a parent, in file order, no uuid twice.
    """
    tree = _Tree(lines)
    tree.keep_way_up()
    return frozenset(lines[place].number for place in tree.live)


def parents_first(lines: Sequence[Line | Unreadable]) -> list[Line | Unreadable]:
    """Return `lines` in file order, but none before the line that it names as its parent."""
    readable = [line for line in lines if isinstance(line, Line)]
    by_uuid = {line.uuid: line for line in readable if line.uuid is not None}
    placed: set[int] = set()
    ordered: list[Line | Unreadable] = []
    for line in lines:
        pending: list[Line | Unreadable] = []
        above: Line | Unreadable | None = line
        while above is not None and above.number not in placed:
            pending.append(above)
            placed.add(above.number)
            parent = above.parent if isinstance(above, Line) else None
            above = by_uuid.get(parent) if parent else None
        ordered.extend(reversed(pending))
    return ordered


class _Tree:
    """The lines by place (0, 1, 2, ...), and the set of places that are live."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._parents = _parents(lines)
        self._children: dict[int, list[int]] = defaultdict(list)
        self._pieces: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._results: dict[str, list[int]] = defaultdict(list)
        self._open_calls: Counter[str] = Counter()
        self._live_groups: set[tuple[str, str]] = set()
        self._sought: set[str | tuple[str, str]] = set()
        self.live: set[int] = set()
        for place, line in enumerate(lines):
            self._index(place, line)

    def keep_way_up(self) -> None:
        """Make the way up from the newest line live, and what belongs to its API messages."""
        way = self._way_up()
        self.live.update(way)
        # Marked in file order and before any line beside the way, so that a result on the way
        # is the one that its call came to.
        for place in sorted(way):
            self._mark(place)
        pending = sorted(way)
        while pending:
            pending.extend(self._adopted_by(pending.pop()))

    def _index(self, place: int, line: Line) -> None:
        parent = self._parents[place]
        if parent is not None:
            self._children[parent].append(place)
        if line.group is not None:
            self._pieces[line.group].append(place)
        for call in _answered(line):
            self._results[call].append(place)

    def _way_up(self) -> set[int]:
        at = self._newest()
        way: set[int] = set()
        lowest = at or 0
        while at is not None and at >= 0:
            way.add(at)
            lowest = min(lowest, at)
            at = self._parents[at]
            if at in way:
                # The links run in a circle: go on with what stands before all of it.
                at = lowest - 1
        return way

    def _newest(self) -> int | None:
        """Return the last line that was said, or the last child below it."""
        said = [place for place, line in enumerate(self._lines) if line.role in SAID]
        if not said:
            return None
        at, seen = said[-1], {said[-1]}
        while True:
            below = [
                child
                for child in self._children[at]
                if child not in seen and self._lines[child].role in SAID
            ]
            if not below:
                return at
            at = below[-1]
            seen.add(at)

    def _mark(self, place: int) -> None:
        line = self._lines[place]
        self._open_calls.update(_requested(line))
        for call in _answered(line):
            self._open_calls[call] = max(0, self._open_calls[call] - 1)
        if line.group is not None:
            self._live_groups.add(line.group)

    def _adopted_by(self, place: int) -> list[int]:
        """Make the lines live that belong to what `place` belongs to, and return them."""
        line = self._lines[place]
        related = [*self._children[place]]
        if line.group is not None and self._seek(line.group):
            related += self._pieces[line.group]
        for call in filter(self._seek, _requested(line)):
            related += self._results[call]
        adopted: list[int] = []
        for candidate in sorted(set(related)):
            if candidate not in self.live and self._belongs(candidate):
                self.live.add(candidate)
                self._mark(candidate)
                adopted.append(candidate)
        return adopted

    def _seek(self, key: str | tuple[str, str]) -> bool:
        """Say yes once for each key; what is found too early comes again as a child."""
        is_new = key not in self._sought
        self._sought.add(key)
        return is_new

    def _belongs(self, place: int) -> bool:
        if self._parents[place] not in self.live:
            return False
        line = self._lines[place]
        if line.group is not None:
            return line.group in self._live_groups
        return any(self._open_calls[call] > 0 for call in _answered(line))


def _parents(lines: Sequence[Line]) -> list[int | None]:
    """Return each line's parent by place; a link that leads nowhere leads to the line before."""
    by_uuid = {line.uuid: place for place, line in enumerate(lines) if line.uuid is not None}
    named = [_named_parent(line, place, by_uuid) for place, line in enumerate(lines)]
    is_tree = any(parent is not None for parent in named)
    parents: list[int | None] = []
    for place, line in enumerate(lines):
        parent = named[place]
        if parent is None and place > 0 and not (is_tree and _begins_anew(line)):
            parent = place - 1
        parents.append(parent)
    return parents


def _named_parent(line: Line, place: int, by_uuid: dict[str, int]) -> int | None:
    for uuid in (line.parent, line.logical_parent):
        if uuid is not None and by_uuid.get(uuid, place) != place:
            return by_uuid[uuid]
    return None


def _begins_anew(line: Line) -> bool:
    """Tell whether the user went back to before the first prompt with this line."""
    return (
        line.has_null_parent
        and line.logical_parent is None
        and line.role in {Role.PROMPT, Role.INTERNAL}
    )


def _requested(line: Line) -> Iterable[str]:
    if line.role is not Role.ASSISTANT:
        return []
    return _ids(line, "tool_use", "id")


def _answered(line: Line) -> Iterable[str]:
    if line.role is not Role.RESULTS:
        return []
    return _ids(line, "tool_result", "tool_use_id")


def _ids(line: Line, kind: str, key: str) -> list[str]:
    found = [text_or_none(block.get(key)) for block in blocks_of(line) if block.get("type") == kind]
    return [name for name in found if name is not None]
