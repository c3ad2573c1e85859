"""The definitions that are installed: names, subresources, columns, and files that are up to date."""

from pathlib import Path
from typing import get_type_hints

import msgspec
import pytest
import yaml

from stateward.api.generate import files, main
from stateward.api.parse import convert_cluster
from stateward.api.schema.crd import crd
from stateward.api.schema.custom_resources import KINDS, OPENSEARCH, Kind
from stateward.api.validation import validate
from stateward.api.yaml_writer import to_yaml
from tests.support.kstatus import CURRENT, IN_PROGRESS, judged

ROOT = Path(__file__).parents[3]


def test_the_kind_has_its_names() -> None:
    definition = crd(OPENSEARCH)
    assert definition["metadata"]["name"] == "osclusters.stateward.dev"
    assert definition["spec"]["names"] == {
        "kind": "OpenSearchCluster",
        "listKind": "OpenSearchClusterList",
        "plural": "osclusters",
        "singular": "oscluster",
        "shortNames": ["swos"],
        "categories": ["all", "stateward"],
    }


OTHERS = """
po svc cm pvc pv sts ds deploy rs rc hpa cj ep ing netpol pdb pc sc sa ns no ev quota limits csr crd cs vac
opensearchclusters opensearchcluster os opensearchusers opensearchroles opensearchtenants opensearchismpolicies
elasticsearches elasticsearch es kibanas kibana kb apmservers apm beats beat agents agent logstashes ls ems ent esa scp
elasticsearchclusters elasticsearchcluster foundationdbclusters foundationdbcluster fdb
foundationdbbackups fdbbackup foundationdbrestores fdbrestore
installations installation inst packages package pkg packageinstalls pkgi packagerepositories pkgr
instances operators operatorversions volumesnapshots vs vsc vsclass scaledobjects so scaledjobs sj vpa
users user roles role snapshots snapshot snap restores restore schedules schedule sched objects clusters cluster
"""
"""Plurals, singulars and short names of Kubernetes and of other operators, and words that some of them take."""


def test_no_name_is_that_of_another_operator_or_is_there_twice() -> None:
    ours = [name for kind in KINDS for name in (kind.plural, kind.singular, *kind.short)]
    assert len(ours) == len(set(ours))
    assert not {*ours} & {*OTHERS.split()}
    assert all(short.startswith("sw") for kind in KINDS for short in kind.short)


def test_status_is_a_subresource_and_scale_is_not() -> None:
    (version,) = crd(OPENSEARCH)["spec"]["versions"]
    assert version["subresources"] == {"status": {}}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "status" in kind.record.__struct_fields__])
def test_an_object_that_no_operator_has_seen_is_not_finished_for_tools_that_wait(kind: Kind) -> None:
    (version,) = crd(kind)["spec"]["versions"]
    first = version["schema"]["openAPIV3Schema"]["properties"]["status"]["default"]
    assert judged(1, None, ()) == CURRENT
    assert judged(1, first["observedGeneration"], ()) == IN_PROGRESS
    status = get_type_hints(kind.record)["status"]
    assert msgspec.convert(first, status) == msgspec.convert({}, status)


def test_get_shows_what_users_ask_first() -> None:
    (version,) = crd(OPENSEARCH)["spec"]["versions"]
    columns = [column["name"] for column in version["additionalPrinterColumns"] if not column["priority"]]
    assert columns == ["Version", "Health", "Ready", "Activity", "Age"]


def test_generated_files_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", "--root", str(ROOT)]) == 0, capsys.readouterr().out


def test_an_outdated_file_is_named_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(tmp_path)]) == 0
    assert main(["--check", "--root", str(tmp_path)]) == 0
    page = tmp_path / "docs/reference/opensearchcluster.md"
    page.write_text("old", encoding="utf-8")
    capsys.readouterr()
    assert main(["--check", "--root", str(tmp_path)]) == 1
    assert capsys.readouterr().out == ("docs/reference/opensearchcluster.md is out of date: run `make docs`\n")


def test_a_definition_survives_writing_and_reading() -> None:
    assert yaml.safe_load(to_yaml(crd(OPENSEARCH))) == crd(OPENSEARCH)


def test_the_page_has_every_field() -> None:
    page = files()[Path("docs/reference/opensearchcluster.md")]
    for field in ("maxUnavailable", "whenShrunk", "storageClass", "memberStates", "lastTransitionTime"):
        assert f"| `{field}` |" in page
    assert "| `cluster.name` |" in page
    assert "| `podTemplate.metadata.labels` |" in page


def test_the_example_of_the_page_is_a_good_cluster() -> None:
    assert validate(convert_cluster(yaml.safe_load(OPENSEARCH.example))) == []
