"""The stand-in for the module that a security plug-in of OpenSearch extends."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from sandbox.images import database, pins
from sandbox.plugins import rule_framework
from sandbox.progress import Progress


def test_each_security_plugin_of_3_has_its_module_and_no_other() -> None:
    of_3 = {version for version in pins.OPENSEARCH_SECURITY if version.startswith("3.")}
    assert of_3 == set(rule_framework.VERSIONS)
    assert rule_framework.module_files("2.19.3", Progress()) == {}


def test_an_image_is_remembered_by_the_sources_of_the_module(tmp_path: Path) -> None:
    names = {path.name for path in database.made_of(tmp_path)}
    assert {"rule_framework.py", "RuleFramework.java", "Plugin.java", "ExtensiblePlugin.java"} <= names


def test_the_module_has_a_descriptor_our_class_and_the_library_of_the_real_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A case of the sandbox compiles it, and starts the image: a class that is there twice would end the database."""
    library = tmp_path / pins.COLLECTIONS.file_name
    library.write_bytes(b"library")
    compiled = Mock(return_value=b"classes")
    monkeypatch.setattr(rule_framework, "fetch", Mock(return_value=library))
    monkeypatch.setattr(rule_framework, "compiled_with", compiled)
    monkeypatch.setattr(rule_framework.packages, "require", Mock())
    files = rule_framework.module_files("3.4.0", Progress())
    jar = "rule-framework-3.4.0.jar"
    assert files.keys() == {"plugin-descriptor.properties", jar, library.name}
    assert (files[jar], files[library.name]) == (b"classes", b"library")
    declarations, sources = compiled.call_args.args
    assert declarations.is_relative_to(sources)
    assert [path.name for path in sources.glob("*.java")] == ["RuleFramework.java"]
    said = files["plugin-descriptor.properties"].decode().splitlines()
    assert {"name=rule-framework", "opensearch.version=3.4.0", "java.version=21"} <= set(said)
