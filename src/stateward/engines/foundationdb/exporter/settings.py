"""The settings of the exporter of a FoundationDB cluster, and the times of its questions, in seconds.

A status takes up to 40 s while the database is not available: see `database.driver`. The next answer is there at the
latest `OLDEST` seconds after one, or something is wrong; so an older one is none.
"""

from stateward.engines.exporter.settings import Settings

PAUSE = 15
"""Between two questions."""
PATIENCE = 40
"""For one question, by the program itself."""
KILLED = PATIENCE + 5
"""Until a question is ended by force."""
OLDEST = PAUSE + KILLED + 5
LARGEST = 16 << 20
"""Limit in bytes of one answer: a process takes about 4 KiB."""
MARK = "stateward-asked"
"""Begins the last line of an answer, which has the times of its question: seconds since the epoch."""


class FoundationSettings(Settings, frozen=True, tag="foundationdb"):
    """Which cluster is meant, and where its answers are."""

    description: str
    """The description in the database's cluster file, which no other database has."""
    answer: str
    """Path of the last answer."""
