"""Which configuration does a session have, which harness does it name, and can that work?

The configuration is the session's newest `session-configured`, or what it was opened with. Of it a
harness reads `harness` (a name in the settings) and `workspace` (a folder); the rest is its own.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from domain import events as e
from domain.configuration import config_fingerprint, facets
from domain.json_text import JsonValue
from domain.refusals import NoSuchHarness
from domain.state import Head
from infrastructure.hosting.asking import Wanted
from infrastructure.hosting.seeds import json_of
from infrastructure.reading.facts import fact_at

KEPT: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A session's configuration, and what of it a harness is started with."""

    config: JsonValue
    harness: str | None
    workspace: str | None
    wanted: Wanted

    @property
    def facets(self) -> Mapping[str, str]:
        """Return the digests by which two configurations are told apart."""
        return self.wanted.facets


class Configurations:
    """The configurations of sessions, the newest looked-up ones remembered."""

    def __init__(self, identity: Callable[[str | None], str | None]) -> None:
        """Take what tells a harness' definition by a digest; None: there is none of this name."""
        self._identity: Final = identity
        self._known: Final[OrderedDict[tuple[int, int | None], Configuration]] = OrderedDict()

    def of(self, connection: Connection, key: int, head: Head) -> Configuration:
        """Return a session's configuration."""
        at = (key, head.config_version)
        known = self._known.get(at)
        if known is None:
            known = self._known[at] = self.reading(stored_config(connection, key, head))
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return self._checked(known)

    def reading(self, config: JsonValue) -> Configuration:
        """Return what a configuration comes to."""
        members = config if isinstance(config, dict) else {}
        harness, workspace = (_text(members.get(name)) for name in ("harness", "workspace"))
        applied: JsonValue = {**members, "harness": self._identity(harness)}
        return Configuration(
            config=config,
            harness=harness,
            workspace=workspace,
            wanted=Wanted(fingerprint=config_fingerprint(applied), facets=facets(applied)),
        )

    def changed(self, config: JsonValue) -> Configuration:
        """Return what a configuration comes to that a request asks for, with its folder checked."""
        return self._checked(self.reading(config))

    def known(self, found: Configuration, *at: str) -> Configuration:
        """Return a configuration by which a turn can begin.

        Raises:
            NoSuchHarness: it names a harness that is not defined here.
        """
        if self._identity(found.harness) is None:
            raise NoSuchHarness(*at)
        return found

    def _checked(self, found: Configuration) -> Configuration:
        if found.workspace is None or _is_folder(found.workspace):
            return found
        wanted = Wanted(
            fingerprint=found.wanted.fingerprint,
            facets=found.wanted.facets,
            standing="workspace-missing",
        )
        return Configuration(
            config=found.config, harness=found.harness, workspace=found.workspace, wanted=wanted
        )


def stored_config(connection: Connection, key: int, head: Head) -> JsonValue:
    """Return a session's configuration as it was given."""
    if head.config_version is None:
        return None
    stored = fact_at(connection, key, head.config_version)
    if isinstance(stored, e.SessionOpened | e.SessionConfigured):
        return json_of(stored.config)
    return None


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):  # one that no folder can have, or that nobody lets us see
        return False


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
