"""The objects that pipe tasks make: their names are known before anything has run, so templates can refer to them."""

import re

from stateward.packages.records import Package


def pipe_names(package: Package, installation: str) -> dict[str, str]:
    """Return the name of the object of each pipe, by its key, for an installation."""
    keys = (file.key for task in package.operator.tasks for file in task.spec.pipe)
    return {key: pipe_name(installation, key) for key in keys}


def pipe_name(installation: str, key: str) -> str:
    """Return the name of the Secret or ConfigMap that holds what a pipe task has made."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", key)
    return f"{installation}-pipe-" + re.sub("[^a-z0-9-]+", "-", words.lower()).strip("-")
