"""The image of a version, also of a version that the spec no longer names.

During an upgrade, members that have not been upgraded yet must come back with the old version in every case. Their
image is the new one with the old version in its tag.
"""

import re

PLACE = "{version}"


def pattern(official: str, chosen: str | None, version: str) -> str:
    """Return the image (the chosen or the official one) with `{version}` in place of the version.

    A digest beside a tag belongs to one version, so it applies to the version of the spec only.
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
    """Return the image of a version; for the requested version, exactly the chosen image."""
    if chosen is not None and version == asked:
        return chosen
    return pattern(official, chosen, asked).replace(PLACE, version)
