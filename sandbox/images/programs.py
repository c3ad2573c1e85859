"""Images of programs: etcd for the example package, servers that tests need, plug-ins, and stand-ins for other images.

A stand-in has the name and the commands of the image that it stands for, and another version of the program. The one
for `busybox` fetches nothing: what comes from the network is a line that says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.images.base import debian_base
from sandbox.images.layers import Entry, layer
from sandbox.images.oci import Execution, Image, assemble
from sandbox.images.store import blob_store, processor, remembered_image
from sandbox.layout import sources
from sandbox.plugins import definitions, repository_s3
from sandbox.plugins.analysis import analysis_plugins
from sandbox.progress import Progress
from sandbox.toolchain import digest
from sandbox.toolchain.programs import IDENTITY, KEDA, KEDA_ADAPTER, VERSITYGW, Program, build_program

_FILES = sources() / "images" / "files" / "programs"
_PLUGIN_FILES = {
    "opensearch": sorted(repository_s3.SOURCES.iterdir()),
    "elasticsearch": sorted(definitions.SOURCES.iterdir()),
}
_PLUGIN_PROGRAMS = sorted(repository_s3.SOURCES.parent.glob("*.py"))
_SERVERS = ("mariadb-server", "nginx-light", "redis-server")


@dataclass(frozen=True)
class _Recipe:
    """Packages of Debian, files of ours by where they go, and what runs."""

    contents: Sequence[str]
    entrypoint: Sequence[str] = ()
    command: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    base: str = "servers"
    plugins: str = ""
    """The database whose plug-ins for tests are in /plugins."""
    programs: Sequence[Program] = ()
    """Those that are built from modules of Go, in /usr/local/bin."""


_ETCD = ("etcd-server", "etcd-client")
"""Also the base of what needs only a small one: it is made anyway."""
_RECIPES = {
    "stateward.dev/etcd:3.4": _Recipe(_ETCD, command=("etcd",), base="etcd"),
    "stateward.dev/opensearch-plugins:1": _Recipe(_ETCD, base="etcd", plugins="opensearch"),
    "stateward.dev/elasticsearch-plugins:1": _Recipe(_ETCD, base="etcd", plugins="elasticsearch"),
    "stateward.dev/versitygw:1": _Recipe(_ETCD, ("versitygw",), base="etcd", programs=(VERSITYGW,)),
    "stateward.dev/identity:1": _Recipe(_ETCD, ("identity",), base="etcd", programs=(IDENTITY,)),
    "stateward.dev/keda:1": _Recipe(_ETCD, base="etcd", programs=(KEDA, KEDA_ADAPTER)),
    "stateward.dev/slapd:1": _Recipe(
        ("slapd",), base="slapd", files={"etc/ldap/people.conf": "slapd.conf", "etc/ldap/people.ldif": "people.ldif"}
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
    own += [*_PLUGIN_PROGRAMS, *_PLUGIN_FILES[recipe.plugins]] if recipe.plugins else []
    built = [build_program(program, progress) for program in recipe.programs]
    own += built

    def make() -> Image:
        progress.say(f"making the image {name}")
        glue = [Entry(path, (_FILES / file).read_bytes(), mode=0o755) for path, file in recipe.files.items()]
        glue += _plugins(recipe.plugins, progress)
        glue += [Entry(f"usr/local/bin/{program.name}", program, mode=0o755) for program in built]
        content = layer(blob_store(), name.replace("/", "_"), glue)
        execution = Execution(
            entrypoint=recipe.entrypoint,
            command=recipe.command,
            environment={"ETCDCTL_API": "3"} if recipe.base == "etcd" else {},
            labels={"dev.stateward.stand-in": "true"} if recipe.base == "servers" else {},
        )
        return assemble(blob_store(), name, [base, content], execution, processor())

    return remembered_image(digest.of_files(own, name, base.digest), make)


def _plugins(database: str, progress: Progress) -> list[Entry]:
    if database == "opensearch":
        return [*analysis_plugins(progress), *repository_s3.repository_plugins(progress)]
    return list(definitions.definition_plugins(progress)) if database == "elasticsearch" else []
