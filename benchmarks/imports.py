"""How fast do the rows of one's own table come in, and how much memory does that take?

A file of rows of many sessions, in turns, is made and imported in a process of its own, whose peak
of memory is told; the same with a tenth of the file shows whether memory grows with it.
`python benchmarks/imports.py --help`.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent.parent))

from sqlalchemy import make_url

from infrastructure.composition import Turnlog
from infrastructure.database import create_schema, open_database
from infrastructure.row_importing import RowImport
from infrastructure.settings import Settings

TEXT = "All work and no play makes a good benchmark. " * 9
MEBIBYTE = 1024 * 1024


def make(path: Path, size: int, sessions: int) -> int:
    """Write rows until the file is so large; return how many."""
    rows = 0
    with path.open("w") as file:
        while file.tell() < size:
            for session in range(sessions):
                for role in ("user", "assistant"):
                    row = {
                        "session_id": f"chat-{session}",
                        "external_id": f"m-{rows}",
                        "role": role,
                        "content": TEXT,
                        "occurred_at": "2026-01-01T00:00:00Z",
                    }
                    file.write(json.dumps(row) + "\n")
                    rows += 1
    return rows


def measure(url: str, path: Path) -> None:
    """Import a file, and print what it took, as JSON."""
    settings = Settings(database_url=make_url(url), allow_unverified_turns=True)
    with Turnlog(settings, open_database(settings.database_url, allow_unsafe=True)) as log:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = perf_counter()
        importing = RowImport(log.database, log.runner, log.handler, "default")
        with path.open("rb") as file:
            taken = importing.take(path.name, file, "refuse")
        seconds = perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        again = perf_counter()
        with path.open("rb") as file:
            assert importing.take(path.name, file, "refuse").status == "unchanged"
        print(
            json.dumps(
                {
                    "events": taken.facts,
                    "seconds": round(seconds, 1),
                    "events_per_s": round(taken.facts / seconds),
                    "again_s": round(perf_counter() - again, 1),
                    "memory_before_mib": before // 1024,
                    "memory_peak_mib": peak // 1024,
                }
            )
        )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mebibytes", type=int, default=200)
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--measure", nargs=2, metavar=("URL", "FILE"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        measure(asked.measure[0], Path(asked.measure[1]))
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for part in (10, 1):
            path = folder / f"rows-{part}.jsonl"
            rows = make(path, asked.mebibytes * MEBIBYTE // part, asked.sessions // part)
            for name, url in urls(stack, folder, part, postgres=asked.postgres):
                create_schema(url)
                ran = subprocess.run(  # noqa: S603 - this very file
                    [sys.executable, __file__, "--measure", url, str(path)],
                    check=True,
                    capture_output=True,
                    text=True,
                )
                size = path.stat().st_size // MEBIBYTE
                print(f"{name}: {size} MiB, {rows} rows: {ran.stdout.strip()}", flush=True)


def urls(stack: ExitStack, folder: Path, part: int, *, postgres: bool) -> list[tuple[str, str]]:
    """Return a fresh database of each kind."""
    found = [("SQLite", f"sqlite:///{folder}/rows-{part}.db")]
    if postgres:
        from tests.databases import forced_writes, postgresql_databases  # noqa: PLC0415

        server = stack.enter_context(postgresql_databases())
        stack.enter_context(forced_writes(server))
        found.append(("PostgreSQL", server.empty()))
    return found


if __name__ == "__main__":
    main()
