"""The stand-in for the module that a security plug-in of OpenSearch extends."""

import io
import shutil
import zipfile
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


@pytest.mark.skipif(shutil.which("javac") is None, reason="the sandbox installs a compiler for Java when it needs one")
def test_the_module_has_one_class_of_ours_and_none_that_the_database_has_as_well(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The database refuses to start with two classes of one name."""
    library = tmp_path / pins.COLLECTIONS.file_name
    library.write_bytes(b"library")
    monkeypatch.setattr(rule_framework, "fetch", Mock(return_value=library))
    files = rule_framework.module_files("3.4.0", Progress())
    assert files.keys() == {"plugin-descriptor.properties", "rule-framework-3.4.0.jar", library.name}
    with zipfile.ZipFile(io.BytesIO(files["rule-framework-3.4.0.jar"])) as jar:
        assert jar.namelist() == ["dev/stateward/sandbox/rules/RuleFramework.class"]
    said = files["plugin-descriptor.properties"].decode().splitlines()
    assert {"name=rule-framework", "opensearch.version=3.4.0", "java.version=21"} <= set(said)
