"""How does a checkpoint stand in its table? A head and a turn as JSON, by the names of fields."""

import json
from typing import Any, Final

from sqlalchemy.engine import Row

from domain.checkpoints import FOLD_VERSION
from domain.state import Checkpoint, Head, Turn

_BYTES: Final = frozenset(name for name, hint in Head.__annotations__.items() if hint is bytes)


def checkpoint_row(session_key: int, checkpoint: Checkpoint) -> tuple[object, ...]:
    """Return a checkpoint's columns in the table's order."""
    head = {
        name: value.hex() if isinstance(value, bytes) else value
        for name, value in checkpoint.head._asdict().items()
    }
    turn = None if checkpoint.turn is None else _json(checkpoint.turn._asdict())
    return session_key, checkpoint.version, FOLD_VERSION, _json(head), turn


def checkpoint_of(row: Row[Any]) -> Checkpoint:
    """Return the checkpoint in a row that this fold wrote."""
    head: dict[str, Any] = {
        name: bytes.fromhex(value) if name in _BYTES else value
        for name, value in json.loads(row.head).items()
    }
    turn = None if row.turn is None else Turn(**json.loads(row.turn))
    return Checkpoint(version=row.version, head=Head(**head), turn=turn)


def _json(values: dict[str, Any]) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode()
