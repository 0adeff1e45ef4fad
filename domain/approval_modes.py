"""May a harness do what it asks for, by the session's approval mode alone?

Each mode, kind of question and kind of tool has one answer. Of what kind a tool is, only its agent
says: a mode that trusts kinds trusts that agent.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, assert_never, get_args

from domain.events.gate import GateKind
from domain.events.session import ApprovalMode

ToolKind: TypeAlias = Literal[
    "read",
    "search",
    "think",
    "fetch",
    "edit",
    "delete",
    "move",
    "execute",
    "other",
    "unknown",
]
ModeVerdict: TypeAlias = Literal["allow", "deny", "ask"]

MODES: Final[tuple[ApprovalMode, ...]] = get_args(ApprovalMode)
TOOL_KINDS: Final[tuple[ToolKind, ...]] = get_args(ToolKind)
_KINDS: Final[Mapping[str, ToolKind]] = {kind: kind for kind in TOOL_KINDS}
DEFAULT_MODE: Final[ApprovalMode] = "always-ask"
READS: Final[frozenset[ToolKind]] = frozenset({"read", "search", "think"})
"""What changes nothing and tells nobody; what is fetched tells its address to somebody."""


def tool_kind(told: str | None) -> ToolKind:
    """Return of what kind a tool is, by what its agent says.

    >>> tool_kind("read"), tool_kind("switch_mode"), tool_kind(None)
    ('read', 'unknown', 'unknown')
    """
    return _KINDS.get(told or "", "unknown")


def by_mode(mode: ApprovalMode, gate: GateKind, tool: ToolKind) -> ModeVerdict:
    """Return whether a mode allows what is asked, denies it, or leaves it to a person.

    A question to a person is no permission: nothing but a person answers it, unless nobody is to
    be asked at all.
    """
    match mode:
        case "deny-all":
            return "deny"
        case "allow-all":
            return "allow" if gate == "permission" else "ask"
        case "read-only":
            return "allow" if gate == "permission" and tool in READS else "ask"
        case "always-ask":
            return "ask"
        case _:
            assert_never(mode)
