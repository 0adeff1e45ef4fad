"""`python -m tests.differential`: every journey by every way, as a table.

Walks them on real servers with real agents, and prints how each request got its harness. It ends
with 1 and says what is wrong if by any way the model received anything else, if the log kept
anything else, or if anything was forgotten, asked twice or done twice.
"""

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.differential.journeys import JOURNEYS
from tests.differential.results import Results
from tests.differential.server import starter
from tests.differential.table import table
from tests.differential.ways import WAYS


def main() -> int:
    """Print the table."""
    with (
        tempfile.TemporaryDirectory() as folder,
        starter() as starting,
        ThreadPoolExecutor(2) as two,
    ):
        walked = Results(Path(folder), starting, lambda _: JOURNEYS, WAYS)
        found = {way.name: left for way, left in zip(WAYS, two.map(walked.of, WAYS), strict=True)}
    written, wrong = table(JOURNEYS, WAYS, found)
    sys.stdout.write(f"{written}\n\n")
    cells = len(JOURNEYS) * len(WAYS)
    same = "the same arrays, transcripts and fingerprints by every way"
    sys.stdout.write("\n".join(wrong or [f"{cells} of {cells}: {same}"]) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
