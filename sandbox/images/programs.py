"""Images of programs that Debian has: etcd for the example package, and what stands in for images that packages name.

A stand-in has the name and the commands of the image that it stands for, and another version of the program. The one
for `busybox` fetches nothing: what comes from the network is a line that says so.
"""

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.images import pins
from sandbox.images.base import debian_base
from sandbox.images.layers import Entry, layer
from sandbox.images.maven import fetch
from sandbox.images.oci import Execution, Image, assemble
from sandbox.images.store import blob_store, processor, remembered_image
from sandbox.layout import sources
from sandbox.progress import Progress
from sandbox.toolchain import digest

_FILES = sources() / "images" / "files" / "programs"
_SERVERS = ("mariadb-server", "nginx-light", "redis-server")


@dataclass(frozen=True)
class _Recipe:
    """Packages of Debian, files of ours by where they go, and what runs."""

    contents: Sequence[str]
    entrypoint: Sequence[str] = ()
    command: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    base: str = "servers"
    plugins: Sequence[str] = ()
    """Versions of OpenSearch for which /plugins has the plug-in `analysis-more`."""


_RECIPES = {
    "stateward.dev/etcd:3.4": _Recipe(("etcd-server", "etcd-client"), command=("etcd",), base="etcd"),
    "stateward.dev/opensearch-plugins:1": _Recipe(
        ("etcd-server", "etcd-client"), base="etcd", plugins=tuple(pins.OPENSEARCH_PLUGINS)
    ),
    "docker.io/library/busybox:1": _Recipe(_SERVERS, command=("sh",), files={"usr/local/bin/wget": "wget.sh"}),
    "docker.io/library/mysql:5.7": _Recipe(
        _SERVERS, ("/usr/local/bin/start-mysql",), files={"usr/local/bin/start-mysql": "start-mysql.sh"}
    ),
    "docker.io/library/nginx:1.7.9": _Recipe(
        _SERVERS, command=("nginx",), files={"etc/nginx/nginx.conf": "nginx.conf"}
    ),
    "docker.io/library/redis:5.0.1-alpine": _Recipe(
        _SERVERS,
        command=("redis-server",),
        files={"usr/local/bin/nslookup": "nslookup.sh", "usr/local/bin/redis-cli": "redis-cli.sh"},
    ),
}

NAMES = tuple(_RECIPES)
"""The full names of these images."""


def program_image(name: str, progress: Progress) -> Image:
    """Return the image of this name, made if need be; raises KeyError for a name that is not known."""
    recipe = _RECIPES[name]
    base = debian_base(recipe.base, recipe.contents, progress)
    own = [Path(__file__), *(_FILES / file for file in recipe.files.values())]

    def make() -> Image:
        progress.say(f"making the image {name}")
        glue = [Entry(path, (_FILES / file).read_bytes(), mode=0o755) for path, file in recipe.files.items()]
        glue += _plugins(recipe.plugins, progress)
        content = layer(blob_store(), name.replace("/", "_"), glue)
        execution = Execution(
            entrypoint=recipe.entrypoint,
            command=recipe.command,
            environment={"ETCDCTL_API": "3"} if recipe.base == "etcd" else {},
            labels={"dev.stateward.stand-in": "true"} if recipe.base == "servers" else {},
        )
        return assemble(blob_store(), name, [base, content], execution, processor())

    return remembered_image(digest.of_files(own, name, base.digest), make)


def _plugins(versions: Sequence[str], progress: Progress) -> Iterator[Entry]:
    """Yield the zip files of a plug-in, as its project would publish them; none without versions."""
    for version in versions:
        jar = fetch(pins.plugin_artifact(version), progress)
        about = {
            "name": "analysis-more",
            "description": "Filters and tokenizers that the reduced distribution does not have",
            "version": version,
            "opensearch.version": version,
            "java.version": "11",
            "classname": "org.opensearch.analysis.common.CommonAnalysisPlugin",
        }
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            lines = "".join(f"{key}={value}\n" for key, value in about.items())
            archive.writestr(zipfile.ZipInfo("plugin-descriptor.properties"), lines)
            archive.writestr(zipfile.ZipInfo(jar.name), jar.read_bytes())
        yield Entry(f"plugins/analysis-more-{version}.zip", packed.getvalue())
