"""How does what a model sees of a session look in a provider's own form, or whole in ours?"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from sqlalchemy import Connection

from api.shapes import Shape
from domain.messages import readable
from infrastructure.reading.files import with_files
from infrastructure.reading.moment import Moment
from infrastructure.reading.transcript import live_view
from projections.anthropic_messages import AnthropicExport, anthropic_messages
from projections.files import large_files, without_files
from projections.openai_chat import ChatExport, openai_chat
from projections.transcript import TranscriptMessage
from projections.ui_messages import UiExport, ui_messages

ProviderForm: TypeAlias = Literal["openai", "anthropic", "ui"]


def provider_shape(
    connection: Connection,
    moment: Moment,
    form: ProviderForm,
    attachments: Literal["inline", "omit"],
) -> Shape:
    """Return all that a model sees, as a provider takes it, and what cannot be said so."""
    live = live_view(connection, moment)
    if attachments == "omit":
        messages, losses = without_files(live.messages)
    else:
        project_id = moment.target.project_id
        messages = list(with_files(connection, project_id, live.messages))
        losses = large_files(messages)
    export = _EXPORTS[form](messages, live.earlier_calls)
    shape: Shape = {"messages": export.messages}
    if isinstance(export, AnthropicExport) and export.system:
        shape["system"] = export.system
    return shape | {"losses": [loss.shape() for loss in (*losses, *export.losses)]}


def whole_shape(connection: Connection, moment: Moment) -> Shape:
    """Return all that a model sees in our own form, files and all."""
    live = live_view(connection, moment)
    held = with_files(connection, moment.target.project_id, live.messages)
    messages = [
        {
            "message_id": message.message_id,
            "turn_id": message.turn_id,
            "role": message.role,
            "parts": [*readable(message.parts)],
        }
        for message in held
    ]
    return {"messages": messages, "losses": []}


_EXPORTS: Final[
    Mapping[
        ProviderForm,
        Callable[
            [Sequence[TranscriptMessage], Iterable[str]], ChatExport | AnthropicExport | UiExport
        ],
    ]
] = {"openai": openai_chat, "anthropic": anthropic_messages, "ui": ui_messages}
