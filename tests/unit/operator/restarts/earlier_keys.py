"""Digests as versions recorded them that had one key for all namespaces, without its name in statuses."""

import pytest

from stateward.operator.declared.record_key import RecordKey
from stateward.packages.restarts.digests import Key, RootKey


def use_one_key_for_all(patched: pytest.MonkeyPatch) -> None:
    """Let all digests be made so from now on, until `patched` ends."""

    def of(root: RootKey, _namespace: str) -> Key:
        return root.earlier

    def digest(record: RecordKey, content: bytes, _like: str = "") -> str:
        return record.earlier.digest(content)

    patched.setattr(RootKey, "of", of)
    patched.setattr(RecordKey, "digest", digest)
