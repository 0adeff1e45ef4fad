"""Whose lines are these: which session and which sub-agent do they name, under which title?

A resumed file may begin with lines of the session that it goes on from, and summaries at
its head are of other sessions. The file's own name decides where its lines disagree.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from domain.graphemes import shortened
from infrastructure.imports.claude_lines import SAID, Line, Role, id_for, text_or_none
from infrastructure.imports.translation import Loss

_AGENT_FILE: Final = re.compile(r"agent-(.+)", re.DOTALL)
_TITLE_LENGTH: Final = 200
_TITLES: Final = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}


def is_main(line: Line) -> bool:
    """Tell whether the line stands in the main conversation's tree."""
    return not line.is_sidechain and (line.uuid is not None or line.role in SAID)


class SessionNames:
    """The names that a file's lines give to its main session."""

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._by_main: Counter[str] = Counter()
        self._by_any: Counter[str] = Counter()
        self._uuids: set[str] = set()
        self._titles: list[Line] = []
        self._settled: str | None = None

    def note(self, line: Line) -> None:
        """Take what `line` says about the session's names."""
        if line.uuid is not None:
            self._uuids.add(line.uuid)
        if line.label in _TITLES and line.role is Role.OTHER:
            self._titles.append(line)
        if line.session is not None:
            self._by_any[line.session] += 1
            if is_main(line):
                self._by_main[line.session] += 1

    def settle(self) -> None:
        """Decide for a session id once one was seen; a longer file does not change it."""
        if self._settled is None:
            counted = self._by_main or self._by_any
            named = self._stem if self._stem in counted else _most_frequent(counted)
            self._settled = named

    @property
    def session_id(self) -> str:
        """The main session's id: what its lines say, else the file's name."""
        return id_for(self._settled or self._stem, prefix="session", otherwise="unnamed")

    @property
    def title(self) -> str | None:
        """The newest title of the session's own: a person's, else Claude Code's."""
        for kind in _TITLES:
            for line in reversed(self._titles):
                text = text_or_none(line.record.get(_TITLES[kind]))
                if line.label == kind and self._is_own(line) and text and text.strip():
                    return shortened(text.strip(), _TITLE_LENGTH)
        return None

    def foreign_titles(self) -> Iterator[Loss]:
        """Yield a loss for each title that belongs to another session."""
        for line in self._titles:
            if not self._is_own(line):
                yield Loss(line=line.number, code="foreign-title", detail=line.label)

    def _is_own(self, line: Line) -> bool:
        leaf = line.record.get("leafUuid")
        if line.label == "summary" and line.session is None:
            return isinstance(leaf, str) and leaf in self._uuids
        return line.session in {None, self._settled}


class SidechainAgents:
    """The sub-agents whose lines stand in a file; old versions give them no id."""

    def __init__(self, stem: str) -> None:
        match = _AGENT_FILE.fullmatch(stem)
        self._file_agent = match.group(1) if match else None
        self._by_uuid: dict[str, str] = {}
        self._last: str | None = None
        self.first: str | None = None

    def agent_of(self, line: Line) -> str:
        """Return the agent whose line this is: it says so, or the line that it goes on from."""
        agent = line.agent or self._file_agent or self._continued(line)
        if agent is None:
            agent = f"sidechain-{line.uuid or line.number}"
        if line.uuid is not None:
            self._by_uuid.setdefault(line.uuid, agent)
        self._last = agent
        self.first = self.first or agent
        return agent

    def _continued(self, line: Line) -> str | None:
        if line.parent in self._by_uuid:
            return self._by_uuid[line.parent]
        return None if line.has_null_parent or line.role is Role.PROMPT else self._last


def _most_frequent(counts: Counter[str]) -> str | None:
    """Return the most frequent name, of equals the one seen last."""
    return max(reversed(counts), key=lambda name: counts[name], default=None)
