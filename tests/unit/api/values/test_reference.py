"""The reference page of a search cluster lists the settings that Stateward owns, and that of FoundationDB none."""

import pytest

from stateward.api.schema.custom_resources import ELASTICSEARCH, FOUNDATIONDB, OPENSEARCH, Kind
from stateward.api.schema.reference import page
from stateward.api.values import dashboard_settings, settings


@pytest.mark.parametrize("kind", [OPENSEARCH, ELASTICSEARCH], ids=lambda kind: kind.name)
def test_a_search_cluster_has_the_owned_settings_of_the_database_and_of_its_dashboards(kind: Kind) -> None:
    of_database, _, of_dashboards = page(kind).partition("\n## Settings that cannot be set in `dashboards.config`\n")
    of_database = of_database.partition("\n## Settings that cannot be set in `config`\n")[2]
    assert [key for key in settings.OWNED if f"| `{key}` |" not in of_database] == []
    assert [key for key in dashboard_settings.OWNED if f"| `{key}` |" not in of_dashboards] == []
    assert [key for key in dashboard_settings.FAMILIES if f"| `{key}*` |" not in of_dashboards] == []


def test_foundationdb_has_no_configuration_file_and_no_such_list() -> None:
    assert "Settings that cannot be set" not in page(FOUNDATIONDB)
