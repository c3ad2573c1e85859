"""The zip file of a plug-in, with the descriptor that the database's tool reads."""

import io
import zipfile
from collections.abc import Mapping

from sandbox.images.layers import Entry


def packed(name: str, version: str, main: str, files: Mapping[str, bytes], *, java: int) -> Entry:
    """Return the zip file of a plug-in for a version of OpenSearch, in /plugins of an image."""
    about = {
        "name": name,
        "description": "for tests",
        "version": version,
        "opensearch.version": version,
        "java.version": str(java),
        "classname": main,
    }
    lines = "".join(f"{key}={value}\n" for key, value in about.items()).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, content in {"plugin-descriptor.properties": lines, **files}.items():
            archive.writestr(zipfile.ZipInfo(path), content)  # without the time of today: the same bytes each time
    return Entry(f"plugins/{name}-{version}.zip", made.getvalue())
