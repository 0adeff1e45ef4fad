"""How fast do views follow the log, and how long does a search take?

Each database in turn: messages are appended, the followers catch up from nothing, then queries of
several kinds are asked in turn. `python benchmarks/followers.py --help`.
"""

import argparse
import random
import sys
import tempfile
import warnings
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

from sqlalchemy import make_url

sys.path.insert(0, str(Path(__file__).parent.parent))

from domain.commands import OpenSession, Proposal
from domain.raw_json import dumped
from domain.recorded import ProducerStamp
from infrastructure.appending import BatchRequest, append_batch
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.database import create_schema
from infrastructure.reading.search import SearchQuery, search
from infrastructure.reading.whole_log import visible_through
from infrastructure.runner import Attempt
from infrastructure.serialization import event_of, members_of
from infrastructure.settings import Settings
from projections.search import terms

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from tests.databases import forced_writes, postgresql_databases

SESSION = 250
WORDS_A_MESSAGE = 60
SYLLABLES = ("ka", "to", "mi", "re", "su", "lo", "ven", "dar", "qui", "pel", "nor", "zha")
ROUNDS = 100


def vocabulary(chance: random.Random) -> list[str]:
    """Return words as common as words are: the first often, the last hardly ever."""
    made = {"".join(chance.choices(SYLLABLES, k=3)) for _ in range(2_000)}
    return [*sorted(made), "read_config_file", "parseHttpRequest"]


def message(chance: random.Random, known: list[str]) -> str:
    """Return a message of some 400 bytes."""
    weights = [1 / rank for rank in range(1, len(known) + 1)]
    return " ".join(chance.choices(known, weights, k=WORDS_A_MESSAGE))


def proposal(type_: str, data: dict[str, object]) -> Proposal:
    """Return an event as a producer sends it."""
    body = dumped(data)
    return Proposal(event=event_of(type_, members_of(type_, body)), body=body)


def fill(log: Turnlog, messages: int, chance: random.Random) -> list[str]:
    """Append so many messages, with a record of usage for every tenth; return the words."""
    known = vocabulary(chance)
    for number in range(messages // SESSION):
        events = [
            proposal(
                "turn-started",
                {
                    "turn_id": "t1",
                    "messages": [{"role": "user", "content": message(chance, known)}],
                },
            )
        ]
        for index in range(1, SESSION):
            said = {"role": "assistant", "content": message(chance, known)}
            events.append(proposal("message-recorded", {"turn_id": "t1", "message": said}))
            if index % 10 == 0:
                usage: dict[str, object] = {
                    "turn_id": "t1",
                    "model": "m",
                    "input_tokens": 9,
                    "output_tokens": 9,
                }
                events.append(proposal("usage-recorded", usage))
        request = BatchRequest(
            producer=ProducerStamp(producer_id="p", epoch=1, sequence=1),
            proposals=events,
            open=OpenSession(),
        )
        target = Target(project_id="default", session_id=f"s{number}")
        log.runner.run(partial(_append, log, target, request))
    return known


def _append(log: Turnlog, target: Target, request: BatchRequest, attempt: Attempt) -> None:
    append_batch(log.handler, attempt, target, request, Caller())


def measure(name: str, url: str, messages: int) -> None:
    """Fill a database, follow it, search it, and print what it took."""
    create_schema(url)
    settings = Settings(database_url=make_url(url), allow_unverified_turns=True)
    with open_turnlog(settings) as log:
        known = fill(log, messages, random.Random(7))  # noqa: S311 - the same in every run
        assert log.read_now(visible_through) > 0
        events = messages + (messages // SESSION) * (1 + (SESSION - 1) // 10)
        for view in log.following.names:
            began = perf_counter()
            log.following.catch_up(view)
            took = perf_counter() - began
            print(f"| {name} | {view} follows | {events / took:,.0f} events/s | |")
        rare = known[-200:-2]
        queries = {
            "a rare word": [rare[n % len(rare)] for n in range(ROUNDS)],
            "a common word": [known[n % 20] for n in range(ROUNDS)],
            "two words": [f"{known[n % 50]} {known[100 + n]}" for n in range(ROUNDS)],
            "an identifier": ["readConfigFile", "http_request"] * (ROUNDS // 2),
            "a phrase that is not there": [
                f'"{known[n % 30]} {known[n % 29 + 1]} {known[n % 31]} {known[n % 7]}"'
                for n in range(ROUNDS)
            ],
        }
        every: list[float] = []
        for kind, asked in queries.items():
            times = [_searched(log, query) for query in asked]
            every += times
            print(f"| {name} | {kind} | p50 {_ms(median(times))} | p99 {_ms(_p99(times))} |")
        print(f"| {name} | every query | p50 {_ms(median(every))} | p99 {_ms(_p99(every))} |")


def _searched(log: Turnlog, text: str) -> float:
    query = SearchQuery(project_id="default", terms=terms(text), limit=50)
    began = perf_counter()
    log.read_now(lambda connection: search(connection, query))
    return perf_counter() - began


def _p99(times: list[float]) -> float:
    return quantiles(times, n=100)[98]


def _ms(seconds: float) -> str:
    return f"{seconds * 1_000:.1f} ms"


def main() -> None:
    """Measure each database, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--only", choices=("sqlite", "postgresql"))
    given = parser.parse_args()
    print(f"{given.messages:,} messages of some 400 bytes, pages of 50\n")
    print("| database | what | measured | |\n|---|---|---|---|")
    with ExitStack() as stack:
        if given.only != "postgresql":
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            measure("SQLite", f"sqlite:///{folder}/log.db", given.messages)
        if given.only != "sqlite":
            server = stack.enter_context(postgresql_databases())
            stack.enter_context(forced_writes(server))
            measure("PostgreSQL", server.empty(), given.messages)


if __name__ == "__main__":
    main()
