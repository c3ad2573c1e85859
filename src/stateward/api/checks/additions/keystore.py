"""Checks settings of the keystore: none that Stateward owns, and none from two keys."""

from collections.abc import Iterator

from stateward.api.kinds.additions.keystore import asked_settings
from stateward.api.kinds.search import SearchCluster
from stateward.api.values.problem import Problem
from stateward.api.values.settings import reason_owned

_SEED = "keystore.seed"


def check(cluster: SearchCluster) -> Iterator[Problem]:
    """Yield what is wrong with `secureSettings`."""
    seen: dict[str, str] = {}
    secrets: set[str] = set()
    for i, source in enumerate(cluster.spec.secure_settings or ()):
        if source.secret_name in secrets:
            text = "is listed before: put all of its entries in one place"
            yield Problem(f"spec.secureSettings[{i}].secretName", source.secret_name, text)
        secrets.add(source.secret_name)
    for i, j, entry in asked_settings(cluster.spec.secure_settings or ()):
        name, path = entry.setting or entry.key, f"spec.secureSettings[{i}].entries[{j}]"
        reason = "it is made with the keystore" if name == _SEED else reason_owned(name)
        if reason is not None:
            yield Problem(path, name, f"cannot be set: {reason}")
        if name in seen:
            yield Problem(path, name, f"is given by {seen[name]} already")
        seen.setdefault(name, path)
