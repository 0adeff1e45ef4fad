"""How much memory do this process and everything that it started use?"""

import os
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_MB: Final = 2**20


def used_mb() -> int:
    """Return the resident memory of this process and its descendants, in MiB; 0 if unknown."""
    try:
        pids = [int(path.name) for path in _PROC.iterdir() if path.name.isdigit()]
    except OSError:
        return 0
    parents = {pid: _parent(pid) for pid in pids}
    ours, grown = {os.getpid()}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in ours} - ours
        ours |= more
        grown = bool(more)
    return sum(map(_resident, ours)) // _MB


def _parent(pid: int) -> int:
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
        return int(stat.rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _resident(pid: int) -> int:
    try:
        pages = int((_PROC / str(pid) / "statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
