"""What did a form of another program have no place for?"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

LossCode: TypeAlias = Literal[
    "arguments-unknown",
    "arguments-wrapped",
    "attachment",
    "attachment-large",
    "attachment-left-out",
    "author",
    "author-renamed",
    "call-id-renamed",
    "data",
    "denied",
    "empty-message",
    "error-flag",
    "gate",
    "input-synthesised",
    "missing",
    "orphan-result",
    "reasoning",
    "result-synthesised",
    "role",
    "system-message",
    "tool-renamed",
    "unknown-part",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormLoss:
    """One thing that was left out or changed: of a message, or of a call."""

    code: LossCode
    detail: str
    message_id: str | None = None
    tool_call_id: str | None = None

    def shape(self) -> dict[str, object]:
        """Return it as JSON, with what it is about first."""
        about = (
            {"message_id": self.message_id}
            if self.tool_call_id is None
            else {"tool_call_id": self.tool_call_id}
        )
        return {**about, "code": self.code, "detail": self.detail}
