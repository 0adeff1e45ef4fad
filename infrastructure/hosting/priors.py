"""How does what a client tells of the conversation stand to ours, and what becomes of it?

The comparison costs what the client sends. What becomes of it are steps, to be carried out in one
transaction with the turn that they make way for.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias
from uuid import uuid4

from sqlalchemy import Connection, select

from domain import commands as c
from domain import events as e
from domain.dispatch.outcomes import Step
from domain.dispatch.situation import Prior
from domain.refusals import NoSuchSession, TooManyBytes, TooManyFacts
from domain.rewinding import rewinding
from domain.state import Position
from infrastructure import tables as t
from infrastructure.agreement import count
from infrastructure.command_handler import Target
from infrastructure.fork_records import records_of
from infrastructure.hosting.asking import ClientHistory
from infrastructure.hosting.compared import Compared
from infrastructure.hosting.prior_cuts import cut_of, is_beginning
from infrastructure.hosting.prior_facts import facts_of
from infrastructure.reading.comparing import compared, completed_history
from infrastructure.reading.moment import Moment, moment
from projections.comparing.comparison import Comparison
from projections.comparing.told import Told

EVENTS_LIMIT: Final = 1_000
BYTES_LIMIT: Final = 8 * 2**20
AT_ONCE: Final = 500
Mint: TypeAlias = Callable[[], str]


def compared_prior(
    connection: Connection,
    target: Target,
    prior: ClientHistory,
    *,
    rewind: c.Rewind | None = None,
) -> Compared:
    """Return how a prior stands to what is in sight, or will be after a rewind.

    What is known of it already stands as long as the history is the same.

    Raises:
        NoSuchSession: there is none.
        Refusal: the rewind is none; as `domain.rewinding.rewinding`.
    """
    now = moment(connection, target)
    if prior.known is not None and prior.known.through == now.head.history_version:
        return prior.known
    then = now if rewind is None else _rewound(connection, now, rewind)
    theirs = completed_history(connection, target.project_id, prior.messages)
    if not theirs:
        return Compared(word="absent", through=now.head.history_version)
    found = compared(connection, then, theirs, prior.form, past=True)
    word = _word(connection, then, theirs, prior, found)
    known = Compared(
        word=word,
        through=now.head.history_version,
        counted=now.sight.turns,
        rewind=rewind,
        comparison=found,
    )
    known = _with_difference(known, found)
    if word in {"agrees", "window"}:
        return replace(known, turns=then.sight.turns)
    cut = cut_of(connection, then, theirs, prior.form, found)
    return replace(
        known,
        turns=cut.turns,
        gone=cut.gone,
        told=theirs,
        rest=theirs[cut.rest :],
        taken=_taken(connection, then, theirs),
    )


def looked_at(
    connection: Connection,
    target: Target,
    prior: ClientHistory,
    *,
    rewind: c.Rewind | None = None,
) -> ClientHistory:
    """Return a prior that has been compared, so that no writer has to wait for that.

    Raises:
        Refusal: the rewind is none.
    """
    try:
        return replace(prior, known=compared_prior(connection, target, prior, rewind=rewind))
    except NoSuchSession:
        return prior  # which is told when the request is decided


def ends_unanswered(
    connection: Connection, target: Target, *, rewind: c.Rewind | None = None
) -> bool:
    """Tell whether the last message in sight is a person's, of a turn that ended without an answer.

    With a rewind, as it will be after it.

    Raises:
        NoSuchSession: there is none.
        Refusal: the rewind is none.
    """
    now = moment(connection, target)
    tip = now.head.tip if rewind is None else _rewound(connection, now, rewind).sight.spot.message
    records = records_of(connection, now.key, now.head)
    last = records.message(tip) if tip >= 0 else None
    turn = None if last is None or last.role != "user" else records.turn(last.turn_id)
    return turn is not None and (rewind is not None or turn.status != "running")


def count_prior(
    connection: Connection,
    compared: Compared,
    *,
    project_id: str,
    key: int,
    version: int,
    now: int,
) -> None:
    """Count a full history that a turn began with, as evidence for the log or against it."""
    if compared.comparison is not None:
        count(
            connection,
            project_id=project_id,
            key=key,
            version=version,
            now=now,
            comparison=compared.comparison,
        )


def steps_for(
    step: Step,
    prior: ClientHistory,
    compared: Compared,
    reasons: Sequence[str] = (),
    *,
    mint: Mint | None = None,
) -> list[c.SessionCommand]:
    """Return what is recorded so that a prior becomes the history, or settles what was missing.

    Adopting and asserting bring the rewind that the request asks for with them, since they may have
    to go back further: `Step.REWIND` is not to be carried out besides.

    Args:
        step: ADOPT_PRIOR, ASSERT_PRIOR or SETTLE_REASONS.
        prior: What the client told.
        compared: What came of it, in this very transaction.
        reasons: Why the log could not stand in; codes.
        mint: Gives the ids of the turns.

    Raises:
        InvalidValue: an attachment is none.
        TooManyFacts, TooManyBytes: it is more than a batch could bring.
    """
    del prior  # as it came; what the log was shown cut is whole in what was compared
    given = mint or _turn_id
    match step:
        case Step.ADOPT_PRIOR:
            facts = _records(compared.rest, compared, given)
            return [*_back(compared), c.Note(event=_diverged(compared)), *facts]
        case Step.ASSERT_PRIOR:
            facts = _records(compared.told, compared, given)
            asserted = e.HistoryAsserted(messages=len(compared.told), reasons=tuple(reasons))
            return [*_all_back(compared), c.Note(event=asserted), *facts]
        case Step.SETTLE_REASONS:
            return [c.Note(event=e.HistoryAsserted(messages=0, reasons=tuple(reasons)))]
        case _:
            return []


def _word(
    connection: Connection,
    then: Moment,
    theirs: Sequence[Told],
    prior: ClientHistory,
    found: Comparison,
) -> Prior:
    if found.agrees:
        return "window" if found.window else "agrees"
    if not then.messages:
        return "nothing-known"
    common = found.common_prefix
    beginning = common and is_beginning(connection, then, theirs, prior.form, common)
    return "behind" if beginning else "diverges"


def _with_difference(known: Compared, found: Comparison) -> Compared:
    difference = found.difference
    if difference is None:
        return known
    ours, theirs = difference.ours, difference.theirs
    return replace(
        known,
        kind=difference.kind,
        index=None if ours is None else ours.index,
        client_index=None if theirs is None else theirs.index,
    )


def _rewound(connection: Connection, now: Moment, rewind: c.Rewind) -> Moment:
    """Return the moment as it will be after a rewind."""
    records = records_of(connection, now.key, now.head)
    return _standing(now, rewinding(records, now.head, rewind).position)


def _standing(now: Moment, position: Position) -> Moment:
    head = now.head._replace(**position._asdict(), turn_id=None)  # what runs is interrupted
    sight = now.sight._replace(
        spot=now.sight.spot._replace(branch=head.branch, turn=head.turn_tip, message=head.tip),
        messages=head.messages,
        turns=head.turns,
        archived=head.archived,
        summary_version=head.summary_version,
    )
    return replace(now, head=head, sight=sight)


def _back(compared: Compared) -> list[c.SessionCommand]:
    asked = compared.rewind
    if compared.gone is None:
        return [] if asked is None else [asked]
    return [_further(asked, c.Rewind(to_turn=compared.gone))]


def _all_back(compared: Compared) -> list[c.SessionCommand]:
    count = compared.counted
    return [_further(compared.rewind, c.Rewind(turns=count))] if count else []


def _further(asked: c.Rewind | None, rewind: c.Rewind) -> c.Rewind:
    """Return a rewind in the place of the one that is asked for, which goes back less far."""
    if asked is None:
        return rewind
    return replace(rewind, interrupt=asked.interrupt, claim=asked.claim, asked=asked.asked)


def _diverged(compared: Compared) -> e.HistoryDiverged:
    return e.HistoryDiverged(
        kind=compared.kind or "extra",
        turns=compared.turns,
        messages=len(compared.rest),
        index=compared.index,
        client_index=compared.client_index,
    )


def _records(history: Sequence[Told], compared: Compared, mint: Mint) -> list[c.SessionCommand]:
    proposals = facts_of(history, compared.taken, mint)
    if len(proposals) > EVENTS_LIMIT:
        raise TooManyFacts(EVENTS_LIMIT, "messages")
    size = sum(
        len(proposal.body) + sum(blob.size or 0 for blob in proposal.blobs)
        for proposal in proposals
    )
    if size > BYTES_LIMIT:
        raise TooManyBytes(BYTES_LIMIT, "messages")
    return [c.Record(proposal=proposal, imported=True) for proposal in proposals]


def _taken(connection: Connection, then: Moment, theirs: Sequence[Told]) -> frozenset[str]:
    """Return which ids messages of the session have, in sight or not."""
    names = sorted({message.message_id for message in theirs if message.message_id})
    keys = [then.key, *(shared.key for shared in then.lineage)]
    found: set[str] = set()
    for start in range(0, len(names), AT_ONCE):
        statement = select(t.messages.c.message_id).where(
            t.messages.c.session_key.in_(keys),
            t.messages.c.message_id.in_(names[start : start + AT_ONCE]),
        )
        found.update(connection.execute(statement).scalars())
    return frozenset(found)


def _turn_id() -> str:
    return f"turn-{uuid4().hex}"
