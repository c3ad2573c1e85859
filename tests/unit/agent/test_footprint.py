"""The resources of an agent, measured as in `make bench`, and their limits."""

from pathlib import Path

import pytest

from bench.databases import agent


def test_an_idle_agent_is_small_and_connections_do_not_make_it_grow(release: Path, tmp_path: Path) -> None:
    with agent.running(release, tmp_path) as (process, port):
        idle = agent.usage(process.pid).resident
        with agent.clients(port):
            busy = agent.usage(process.pid).resident
    assert idle < 20e6
    assert busy < 20 * 2**20


def test_an_agent_that_does_not_start_is_reported(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(_root: Path) -> list[str]:
        return ["--grace", "x"]

    monkeypatch.setattr(agent, "settings", wrong)
    with pytest.raises(RuntimeError, match="ended before"), agent.running(release, tmp_path):
        pass
