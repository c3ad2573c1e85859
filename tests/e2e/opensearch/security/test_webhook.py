"""The webhook as it is installed on request: the API server asks it, and what can never be done is not stored."""

from collections.abc import Iterator

import pytest

from sandbox import Sandbox
from tests.e2e.operators import try_to_store, with_webhook

pytestmark = [pytest.mark.e2e, pytest.mark.full]


@pytest.fixture
def webhook(stateward: Sandbox) -> Iterator[Sandbox]:
    """The sandbox with the webhook in it, until the test ends."""
    with with_webhook(stateward):
        yield stateward


def test_what_no_schema_can_say_is_refused_at_try_to_store(webhook: Sandbox) -> None:
    stored, said = try_to_store(webhook, pools=[{"name": "hot", "replicas": 2, "roles": ["dta"]}])
    assert not stored
    assert "spec.pools[1].roles" in said
    stored, said = try_to_store(webhook, update={"order": ["nobody"]})
    assert not stored
    assert "spec.update.order[0]" in said


def test_a_good_cluster_comes_in_and_what_is_unwise_is_a_warning(webhook: Sandbox) -> None:
    assert try_to_store(webhook)[0]
    stored, said = try_to_store(webhook, pools=[{"name": "more", "replicas": 1, "roles": ["cluster_manager"]}])
    assert stored
    assert "Warning: " in said
