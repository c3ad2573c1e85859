"""What a user that may get a cluster sees of its database: states and sizes, no documents and no credentials."""

import msgspec
from msgspec import Struct

from stateward.planning.model.database import Database, Unknown


class DatabaseView(Struct, frozen=True):
    """The database's report, or why there is none."""

    database: Database | None = None
    unknown: str = ""


def shown(answer: Database | Unknown) -> DatabaseView:
    """Return what may be shown: everything but the cluster file of FoundationDB, with which anyone gets in."""
    if isinstance(answer, Unknown):
        return DatabaseView(unknown=answer.why or "not known")
    return DatabaseView(database=msgspec.structs.replace(answer, connection=""))


def encode(view: DatabaseView) -> bytes:
    """Return a view as JSON."""
    return msgspec.json.encode(view)


def decode(text: bytes) -> Database | Unknown:
    """Return the report in an answer; one that cannot be read is unknown."""
    try:
        view = msgspec.json.decode(text, type=DatabaseView)
    except msgspec.DecodeError as error:
        return Unknown(f"the operator's answer cannot be read, it is of another version: {error}")
    return view.database if view.database is not None else Unknown(view.unknown or "the operator does not know it")
