"""A process that starts on the database that each line of its input names, as turnlog does.

It prints `ready`, and for each line what it met: `started`, or the kind of an error.
"""

import os
import sys
from pathlib import Path

from sqlalchemy import make_url

from infrastructure.database import create_schema, open_database
from tests.faults.promising import request, say
from tests.infrastructure.writing import Store


def start(url: str) -> None:
    """Make the database if need be, and append to a session of this process."""
    parsed = make_url(url)
    embedded = parsed.get_backend_name() == "sqlite"
    if not embedded:
        create_schema(url)
    with Store(open_database(parsed, allow_unsafe=not embedded, create=embedded)) as store:
        store.send(request("p1", 1), f"s{os.getpid()}")


def main() -> None:
    """Start as often as told, at the moment at which a file appears."""
    say("ready")
    for line in sys.stdin:
        url, signal = line.split("\t")
        while not Path(signal.strip()).exists():
            pass
        try:
            start(url)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test is told
            say(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
        else:
            say("started")


if __name__ == "__main__":
    main()
