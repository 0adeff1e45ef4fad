"""What has to be run for docs/performance.md, in which order, and how long does it take?

`pip install -e '.[test,bench,peers]' && python benchmarks/all.py` runs everything, one after the
other, and writes what each printed to a file of its own: on a machine that does nothing else, two
shared cores, half an hour. `--only NAME ...` runs some; `--list` only says what there is.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One script, as it is run for the tables, and the minutes that it took once."""

    script: str
    arguments: Sequence[str] = ()
    minutes: float

    @property
    def name(self) -> str:
        """Return what it is called by."""
        return self.script.removesuffix(".py")

    @property
    def command(self) -> str:
        """Return how it is run alone."""
        return " ".join(("python", f"benchmarks/{self.script}", *self.arguments))


EVERY = (
    Benchmark(script="log.py", arguments=("--rounds", "5"), minutes=1),
    Benchmark(script="peers.py", minutes=2),
    Benchmark(script="clients.py", minutes=1),
    Benchmark(script="writers.py", minutes=3),
    Benchmark(script="reads.py", arguments=("--postgres",), minutes=1),
    Benchmark(script="page.py", minutes=1),
    Benchmark(script="streams.py", arguments=("--rounds", "3", "--postgres"), minutes=2),
    Benchmark(script="history.py", minutes=6),
    Benchmark(script="turns.py", minutes=2),
    Benchmark(script="sessions.py", minutes=2),
    Benchmark(script="pressure.py", minutes=1),
    Benchmark(script="starting.py", arguments=("--postgres",), minutes=4),
    Benchmark(
        script="lanes.py",
        arguments=("--rounds", "3", "--requests", "100", "--postgres"),
        minutes=5,
    ),
    Benchmark(script="lane_recovery.py", arguments=("--postgres",), minutes=3),
    Benchmark(script="space.py", minutes=1),
    Benchmark(script="imports.py", arguments=("--postgres",), minutes=10),
    Benchmark(script="followers.py", minutes=10),
)


def load() -> str:
    """Return the machine's load, which should be next to none."""
    return ", ".join(f"{load:.1f}" for load in os.getloadavg())


def run(benchmark: Benchmark, results: Path) -> bool:
    """Run one, show what it prints and keep it; tell whether it went well."""
    kept = results / f"{benchmark.name}.md"
    print(
        f"\n## {benchmark.command} (about {benchmark.minutes:g} min, load {load()})\n", flush=True
    )
    began = perf_counter()
    with subprocess.Popen(  # noqa: S603 - our own scripts
        [sys.executable, str(HERE / benchmark.script), *benchmark.arguments],
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        with kept.open("w") as file:
            for line in running.stdout:
                print(line, end="", flush=True)
                file.write(line)
    print(f"\n{benchmark.name}: {(perf_counter() - began) / 60:.1f} min, in {kept}", flush=True)
    return running.returncode == 0


def main() -> int:
    """Run what is asked for; return how many failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[each.name for each in EVERY])
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument("--results", type=Path, default=Path("benchmark-results"))
    options = parser.parse_args()
    wanted = [each for each in EVERY if not options.only or each.name in options.only]
    if options.list:
        for each in wanted:
            print(f"{each.minutes:>4g} min  {each.command}")
        return 0
    options.results.mkdir(exist_ok=True)
    failed = [each.name for each in wanted if not run(each, options.results)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
