"""How fast do views follow the log, and how long does a search take?

Each database in turn: messages are appended, the followers catch up from nothing, then queries of
several kinds are asked in turn. With `--url` it is one database that is kept: what it holds already
is not appended again. `python benchmarks/followers.py --help`.
"""

import argparse
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import accumulate
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
WORDS = 30_000  # tried; some come twice
SYLLABLES = ("ka", "to", "mi", "re", "su", "lo", "ven", "dar", "qui", "pel", "nor", "zha")
ROUNDS = 100


def vocabulary(chance: random.Random) -> list[str]:
    """Return words as common as words are: the first often, the last hardly ever."""
    made = {"".join(chance.choices(SYLLABLES, k=4)) for _ in range(WORDS)}
    return [*sorted(made), "read_config_file", "parseHttpRequest"]


def messages_of(chance: random.Random, known: Sequence[str]) -> Iterator[str]:
    """Yield messages of some 500 bytes."""
    weights = list(accumulate(1 / rank for rank in range(1, len(known) + 1)))
    while True:
        yield " ".join(chance.choices(known, cum_weights=weights, k=WORDS_A_MESSAGE))


def proposal(type_: str, data: dict[str, object]) -> Proposal:
    """Return an event as a producer sends it."""
    body = dumped(data)
    return Proposal(event=event_of(type_, members_of(type_, body)), body=body)


def fill(log: Turnlog, messages: int, said: Iterator[str]) -> None:
    """Append so many messages: sessions of turns of two, each with a record of usage."""
    for number in range(messages // SESSION):
        request = BatchRequest(
            producer=ProducerStamp(producer_id="p", epoch=1, sequence=1),
            proposals=[each for turn in range(SESSION // 2) for each in _turn(turn, said)],
            open=OpenSession(),
        )
        target = Target(project_id="default", session_id=f"s{number}")
        log.runner.run(partial(_append, log, target, request))


def _turn(number: int, said: Iterator[str]) -> Iterator[Proposal]:
    turn_id = f"t{number}"
    asked = {"role": "user", "content": next(said)}
    answered = {"role": "assistant", "content": next(said)}
    used: dict[str, object] = {"model": "m", "input_tokens": 9, "output_tokens": 9}
    yield proposal("turn-started", {"turn_id": turn_id, "messages": [asked]})
    yield proposal("message-recorded", {"turn_id": turn_id, "message": answered})
    yield proposal("usage-recorded", {"turn_id": turn_id, **used})
    yield proposal("turn-completed", {"turn_id": turn_id})


def _append(log: Turnlog, target: Target, request: BatchRequest, attempt: Attempt) -> None:
    append_batch(log.handler, attempt, target, request, Caller())


def measure(name: str, url: str, messages: int) -> None:
    """Fill a database, follow it, search it, and print what it took."""
    create_schema(url)
    settings = Settings(database_url=make_url(url), allow_unverified_turns=True)
    with open_turnlog(settings) as log:
        chance = random.Random(7)  # noqa: S311 - the same in every run
        known = vocabulary(chance)
        if not log.read_now(visible_through):
            follow(name, log, messages, messages_of(chance, known))
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


def follow(name: str, log: Turnlog, messages: int, said: Iterator[str]) -> None:
    """Fill a database, have its views follow, and print what it took."""
    events = messages * 2 + messages // SESSION
    _told(name, "appended, in batches", events, partial(fill, log, messages, said))
    for view in log.following.names:
        _told(name, f"{view} follows", events, partial(log.following.catch_up, view))


def _told(name: str, what: str, events: int, work: Callable[[], object]) -> None:
    began = perf_counter()
    work()
    print(f"| {name} | {what} | {events / (perf_counter() - began):,.0f} events/s | |", flush=True)


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
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--url", help="a database to keep; made if it is not there")
    parser.add_argument("--only", choices=("sqlite", "postgresql"))
    given = parser.parse_args()
    print(f"{given.messages:,} messages of some 500 bytes, pages of 50\n")
    print("| database | what | measured | |\n|---|---|---|---|")
    if given.url:
        measure("kept", given.url, given.messages)
        return
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
