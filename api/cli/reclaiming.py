"""`turnlog reclaim`: give space back to the file system."""

from api.cli.failures import Failure
from api.cli.opening import the_log
from api.cli.output import say, write
from api.cli.progress import bar
from domain.raw_json import dumped
from infrastructure.reclaiming import InTheWay, NoRoom, reclaim


def reclaim_space(*, quick: bool, as_json: bool) -> None:
    """Give space back, and say how much it was."""
    try:
        with the_log() as log, bar("reclaiming"):
            found = reclaim(log.database, log.now(), quick=quick)
    except NoRoom as error:
        sentence = f"{error}; make room, or give --quick"
        raise Failure("no-room", sentence) from error
    except InTheWay as error:
        sentence = "others read or write all the time; try again when it is quieter"
        raise Failure("in-the-way", sentence) from error
    if as_json:
        told = {
            "before_bytes": found.before,
            "after_bytes": found.after,
            "idempotency_keys": found.idempotency_keys,
            "blobs": found.blobs,
        }
        write(dumped(told) + b"\n")
        return
    say(f"{found.before} bytes before, {found.after} after")
    say(f"{found.idempotency_keys} idempotency keys older than a day are gone")
    say(f"{found.blobs} blobs that no event names are gone")
