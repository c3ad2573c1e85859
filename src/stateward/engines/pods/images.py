"""Which image runs a version, also a version that the spec no longer names.

While an upgrade rolls, members whose turn has not come must come back with the old version whatever happens to them.
Their image is found by putting the old version where the tag has the new one.
"""

import re

PLACE = "{version}"


def pattern(official: str, chosen: str | None, version: str) -> str:
    """Return the image to use (that which was chosen, or the official one) with `{version}` in the version's place.

    A digest beside a tag belongs to one version only, so it counts for that of the spec alone.
    """
    if chosen is None:
        return f"{official}:{PLACE}"
    named, _, digest = chosen.partition("@")
    repository, separator, tag = named.rpartition(":")
    if not separator or "/" in tag:
        return chosen
    named_tag, found = re.subn(rf"(?<![0-9.]){re.escape(version)}(?![0-9])", PLACE, tag, count=1)
    return f"{repository}:{named_tag}" if found else f"{named}@{digest}" if digest else named


def image_for(official: str, chosen: str | None, asked: str, version: str) -> str:
    """Return the image of a version: exactly what was chosen for the version that the spec asks for."""
    if chosen is not None and version == asked:
        return chosen
    return pattern(official, chosen, asked).replace(PLACE, version)
