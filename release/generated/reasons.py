"""The page of all reasons to wait: what ends each wait, and what the user can do."""

from collections.abc import Mapping

from stateward.cli.packages.advice import INSTALLATION_ADVICE, RESTART_ADVICE
from stateward.cli.shared.advice import Advice
from stateward.cli.status.access import ACCESS_ADVICE
from stateward.cli.status.advice import ADVICE
from stateward.cli.status.declared import DECLARED_ADVICE

_HEAD = """\
<!-- Generated from the tables of advice in src/stateward/cli; renew it with `make docs`. -->

# Reasons to wait

`kubectl stateward explain NAME` prints the message of each wait, with what was found in the cluster, and then the text
of this page. "Above" means that message. Where the last column is empty, waiting is enough.

## Clusters

Each entry of `status.waiting` has one of these reasons.

"""
_DECLARED = """
## Resources for a cluster

The condition `Ready` of a `SearchObject`, `SearchUser`, `SearchSnapshot`, `SearchSnapshotSchedule`, `SearchRestore` or
`PoolScale` that is not ready has one of these reasons.

"""
_ACCESS = """
## Dashboards, metrics, routes and remote clusters

`status.dashboards.reason`, `status.metrics.reason`, `status.routes.reason` and `status.remoteAccess.reason` of a
cluster have one of these reasons, and so have the entries of `status.remoteClusters`. None of them stops the database.

"""
_INSTALLATIONS = """
## Installations of packages

The condition `Stalled` of an `Installation` has one of these reasons; `kubectl stateward installation status NAME`
shows it.

"""
_RESTARTS = """
## Restart control

An event on the workload has one of these reasons. Its pods keep running with the previous data until then.

"""
_COLUMNS = """\
| reason | the wait ends when | what you can do |
| --- | --- | --- |
"""


def page() -> str:
    """Return the page, one line for each reason, in alphabetical order."""
    parts = (
        *((_HEAD, ADVICE), (_ACCESS, ACCESS_ADVICE), (_DECLARED, DECLARED_ADVICE)),
        *((_INSTALLATIONS, INSTALLATION_ADVICE), (_RESTARTS, RESTART_ADVICE)),
    )
    return "".join(head + table(advice) for head, advice in parts)


def table(known: Mapping[str, Advice]) -> str:
    """Return a table of reasons."""
    rows = (f"| `{reason}` | {cell(a.ends)} | {cell(a.do)} |\n" for reason, a in sorted(known.items()))
    return _COLUMNS + "".join(rows)


def cell(text: str) -> str:
    """Return a text as the cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")
