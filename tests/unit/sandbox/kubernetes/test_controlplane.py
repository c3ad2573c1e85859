"""The API server logs the requests of a user only where it was asked to."""

from pathlib import Path

import yaml

from sandbox import settings as settings_file
from sandbox.kubernetes.controlplane import audit_flags
from sandbox.layout import Layout
from sandbox.settings import Settings


def test_without_a_user_nothing_is_logged(tmp_path: Path) -> None:
    layout = Layout("x", tmp_path)
    assert audit_flags(layout) == []
    settings_file.save(layout.settings, Settings())
    assert audit_flags(layout) == []


def test_a_user_is_logged_and_no_one_else_for_the_first_rule_that_fits_counts(tmp_path: Path) -> None:
    layout = Layout("x", tmp_path)
    settings_file.save(layout.settings, Settings(audited="me"))
    policy, log = audit_flags(layout)
    rules = yaml.safe_load(Path(policy.partition("=")[2]).read_text())["rules"]
    assert rules == [{"level": "Metadata", "users": ["me"]}, {"level": "None"}]
    assert log == f"--audit-log-path={layout.audit_log}"
