"""Database images laid out like the official ones, so that the manifests of production run unchanged."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.images import pins
from sandbox.images.archives import append, replace, substitute, unpacked
from sandbox.images.base import file_of, java_base, java_home
from sandbox.images.layers import Entry, layer
from sandbox.images.maven import fetch
from sandbox.images.oci import Blob, Execution, Image, assemble
from sandbox.images.pins import Artifact
from sandbox.images.store import blob_store, processor, remembered_image
from sandbox.layout import sources
from sandbox.plugins import rule_framework
from sandbox.progress import Progress
from sandbox.toolchain import digest

_USER = 1000
_FILES = sources() / "images" / "files"
_SHADOW = "!:19723:0:99999:7:::"


@dataclass(frozen=True)
class _Engine:
    """What tells the images of one engine from the other's."""

    user: str
    entrypoint: str  # where the official image has it
    script: str  # our file of it
    command: tuple[str, ...]
    words: tuple[str, ...]  # the entrypoint as the image states it
    java_home_variable: str
    distribution: tuple[bytes, bytes] | None  # an edit of the environment script

    @property
    def home(self) -> str:
        """The server's home, relative to the root."""
        return f"usr/share/{self.user}"


_OPENSEARCH = _Engine(
    "opensearch",
    "usr/share/opensearch/opensearch-docker-entrypoint.sh",
    "opensearch-docker-entrypoint.sh",
    ("opensearch",),
    ("./opensearch-docker-entrypoint.sh",),
    "OPENSEARCH_JAVA_HOME",
    None,
)
_ELASTICSEARCH = _Engine(
    "elasticsearch",
    "usr/local/bin/docker-entrypoint.sh",
    "elasticsearch-docker-entrypoint.sh",
    ("eswrapper",),
    ("/usr/local/bin/docker-entrypoint.sh",),
    "ES_JAVA_HOME",
    # Makes the server take settings from the environment, as in the official image.
    (b"ES_DISTRIBUTION_TYPE=zip", b"ES_DISTRIBUTION_TYPE=docker"),
)


def opensearch_image(version: str, native: Path, progress: Progress) -> Image:
    """Return the image of OpenSearch, with the security plugin where there is one for the version."""
    plugin = pins.opensearch_security(version)
    return _image(f"{pins.OPENSEARCH}:{version}", _OPENSEARCH, pins.opensearch_home(version), plugin, native, progress)


def elasticsearch_image(version: str, native: Path, progress: Progress) -> Image:
    """Return the image of Elasticsearch."""
    name = f"{pins.ELASTICSEARCH}:{version}"
    return _image(name, _ELASTICSEARCH, pins.elasticsearch_home(version), None, native, progress)


def made_of(native: Path) -> list[Path]:
    """Return the files of ours that images of databases are made of; what is for other images has a folder."""
    own = (path for path in sorted(_FILES.iterdir()) if path.is_file())
    return [Path(__file__), *own, *rule_framework.made_of(), native / "nofile.so"]


def _image(
    name: str, engine: _Engine, home: Artifact, plugin: Artifact | None, native: Path, progress: Progress
) -> Image:
    repository, _, version = name.rpartition(":")
    base = java_base(pins.java_of(repository, version), progress)
    security = (plugin.sha256, pins.COLLECTIONS.sha256) if plugin else ()
    recipe = digest.of_files(made_of(native), name, base.digest, home.sha256, *security)

    def make() -> Image:
        progress.say(f"making the image {name}")
        content = layer(blob_store(), name.replace("/", "_"), _content(engine, version, home, plugin, progress))
        glue = layer(blob_store(), f"{engine.user}-glue", list(_glue(engine, base, native)))
        execution = Execution(
            entrypoint=engine.words,
            command=engine.command,
            directory=f"/{engine.home}",
            user=str(_USER),
            environment={
                "PATH": f"/{engine.home}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                engine.java_home_variable: f"/{engine.home}/jdk",
            },
        )
        return assemble(blob_store(), name, [base, content, glue], execution, processor())

    return remembered_image(recipe, make)


def _content(
    engine: _Engine, version: str, home: Artifact, plugin: Artifact | None, progress: Progress
) -> Iterator[Entry]:
    yield Entry(engine.home, None, mode=0o775, owner=_USER, group=_USER)
    small_machine = append((_FILES / "small-machine.sh").read_bytes())
    environment = substitute(*engine.distribution, small_machine) if engine.distribution else small_machine
    edits = {
        f"bin/{engine.user}-env": environment,
        "config/log4j2.properties": replace((_FILES / "log4j2.properties").read_bytes()),
        f"config/{engine.user}.yml": replace(b"cluster.name: docker-cluster\nnetwork.host: 0.0.0.0\n"),
    }
    yield from unpacked(fetch(home, progress), engine.home, owner=_USER, edits=edits)
    if plugin is not None:
        yield from _plugin(engine, fetch(plugin, progress))
        yield from _module(engine, rule_framework.NAME, rule_framework.module_files(version, progress))
    yield Entry(f"{engine.home}/data", None, mode=0o775, owner=_USER, group=_USER)


def _plugin(engine: _Engine, archive: Path) -> Iterator[Entry]:
    name = "opensearch-security"
    yield Entry(f"{engine.home}/plugins/{name}", None, mode=0o775, owner=_USER, group=_USER)
    for entry in unpacked(archive, "plugin", owner=_USER, edits={}, skip_first=False):
        inside = entry.path.removeprefix("plugin/").rstrip("/")
        # Where its installer would put it.
        configuration = inside == "config" or inside.startswith("config/")
        target = f"config/{name}{inside.removeprefix('config')}" if configuration else f"plugins/{name}/{inside}"
        yield Entry(f"{engine.home}/{target}", entry.content, None, entry.mode, _USER, _USER)


def _module(engine: _Engine, name: str, files: Mapping[str, bytes]) -> Iterator[Entry]:
    if files:
        yield Entry(f"{engine.home}/modules/{name}", None, mode=0o775, owner=_USER, group=_USER)
    for path, content in files.items():
        yield Entry(f"{engine.home}/modules/{name}/{path}", content, mode=0o664, owner=_USER, group=_USER)


def _glue(engine: _Engine, base: Blob, native: Path) -> Iterator[Entry]:
    """Yield what joins server and base: the user, Java in the place of a bundled one, the entrypoint."""
    user = engine.user
    lines = {
        "etc/passwd": f"{user}:x:{_USER}:{_USER}:{user}:/{engine.home}:/bin/bash",
        "etc/group": f"{user}:x:{_USER}:",
        "etc/shadow": f"{user}:{_SHADOW}",
    }
    for path, line in lines.items():
        mode = 0o640 if path == "etc/shadow" else 0o644
        yield Entry(path, f"{file_of(base, path)}{line}\n".encode(), mode=mode)
    yield Entry(f"{engine.home}/jdk", link=java_home(base), mode=0o777)
    yield Entry(engine.entrypoint, (_FILES / engine.script).read_bytes(), mode=0o755, owner=_USER, group=_USER)
    yield Entry("usr/local/lib/nofile.so", native / "nofile.so", mode=0o755)
    # The library changes nothing where the limit of open files is high enough.
    yield Entry("etc/ld.so.preload", b"/usr/local/lib/nofile.so\n")
