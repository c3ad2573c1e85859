"""The sequence that the model of OpenSearch is checked with: everything that a change of a cluster goes through."""

from tests.support.recorded import Step

OLD, NEW = "2.17.1", "2.19.5"
DELAY = 75.0
"""Seconds after which a replica of a departed node has been recreated: the database waits for a minute."""

SEQUENCE = (
    Step("create", what="first", replicas=1),
    Step("create", what="second", replicas=1),
    Step("create", what="third", replicas=1),
    Step("create", "hot-1", "alone"),
    # A node leaves: its replicas wait for it, and are recreated elsewhere when it does not return.
    Step("stop", "hot-1"),
    Step("wait", calm=DELAY),
    Step("start", "hot-1"),
    # A node is emptied, and filled again.
    Step("drain", "hot-2"),
    Step("drain"),
    # Only primaries may be placed: replicas of departed nodes are not recreated, new indices get their primary.
    Step("limit"),
    Step("stop", "hot-0"),
    Step("wait", calm=DELAY),
    Step("create", what="young", replicas=1),
    Step("start", "hot-0"),
    Step("restore"),
    # Half of an upgrade: what has its primary on the new version has no place for a replica yet.
    Step("stop", "hot-0"),
    Step("upgrade", "hot-0", NEW),
    Step("start", "hot-0"),
    Step("create", "hot-0", "newest", replicas=1),
    Step("stop", "hot-2"),
    Step("upgrade", "hot-2", NEW),
    Step("start", "hot-2"),
    # Votes are taken and given back.
    Step("take the vote", "@voter"),
    Step("take the vote"),
    # Managers go: one is replaced by election, a second one takes the quorum.
    Step("stop", "@leader"),
    Step("stop", "@leader", "silent"),
    Step("wait", what="silent"),
)
