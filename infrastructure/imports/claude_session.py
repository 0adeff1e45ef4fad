"""Which part does each line of one session play, given all lines known so far?

Lines come in batches: what is pending at the end of a batch is settled there, so the
events of a file that grew begin with the events of the file as it was.
"""

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from infrastructure.imports.claude_lines import SAID, JsonObject, Line, Role, Unreadable, blocks_of
from infrastructure.imports.claude_tree import live_lines, parents_first
from infrastructure.imports.claude_turns import TurnWriter
from infrastructure.imports.translation import Loss

Entry: TypeAlias = Line | Unreadable


class SessionReader:
    """One session's lines so far, and the events that they amount to."""

    def __init__(self) -> None:
        self.writer = TurnWriter()
        self.lines = 0
        self.diverged_at: int | None = None
        self.unused: set[str] = set()
        self._tree: dict[int, Line] = {}
        self._by_uuid: dict[str, Line] = {}
        self._was_live: dict[int, bool] = {}

    def take(self, entries: Sequence[Entry]) -> None:
        """Translate the session's next lines, and settle what they leave open."""
        self.lines += len(entries)
        placed = (self._placed(entry) if isinstance(entry, Line) else entry for entry in entries)
        fresh = [entry for entry in placed if entry is not None]
        live = live_lines(list(self._tree.values()))
        self._compare(live)
        ordered = parents_first(fresh)
        for entry in ordered:
            if isinstance(entry, Line) and entry.role in SAID:
                self._was_live[entry.number] = entry.number in live
        _Batch(ordered, live, self.writer, self.unused).write()
        self.writer.settle()

    def _placed(self, line: Line) -> Line | None:
        """Place the line in the tree; return it as it is to be told, or None if it was already."""
        known = self._by_uuid.get(line.uuid) if line.uuid is not None else None
        if known is None or (line.role in SAID and known.role not in SAID):
            self._grow(line, known)
            return line
        is_repeat = _what_was_said(known) == _what_was_said(line)
        code = "duplicate-line" if is_repeat else "duplicate-uuid"
        self.writer.losses.append(Loss(line=line.number, code=code, detail=""))
        return None if is_repeat else replace(line, role=Role.OTHER, label=code, uuid=None)

    def _grow(self, line: Line, instead_of: Line | None) -> None:
        if instead_of is not None:
            self._tree.pop(instead_of.number, None)
        if line.uuid is not None or line.role is not Role.OTHER:
            self._tree[line.number] = line
        if line.uuid is not None:
            self._by_uuid[line.uuid] = line

    def _compare(self, live: frozenset[int]) -> None:
        """Note the first line whose place in the conversation is no longer what it was."""
        changed = [number for number, was in self._was_live.items() if was != (number in live)]
        if changed:
            first = min(changed)
            self.diverged_at = min(first, self.diverged_at or first)
            self._was_live.update({number: number in live for number in changed})


