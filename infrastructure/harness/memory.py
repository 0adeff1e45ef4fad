"""How much memory do this process and its harnesses use, and how much may they?

Read from the kernel each time: a container's limits can change while it runs. Sizes are bytes.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from domain.pressure import auto_budget

_KIB: Final = 1024
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Memory(Protocol):
    """What can be measured; it may block for some milliseconds."""

    def budget(self) -> int | None:
        """Return how much may be used where nobody said; None if that is not limited."""
        ...

    def used(self) -> int | None:
        """Return how much is used; None if that is not known."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineMemory:
    """The memory of this machine, as this process sees it.

    Attributes:
        proc: Where the kernel tells of processes.
        cgroups: Where it tells of control groups, of both kinds.
    """

    proc: Path = Path("/proc")
    cgroups: Path = Path("/sys/fs/cgroup")

    def budget(self) -> int | None:
        """Return 65 % of what the own cgroup may have, or of all memory; None if it is little."""
        unified, v1 = self._groups()
        return auto_budget(
            high=_limit(unified / "memory.high"),
            maximum=_limit(unified / "memory.max"),
            v1=_limit(v1 / "memory.limit_in_bytes"),
            total=self._total(),
        )

    def used(self) -> int | None:
        """Return what the own cgroup uses, with those below it; else what our processes do.

        Without the file pages that are let go of before anything is refused: a database that is
        read fills a container with them up to its limit.
        """
        unified, v1 = self._groups()
        for used, unused in (
            (unified / "memory.current", ("inactive_file", unified / "memory.stat")),
            (v1 / "memory.usage_in_bytes", ("total_inactive_file", v1 / "memory.stat")),
        ):
            if (found := _number(_text(used))) is not None:
                return max(0, found - (_line(unused[1], unused[0]) or 0))
        return self._own()

    def _groups(self) -> tuple[Path, Path]:
        """Return the own cgroup's folders, of the one hierarchy and of the older memory's."""
        paths = {"": "/", "memory": "/"}
        for line in (_text(self.proc / "self" / "cgroup") or "").splitlines():
            match line.split(":", 2):
                case [_, controllers, path]:
                    paths |= dict.fromkeys(controllers.split(","), path)
                case _:
                    pass
        return (
            _folder(self.cgroups, paths[""]),
            _folder(self.cgroups / "memory", paths["memory"]),
        )

    def _total(self) -> int | None:
        found = _line(self.proc / "meminfo", "MemTotal:")
        return None if found is None else found * _KIB

    def _own(self) -> int | None:
        """Return what this process and its descendants have that is in no file."""
        try:
            pids = [int(path.name) for path in self.proc.iterdir() if path.name.isdigit()]
        except OSError:
            return None
        parents = {pid: self._parent(pid) for pid in pids}
        ours, grown = {os.getpid()}, True
        while grown:
            more = {pid for pid, parent in parents.items() if parent in ours} - ours
            ours |= more
            grown = bool(more)
        found = [size for pid in ours if (size := self._anonymous(pid)) is not None]
        return sum(found) if found else None

    def _parent(self, pid: int) -> int:
        fields = (_text(self.proc / str(pid) / "stat") or "").rpartition(")")[2].split()
        return _number(fields[1]) or 0 if len(fields) > 1 else 0

    def _anonymous(self, pid: int) -> int | None:
        match (_text(self.proc / str(pid) / "statm") or "").split():
            case [_, resident, shared, *_]:
                return (int(resident) - int(shared)) * _PAGE
            case _:
                return None


def _folder(root: Path, path: str) -> Path:
    """Return a cgroup's folder; the root of what is in sight where a container hides the rest."""
    found = root / path.lstrip("/")
    return found if ".." not in path and found.is_dir() else root


def _limit(path: Path) -> int | None:
    """Return a limit; None for `max`, for one of nothing, and where there is none."""
    return _number(_text(path)) or None


def _line(path: Path, name: str) -> int | None:
    """Return the number of a line that begins with a name."""
    for line in (_text(path) or "").splitlines():
        match line.split():
            case [first, value, *_] if first == name:
                return _number(value)
            case _:
                pass
    return None


def _number(text: str | None) -> int | None:
    word = "" if text is None else text.strip()
    return int(word) if word.isascii() and word.isdigit() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):  # a process may end while it is looked at
        return None
