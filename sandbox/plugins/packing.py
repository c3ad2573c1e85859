"""The zip file of a plug-in, with the descriptor that the database's tool reads."""

import io
import zipfile
from collections.abc import Mapping

from sandbox.images.layers import Entry


def packed(name: str, version: str, about: Mapping[str, str], files: Mapping[str, bytes]) -> Entry:
    """Return the zip file of a plug-in, in /plugins of an image; `about` is what its descriptor says besides."""
    lines = descriptor(name, version, about)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, content in {"plugin-descriptor.properties": lines, **files}.items():
            archive.writestr(zipfile.ZipInfo(path), content)  # without the time of today: the same bytes each time
    return Entry(f"plugins/{name}-{version}.zip", made.getvalue())


def descriptor(name: str, version: str, about: Mapping[str, str]) -> bytes:
    """Return the text of plugin-descriptor.properties; `about` is what it says besides."""
    said = {"name": name, "description": "for tests", "version": version, **about}
    return "".join(f"{key}={value}\n" for key, value in said.items()).encode()
