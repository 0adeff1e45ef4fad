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
from projections.losses import FormLoss
from projections.openai_chat import ChatExport, openai_chat
from projections.transcript import TranscriptMessage
from projections.ui_messages import UiExport, ui_messages

ProviderForm: TypeAlias = Literal["openai", "anthropic", "ui"]
Form: TypeAlias = ProviderForm | Literal["turnlog"]


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
        return _exported(form, messages, losses, live.earlier_calls)
    return shown_shape(connection, moment, form, live.messages, live.earlier_calls)


def shown_shape(
    connection: Connection,
    moment: Moment,
    form: Form,
    messages: Iterable[TranscriptMessage],
    earlier_calls: Iterable[str] = (),
) -> Shape:
    """Return messages that a model sees as a provider takes them, or in our own form; with files.

    `earlier_calls` are the ids of calls that come before them.
    """
    held = [*with_files(connection, moment.target.project_id, messages)]
    if form != "turnlog":
        return _exported(form, held, large_files(held), earlier_calls)
    ours = [
        {
            "message_id": message.message_id,
            "turn_id": message.turn_id,
            "role": message.role,
            "parts": [*readable(message.parts)],
        }
        for message in held
    ]
    return {"messages": ours, "losses": []}


def _exported(
    form: ProviderForm,
    messages: Sequence[TranscriptMessage],
    losses: Sequence[FormLoss],
    earlier_calls: Iterable[str],
) -> Shape:
    export = _EXPORTS[form](messages, earlier_calls)
    shape: Shape = {"messages": export.messages}
    if isinstance(export, AnthropicExport) and export.system:
        shape["system"] = export.system
    return shape | {"losses": [loss.shape() for loss in (*losses, *export.losses)]}


_EXPORTS: Final[
    Mapping[
        ProviderForm,
        Callable[
            [Sequence[TranscriptMessage], Iterable[str]], ChatExport | AnthropicExport | UiExport
        ],
    ]
] = {"openai": openai_chat, "anthropic": anthropic_messages, "ui": ui_messages}