class _Batch:
    """The lines of one batch in the order in which they are told."""

    def __init__(
        self,
        entries: Sequence[Entry],
        live: frozenset[int],
        writer: TurnWriter,
        unused: set[str],
    ) -> None:
        self._entries = entries
        self._live = live
        self._writer = writer
        self._unused = unused
        self._told: set[int] = set()
        self._run_ends = 0
        self._prompting: Line | None = None

    def write(self) -> None:
        for place, entry in enumerate(self._entries):
            if isinstance(entry, Unreadable):
                self._keep_unreadable(entry)
            elif entry.number not in self._told:
                self._tell(place, entry)

    def _tell(self, place: int, line: Line) -> None:
        writer = self._writer
        is_live = line.number in self._live
        if line.role in SAID and not is_live:
            writer.losses.append(Loss(line=line.number, code="abandoned-branch", detail=""))
            writer.keep(line, "abandoned-branch", line.record)
        elif line.role is Role.INTERNAL:
            self._tell_internal(place, line)
        elif line.role is Role.ASSISTANT:
            self._tell_message(place, line)
        elif line.role is Role.OTHER or not is_live:
            writer.keep(line, line.label, line.record)
        else:
            self._tell_rest(line)

    def _tell_rest(self, line: Line) -> None:
        match line.role:
            case Role.RESULTS:
                self._note_unused(line)
                self._writer.results(line)
            case Role.INTERRUPT:
                self._writer.interrupt(line)
            case Role.COMPACT_SUMMARY:
                self._writer.summary(line)
            case Role.COMPACT_BOUNDARY:
                self._writer.boundary(line)
            case _:
                self._note_unused(line)
                self._writer.prompt(line)

    def _tell_message(self, place: int, line: Line) -> None:
        pieces = self._pieces(place, line)
        for piece in pieces:
            self._note_unused(piece)
        self._writer.assistant(pieces)

    def _keep_unreadable(self, entry: Unreadable) -> None:
        encoded = base64.b64encode(entry.raw).decode()
        self._writer.losses.append(
            Loss(line=entry.number, code="unreadable-line", detail=entry.code)
        )
        self._writer.keep_at(entry.number, None, "unreadable-line", {"base64": encoded})

    def _pieces(self, place: int, line: Line) -> list[Line]:
        """Gather the message that `line` begins, past results of its own calls and past data."""
        pieces = [line]
        calls = _call_ids(line)
        for at in range(place + 1, len(self._entries) if line.group else 0):
            entry = self._entries[at]
            if not isinstance(entry, Line) or not self._is_said(entry):
                continue
            if entry.group == line.group:
                pieces.append(entry)
                calls |= _call_ids(entry)
            elif entry.role is not Role.RESULTS or not _result_ids(entry) <= calls:
                break
        self._told.update(piece.number for piece in pieces)
        return pieces

    def _is_said(self, line: Line) -> bool:
        return line.role in SAID and line.number in self._live

    def _tell_internal(self, place: int, line: Line) -> None:
        """Keep a line of Claude Code's own as data, unless it is what the model answers."""
        if place >= self._run_ends:
            self._look_ahead(place)
        if line is self._prompting and self._writer.awaits_input:
            self._note_unused(line)
            self._writer.prompt(line)
        else:
            self._writer.keep(line, line.label, line.record)

    def _look_ahead(self, place: int) -> None:
        """Find the end of a run of internal lines, and the one that a model's answer follows."""
        self._prompting = None
        for at in range(place, len(self._entries)):
            self._run_ends = at + 1
            entry = self._entries[at]
            if not isinstance(entry, Line):
                continue
            if self._is_said(entry):
                if entry.role is not Role.ASSISTANT or entry.is_synthetic:
                    self._prompting = None
                return
            if entry.may_prompt:
                self._prompting = entry
            elif entry.label == "command-output":
                self._prompting = None
        self._prompting = None

    def _note_unused(self, line: Line) -> None:
        self._unused.update(key for key in line.record if key not in _CARRIED)
        self._unused.update(f"message.{key}" for key in line.message if key not in _CARRIED_WITHIN)


_CARRIED = frozenset(
    {
        "agentId", "isApiErrorMessage", "isMeta", "isSidechain", "logicalParentUuid", "message",
        "parentUuid", "requestId", "sessionId", "timestamp", "toolUseResult", "type", "uuid",
    }
)  # fmt: skip
_CARRIED_WITHIN = frozenset({"content", "id", "model", "role", "stop_reason", "type", "usage"})


_OF_THE_COPY = frozenset({"cwd", "gitBranch", "sessionId", "slug", "version"})
"""What a line copied into a resumed session's file may say otherwise."""


def _what_was_said(line: Line) -> JsonObject:
    return {key: value for key, value in line.record.items() if key not in _OF_THE_COPY}


def _call_ids(line: Line) -> set[str]:
    return _ids(line, "tool_use", "id")


def _result_ids(line: Line) -> set[str]:
    return _ids(line, "tool_result", "tool_use_id")


def _ids(line: Line, kind: str, key: str) -> set[str]:
    blocks: list[JsonObject] = [block for block in blocks_of(line) if block.get("type") == kind]
    return {name for block in blocks if isinstance(name := block.get(key), str)}
