"""How is it read from the kernel how much memory is used, and how much may be?"""

import os
from pathlib import Path

import pytest

from infrastructure.harness.memory import MachineMemory

MIB = 2**20
GIB = 1024 * MIB
PAGE = os.sysconf("SC_PAGE_SIZE")
UNIFIED = "0::/kept.slice/turnlog.service\n"
V1 = "5:cpu,cpuacct:/else\n4:memory:/kept\n0::/\n"
UNLIMITED = 2**63 - 4096


def machine(folder: Path, cgroup: str, **files: int | str) -> MachineMemory:
    """A machine of 8 GiB whose files say this."""
    told: dict[str, int | str] = {
        "proc/self/cgroup": cgroup,
        "proc/meminfo": f"MemTotal:  {8 * GIB // 1024} kB\nMemFree:  1 kB\n",
        **files,
    }
    for name, text in told.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return MachineMemory(proc=folder / "proc", cgroups=folder / "cgroup")


def process(pid: int, parent: int, resident: int, shared: int) -> dict[str, str]:
    return {
        f"proc/{pid}/stat": f"{pid} (a name) with) spaces) S {parent} 0 0",
        f"proc/{pid}/statm": f"9999 {resident} {shared} 0 0 0 0",
    }


@pytest.mark.parametrize(
    ("high", "maximum", "limit"),
    [("max", "max", 8 * GIB), ("max", 2 * GIB, 2 * GIB), (GIB, 2 * GIB, GIB), (0, GIB, GIB)],
)
def test_the_own_cgroup_says_what_may_be_used(
    tmp_path: Path, high: int | str, maximum: int | str, limit: int
) -> None:
    own = "cgroup/kept.slice/turnlog.service"
    files = {f"{own}/memory.high": high, f"{own}/memory.max": maximum, "cgroup/memory.max": MIB}

    assert machine(tmp_path, UNIFIED, **files).budget() == limit * 65 // 100


def test_in_a_container_the_root_in_sight_is_the_own_cgroup(tmp_path: Path) -> None:
    files = {"cgroup/memory.max": GIB, "cgroup/memory.current": 7 * MIB}

    found = machine(tmp_path, UNIFIED, **files)

    assert (found.budget(), found.used()) == (GIB * 65 // 100, 7 * MIB)


@pytest.mark.parametrize(("told", "limit"), [(UNLIMITED, 8 * GIB), (GIB, GIB)])
def test_the_older_kind_of_cgroup_is_heeded_too(tmp_path: Path, told: int, limit: int) -> None:
    files: dict[str, int | str] = {
        "cgroup/memory/kept/memory.limit_in_bytes": told,
        "cgroup/memory/kept/memory.usage_in_bytes": 900 * MIB,
        "cgroup/memory/kept/memory.stat": f"inactive_file 5\ntotal_inactive_file {100 * MIB}",
    }

    found = machine(tmp_path, V1, **files)

    assert (found.budget(), found.used()) == (limit * 65 // 100, 800 * MIB)


def test_file_pages_that_can_be_let_go_of_are_not_used(tmp_path: Path) -> None:
    files: dict[str, int | str] = {
        "cgroup/kept.slice/turnlog.service/memory.current": 900 * MIB,
        "cgroup/kept.slice/turnlog.service/memory.stat": f"anon 7\ninactive_file {300 * MIB}",
    }

    assert machine(tmp_path, UNIFIED, **files).used() == 600 * MIB


def test_without_a_cgroup_this_process_and_all_that_it_started_are_added_up(
    tmp_path: Path,
) -> None:
    me = os.getpid()
    processes = (
        process(me, 1, 500, 100)
        | process(me + 1, me, 70, 20)
        | process(me + 2, me + 1, 9, 4)
        | process(me + 3, 1, 10_000, 0)
        | {f"proc/{me + 4}/stat": f"{me + 4} (gone"}
    )

    assert machine(tmp_path, "", **processes).used() == 455 * PAGE


def test_where_nothing_is_told_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    nowhere = MachineMemory(proc=tmp_path / "absent", cgroups=tmp_path)
    silent = MachineMemory(proc=tmp_path / "proc", cgroups=tmp_path)

    assert (nowhere.budget(), nowhere.used(), silent.used()) == (None, None, None)


def test_this_machine_tells_how_much_is_used() -> None:
    used = MachineMemory().used()

    assert used is not None
    assert used > MIB
