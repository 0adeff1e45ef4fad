"""What does a request to let what is old go say, whatever it is?"""

from typing import Annotated

from pydantic import Field, StrictBool, StrictInt

from api.body import Body
from domain.retention import AT_ONCE, MOST_AT_ONCE


class PruneFields(Body):
    """Which are meant, and whether they go."""

    dry_run: StrictBool = False
    include_pinned: StrictBool = False
    limit: Annotated[StrictInt, Field(ge=1, le=MOST_AT_ONCE, description="How many at most.")] = (
        AT_ONCE
    )
