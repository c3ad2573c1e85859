"""The README's table of versions says what end-to-end cases do, and no version is left out."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from sandbox.images import pins
from stateward.api.kinds.products import ELASTICSEARCH, OPENSEARCH
from stateward.api.values.version import parse_version
from stateward.engines import elasticsearch, opensearch

_ROOT = Path(__file__).parents[3]
_TOLD: dict[str, dict[str, Any]] = tomllib.loads((Path(__file__).parent / "versions.toml").read_text(encoding="utf-8"))
_COLUMNS = ("created", "secured", "upgraded", "restarted in place", "shrunk", "replaced", "objects", "restored")
_ONLY_STARTED = {"OpenSearch 1.3.20"}
"""Versions with an image, of which the README says no more than that they start."""
_LINEAGES = {OPENSEARCH.title: opensearch.OPENSEARCH.lineage, ELASTICSEARCH.title: elasticsearch.ELASTICSEARCH.lineage}


def told(subject: str, column: str) -> str:
    """Return a cell of the table."""
    said = _TOLD[subject].get(column)
    if said is None:
        return ""
    return "yes" if isinstance(said, str) else f"from {said[0]}"


def table() -> str:
    """Return the table as it has to be."""
    rows = [("version", *_COLUMNS), ("---",) * (1 + len(_COLUMNS))]
    rows += [(subject, *(told(subject, column) for column in _COLUMNS)) for subject in _TOLD]
    return "".join("|" + "".join(f" {cell} |" if cell else " |" for cell in row) + "\n" for row in rows)


def test_the_readme_has_this_table() -> None:
    assert table() in (_ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("subject", _TOLD)
def test_each_case_exists_and_is_about_the_version(subject: str) -> None:
    version = subject.rpartition(" ")[2]
    assert _TOLD[subject].keys() <= set(_COLUMNS)
    for said in _TOLD[subject].values():
        before, file = ("", said) if isinstance(said, str) else said
        text = (_ROOT / "tests/e2e" / file).read_text(encoding="utf-8")
        assert version in text
        assert before in text


@pytest.mark.parametrize("subject", _TOLD)
def test_each_upgrade_is_one_that_is_possible(subject: str) -> None:
    title, _, version = subject.rpartition(" ")
    if "upgraded" in _TOLD[subject]:
        assert _LINEAGES[title].refuse_upgrade(_TOLD[subject]["upgraded"][0], version) is None


def test_every_version_that_has_an_image_is_in_it() -> None:
    images = {f"OpenSearch {each}" for each in pins.OPENSEARCH_HOMES}
    images |= {f"Elasticsearch {each}" for each in pins.ELASTICSEARCH_HOMES}
    assert images - _ONLY_STARTED == _TOLD.keys()


@pytest.mark.parametrize("product", [OPENSEARCH, ELASTICSEARCH], ids=lambda product: product.title)
def test_versions_within_the_tested_range_give_no_warning_and_the_last_is_the_newest_tested(product: Any) -> None:
    tested = [parse_version(subject.rpartition(" ")[2]) for subject in _TOLD if subject.startswith(product.title)]
    newest = max(version for version in tested if version is not None)
    first, beyond = product.tried
    assert all(version is not None and first <= version < beyond for version in tested)
    assert (beyond.major, beyond.minor) == (newest.major, newest.minor + 1)
