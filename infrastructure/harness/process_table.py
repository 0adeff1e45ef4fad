"""Which processes does this machine run, as far as it tells this one?

Read from `/proc`. Where there is none, nothing is known, and nothing is made up.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_OVER: Final = frozenset({"Z", "X", "x"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A process that runs: no zombie.

    Attributes:
        started: When it started, in ticks since the machine did; with `pid` it names one process.
    """

    pid: int
    group: int
    session: int
    started: int


def running(table: Path = _PROC) -> Iterator[Running]:
    """Yield every process that can be seen."""
    try:
        names = [path.name for path in table.iterdir()]
    except OSError:
        return
    for name in names:
        if name.isdecimal():
            found = look_up(int(name), table)
            if found is not None:
                yield found


def look_up(pid: int, table: Path = _PROC) -> Running | None:
    """Return the process with this id; None if there is none, or none can be seen."""
    try:
        text = (table / str(pid) / "stat").read_text(errors="replace")
        # Its name stands in brackets and may hold anything, brackets too.
        fields = text[text.rindex(")") + 2 :].split()
        if fields[0] in _OVER:
            return None
        return Running(
            pid=pid, group=int(fields[2]), session=int(fields[3]), started=int(fields[19])
        )
    except (OSError, ValueError, IndexError):
        return None


def started_with(pid: int, variable: bytes, table: Path = _PROC) -> bool:
    """Tell whether a process was started with this variable, `NAME=value`, in its environment."""
    try:
        return variable in (table / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def namespace(table: Path = _PROC) -> str | None:
    """Return what the ids of this process's table mean: which machine start, which namespace."""
    try:
        boot = (table / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {(table / 'self/ns/pid').readlink()}"
    except OSError:
        return None
