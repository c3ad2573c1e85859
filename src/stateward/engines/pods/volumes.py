"""The growth of a pool's volumes in the types of planning, for all engines."""

from stateward.api.kinds.cluster import Storage
from stateward.api.values.quantity import parse_bytes
from stateward.planning.model.observation import Growth


def growth(storage: Storage) -> Growth | None:
    """Return when and how far the volumes grow by themselves; None if they do not."""
    asked = storage.grow
    if asked is None or storage.ephemeral:
        return None
    when, by = (int(share.removesuffix("%")) for share in (asked.when, asked.by))
    return Growth(when=when, by=by, limit=parse_bytes(asked.max))
