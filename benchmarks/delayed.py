"""A wire to PostgreSQL that takes its time, as a server in another building would have it.

Every piece of data arrives half a round trip later, in order; what was sent together stays
together. A process of its own, so that it takes no writer's time.
"""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import make_url

CHUNK = 1 << 16


@contextmanager
def delayed(url: str, round_trip_ms: float) -> Generator[str]:
    """Give a URL that leads to the same database over a wire with this round trip."""
    server = make_url(url)
    with tempfile.TemporaryDirectory(prefix="wire-") as directory:
        arguments = [sys.executable, __file__, str(server.query["host"]), directory]
        with subprocess.Popen(  # noqa: S603 - ourselves
            [*arguments, str(round_trip_ms / 2000)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()  # it listens
            query = {"host": directory, "port": "5432"}
            yield server.set(host=None, query=query).render_as_string(hide_password=False)
            process.terminate()


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    """Hand on what comes, later."""
    loop = asyncio.get_running_loop()
    while data := await reader.read(CHUNK):
        loop.call_later(delay_s, writer.write, data)
    loop.call_later(delay_s, writer.close)


async def serve(server: str, directory: str, delay_s: float) -> None:
    """Relay connections until the process is ended."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_unix_connection(f"{server}/.s.PGSQL.5432")
        await asyncio.gather(relay(reader, there[1], delay_s), relay(there[0], writer, delay_s))

    path = Path(directory) / ".s.PGSQL.5432"
    listener = await asyncio.start_unix_server(accept, path)
    sys.stdout.write("listening\n")
    sys.stdout.flush()
    await listener.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2], float(sys.argv[3])))
