"""Which sessions does a Claude Code session file (JSONL) hold, and which events are they?

The main conversation is one session, each sub-agent's another that names it as parent.
Every line that is not blank ends as an event or in the loss list, and most as the former.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from domain.identifiers import is_id
from infrastructure.imports.claude_lines import Line, read_line, short_digest
from infrastructure.imports.claude_names import SessionNames, SidechainAgents, is_main
from infrastructure.imports.claude_session import Entry, SessionReader
from infrastructure.imports.translation import Loss, Report, TranslatedSession, Translation

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,63}")


def translate(
    lines: Sequence[bytes], *, source_name: str, flush_after: Sequence[int] = ()
) -> Translation:
    """Return the sessions that the lines of one file hold.

    Args:
        lines: The file's lines, with or without their line ends.
        source_name: The file's name; it names the session where the lines do not agree on one.
        flush_after: Line counts at which earlier translations of the same file ended. The
            events up to there are the ones that those translations gave.
    """
    file = _File(source_name)
    start = 0
    for end in sorted({*(count for count in flush_after if 0 < count < len(lines)), len(lines)}):
        file.take(lines[start:end], start + 1)
        start = end
    return file.translation(len(lines))


class _File:
    """One file's lines so far, dealt out to the sessions that they belong to.

    The main session goes by the key None, a sub-agent's by the agent's id.
    """

    def __init__(self, source_name: str) -> None:
        name = source_name.replace("\\", "/").rsplit("/", 1)[-1]
        self._stem = name.removesuffix(".jsonl")
        self._losses: list[Loss] = []
        self._readers: dict[str | None, SessionReader] = {}
        self._agents = SidechainAgents(self._stem)
        self._names = SessionNames(self._stem)
        self._has_main = False

    def take(self, raw_lines: Sequence[bytes], first: int) -> None:
        entries = list(self._read(raw_lines, first))
        keys: dict[int, str] = {}
        for entry in entries:
            if isinstance(entry, Line):
                self._names.note(entry)
                self._has_main |= is_main(entry)
                if entry.is_sidechain:
                    keys[entry.number] = self._agents.agent_of(entry)
        self._names.settle()
        home = None if self._has_main else self._agents.first
        dealt: dict[str | None, list[Entry]] = {}
        for entry in entries:
            dealt.setdefault(keys.get(entry.number, home), []).append(entry)
        for key, own in dealt.items():
            self._readers.setdefault(key, SessionReader()).take(own)

    def translation(self, line_count: int) -> Translation:
        keys = sorted(self._readers, key=lambda key: key is not None)
        places = [self._readers[key].diverged_at for key in keys]
        return Translation(
            sessions=tuple(self._session(key) for key in keys),
            report=self._report(line_count),
            diverged_at=min((place for place in places if place is not None), default=None),
        )

    def _read(self, raw_lines: Sequence[bytes], first: int) -> Iterator[Entry]:
        for number, raw in enumerate(raw_lines, first):
            entry, replaced = read_line(raw, number)
            if replaced:
                loss = Loss(line=number, code="lone-surrogate", detail=str(replaced))
                self._losses.append(loss)
            if entry is not None:
                yield entry

    def _session(self, key: str | None) -> TranslatedSession:
        reader = self._readers[key]
        main = self._names.session_id
        return TranslatedSession(
            session_id=main if key is None else _child_id(main, key),
            title=self._names.title if key is None else None,
            parent=None if key is None else main,
            agent_id=key,
            events=tuple(reader.writer.events),
            lines=reader.lines,
        )

    def _report(self, line_count: int) -> Report:
        readers = list(self._readers.values())
        counts = [reader.writer.counts for reader in readers]
        losses = [*self._losses, *self._names.foreign_titles()]
        for reader in readers:
            losses += reader.writer.losses
        losses.sort(key=lambda loss: (loss.line or 0, loss.code))
        return Report(
            files=1,
            lines=line_count,
            sessions=len(readers),
            turns=sum(count.turns for count in counts),
            messages=sum(count.messages for count in counts),
            tool_calls=sum(count.tool_calls for count in counts),
            tool_results=sum(count.tool_results for count in counts),
            events=sum(len(reader.writer.events) for reader in readers),
            kept_as_data=sum(count.kept_as_data for count in counts),
            repeats_dropped=sum(count.repeats_dropped for count in counts),
            losses=(*losses, *_unused_fields(readers)),
        )


def _child_id(main: str, agent: str) -> str:
    child = f"{main}.{agent}"
    return child if is_id(child) else f"agent-{short_digest(child)}"


def _unused_fields(readers: Sequence[SessionReader]) -> Iterator[Loss]:
    """Yield one loss that names the fields of conversation lines that no event carries."""
    unused = {name for reader in readers for name in reader.unused}
    plain = sorted(name for name in unused if _PLAIN_NAME.fullmatch(name))
    if unused:
        odd = len(unused) - len(plain)
        names = [*plain, f"{odd} more"] if odd else plain
        yield Loss(line=None, code="fields-not-carried", detail=", ".join(names))
