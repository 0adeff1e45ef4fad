"""Which other turns began where a message of a page begins one?

Those that follow the same message: the first of each branch that was begun there, and what came
next before any was. One statement for a page, and none for a session without branches.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, column, text

from domain.paths import index_in_sight
from infrastructure.prepared import Prepared
from infrastructure.reading.moment import Moment
from infrastructure.reading.places import Span, finder
from projections.transcript import Alternative, Others

MOST: Final = 20
"""So many are named of a place, the newest; of the others it is said how many they are."""


def alternatives(
    connection: Connection, moment: Moment, spans: Sequence[Span]
) -> Mapping[int, Others]:
    """Return what began in the place of messages in these spans, by their index."""
    if not moment.sight.parted:
        return {}
    told: dict[int, Others] = {}
    for key in dict.fromkeys(span.key for span in spans):
        of_one = [span for span in spans if span.key == key]
        told |= _alternatives(connection, moment, key, of_one)
    return told


def _alternatives(
    connection: Connection, moment: Moment, key: int, spans: Sequence[Span]
) -> Mapping[int, Others]:
    """Return the same of spans that one session holds, by what it knows itself."""
    followed = _followed(moment, spans)
    params = {
        "session_key": key,
        "places": ",".join(map(str, sorted(set(followed.values())))),
        "placed": next((s.placed for s in moment.lineage if s.key == key), moment.sight.placed),
        "through": moment.through_of(key),
        "most": MOST + 1,
    }
    found: dict[int, list[Row[Any]]] = defaultdict(list)
    for row in _ALTERNATIVES.run(connection, params):
        found[row.place].append(row)
    find, spot = finder(connection, moment), moment.sight.spot
    seen = {
        row.stands
        for rows in found.values()
        for row in rows
        if row.rewind_version is not None and index_in_sight(find, spot, row.stands)
    }
    told = {index: _others(index, found[place], seen) for index, place in followed.items()}
    return {index: others for index, others in told.items() if others.alternatives}


def _followed(moment: Moment, spans: Sequence[Span]) -> dict[int, int]:
    """Return which message each one follows, by their indexes; -1 for none."""
    begun = {
        branch.first_index: branch.parent_index
        for number, branch in sorted(moment.branches.items())
        if number
    }
    return {
        index: begun.get(index, index - 1)
        for span in spans
        for index in range(span.first, span.end)
    }


def _others(index: int, rows: Sequence[Row[Any]], seen: set[int]) -> Others:
    others = [row for row in rows if row.stands != index]
    if not others:
        return Others()
    every = rows[0].begun + sum(not row.own for row in rows)
    named = tuple(
        Alternative(
            message_id=row.message_id,
            turn_id=row.turn_id,
            version=row.version,
            rewind_version=None if row.stands in seen else row.rewind_version,
        )
        for row in others[-MOST:]
    )
    return Others(named, every - 1 - len(named))


_NEXT: Final = (
    "(SELECT n.first_index FROM branches n WHERE n.session_key = :session_key "
    "AND n.first_turn > {} ORDER BY n.first_turn LIMIT 1)"
)
# Of branches that begin at one index, the last one has what is there; the others have nothing.
# Crosswise, so that what was found is looked up; a plus keeps moves from being read by version.
_BEGUN: Final = (
    "WITH begun AS ("  # noqa: S608 - made of constants
    "SELECT b.parent_index AS place, b.first_turn, b.first_index, "
    f"{_NEXT.format('b.first_turn')} AS beyond FROM branches b "
    "WHERE b.session_key = :session_key AND b.parent_index IN ({places}) "
    "AND b.first_index < :placed"
    "), held AS ("
    "SELECT place, first_index, count(*) OVER (PARTITION BY place) AS begun, "
    "row_number() OVER (PARTITION BY place ORDER BY first_turn DESC) AS newness "
    "FROM begun WHERE beyond IS NULL OR beyond > first_index"
    "), candidate AS ("
    "SELECT place, first_index, begun, 1 AS own FROM held WHERE newness <= :most "
    "UNION ALL SELECT place, place + 1, max(begun), 0 FROM held GROUP BY place) "
    'SELECT c.place, c.begun, c.own, m."index" AS stands, m.turn_id, m.version, '
    "CASE WHEN m.named THEN m.message_id ELSE m.turn_id || m.message_id END AS message_id, "
    "(SELECT max(+v.version) FROM moves v WHERE v.session_key = :session_key "
    "AND v.kind = 'rewound' AND +v.version <= :through "
    'AND v.before_tip >= m."index" '
    f"AND v.before_tip < coalesce({_NEXT.format('x.number')}, {2**31 - 1})) AS rewind_version "
    "FROM candidate c CROSS JOIN messages m CROSS JOIN turns x "
    "LEFT JOIN branches o ON o.session_key = :session_key AND o.first_turn = x.branch "
    'WHERE m.session_key = :session_key AND m."index" = c.first_index '
    "AND x.session_key = :session_key AND x.turn_id = m.turn_id "
    "AND (c.own = 1 OR (c.first_index < :placed "
    "AND (o.first_index IS NULL OR o.first_index < c.first_index))) "
    'ORDER BY m."index"'
)
_LISTED: Final = {
    "sqlite": "SELECT value FROM json_each('[' || :places || ']')",
    "postgresql": "SELECT CAST(unnest(string_to_array(:places, ',')) AS integer)",
}
_ALTERNATIVES: Final = Prepared(
    lambda dialect: text(_BEGUN.replace("{places}", _LISTED[dialect])).columns(
        *map(column, ("place", "begun", "own", "stands", "turn_id", "version")),
        *map(column, ("message_id", "rewind_version")),
    )
)
