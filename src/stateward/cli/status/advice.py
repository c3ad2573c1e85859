"""For each reason of a wait: what ends it, and what the user can do. One place, so that no reason is missing."""

from dataclasses import dataclass

from stateward.planning.model.intent import State


@dataclass(frozen=True, slots=True)
class Advice:
    """What ends a wait, and what the user can do; the latter is empty if waiting is enough."""

    ends: str
    do: str = ""


UNKNOWN = Advice("the operator takes it up again by itself when the reason is gone")
"""For an unknown reason: the operator may be newer than this program."""

ADVICE = {
    "AgentSilent": Advice(
        "the agent in the member's pod answers, or the pod is made anew after a minute without an answer; where all are"
        " stopped together, the others start without it",
        "let the operator reach port 9443 of the pods; look at the log of the member's pod",
    ),
    "AnswerTooLarge": Advice(
        "the database's answers are small enough to be read, as those of 35,000 shards or 800 processes are; until then"
        " nothing is known, so nothing is taken down",
        "read in the message which answer it is; give the cluster fewer shards (GET _cat/shards lists them), and if it"
        " has few, look at what answers at that address",
    ),
    "ArrivingFirst": Advice("the new member has joined the cluster and is ready", "look at the new member's pod"),
    "BootstrapInterrupted": Advice(
        "a person decides: nobody else can know whether a cluster was formed on the lost volume",
        "find the old volume and give it back, or accept an empty cluster with the annotation that is named above",
    ),
    "CannotGoBack": Advice("spec.version is at least what the member has joined with", "set it so"),
    "ClusterFileLost": Advice(
        "the database answers; then the operator writes its cluster file into the Secret again",
        "put the Secret back from a backup, or with the file /var/fdb/data/fdb.cluster of any member's volume",
    ),
    "ConfigurationOnItsWay": Advice(
        "the node has brought the new configuration into the pod, in a second or at most two minutes",
        "if it takes much longer, look at the node's kubelet",
    ),
    "CrossingFirst": Advice("all processes have changed to the new version", "nothing is needed"),
    "DataMoving": Advice("the data that is on the move has arrived", "nothing is needed; `status --watch` follows it"),
    "DatabaseNotReady": Advice(
        "every shard is recovered, or can nowhere be placed for a reason that this change itself removes",
        "if it takes long, ask the database why: GET _cluster/allocation/explain",
    ),
    "DataSettling": Advice(
        "nothing that the members use has changed for 5 seconds, or a minute is over; changes that come together are"
        " one restart"
    ),
    "DataUnknown": Advice(
        "the operator can read the ConfigMap or Secret that is named; until then nobody restarts because of it",
        "let the operator get it, and its own Secret stateward-digest-key",
    ),
    "DatabaseUnknown": Advice(
        "the database answers the operator again; until then nothing is known, so nothing is taken down",
        "look at the pods of the managers or coordinators, and whether the operator can reach them:"
        " port 9200 of the pods, for FoundationDB the right to use pods/exec",
    ),
    "DatabaseGone": Advice(
        "the coordinators have the volumes again with which the database was made",
        "give the old volumes back; nothing is made anew by itself",
    ),
    "DrainBlocked": Advice(
        "the shard that is named may move to another member",
        "make room or relax what forbids it (allocation filters, disk watermarks), or set the old size again:"
        " the member then comes back into use",
    ),
    "Draining": Advice("the member holds nothing any more", "nothing is needed; the old size set again undoes it"),
    "Forming": Advice(
        "the first manager has formed the cluster, and the database answers",
        "look at the log of its pod; where volumes of managers from before were kept, ask for as many managers again",
    ),
    "ImageWithoutVersion": Advice("spec.image shows the version in its tag", "name such an image"),
    "InMaintenance": Advice(
        "the maintenance of the zone is over, which a person has begun", "end it with `maintenance off` of fdbcli"
    ),
    "InvalidSpec": Advice("the spec is valid", "correct the field; `validate -f` checks a file before it is applied"),
    "KeepConflict": Advice(
        "spec.members names it once, and the rest of the spec lets it stay",
        "remove it from members.keep, or take back what it would have to go for",
    ),
    "KeptStopped": Advice("a person lets it start again", "run `start` with the member's name"),
    "LeaderLast": Advice("the other managers have changed; the elected one is last, so that one election is enough"),
    "LosingVote": Advice("the other managers have taken over the vote"),
    "ManagersLost": Advice(
        "a person decides: every manager has lost its volume, and with it the state of the cluster",
        "bring a manager's volume back, or accept an empty cluster with the annotation that is named above",
    ),
    "MayHoldLastCopy": Advice(
        "the database has a copy of everything, or the member is back",
        "bring the member back: its volume may hold the only copy of a shard",
    ),
    "MembersFirst": Advice(
        "all members of the spec run and are Ready; the database is made once in its life, by all of them",
        "look at the pod of the member that is named; a smaller spec is made at once, too",
    ),
    "Missing": Advice(
        "the member is back, or its time is up and a new one takes its place",
        "bring it back, or do not wait: `replace MEMBER` begins at once, and `keep MEMBER` forbids it",
    ),
    "MemberDoesNotStart": Advice(
        "the pod starts; a corrected or a reverted spec is applied to it at once, whatever else waits",
        "read the pod's log, then correct the spec, or set back what was changed",
    ),
    "NeverJoined": Advice(
        "the process joins the others",
        "read the pod's log; on a volume of a cluster that is gone it never will: `replace MEMBER --without-draining`",
    ),
    "NoSuchMember": Advice("spec.members names members that are there", "correct the name; everything else goes on"),
    "NewMemberStuck": Advice(
        "the new member starts and joins; until then no member leaves",
        "correct what its pod needs (storage class, selector, taints, quota, image), add a node, or take the edit back;"
        " with update.surge: Preferred one member may leave first where nodes are full",
    ),
    "NetworkPoliciesOff": Advice(
        "spec.networkPolicy is left out, or the operator makes NetworkPolicies",
        "start the operator with --network-policies, or remove the field",
    ),
    "NeedsAgent": Advice(
        "the member's pod has an agent: pods that are made anew get one unless update.inPlace is Never",
        "make the pod anew with `restart --recreate`, or take the member out of the annotation",
    ),
    "NotSafeYet": Advice(
        "going down costs nobody the last copy, the quorum, or more members than may be down at once",
        "for a single copy: add a replica to the index, or choose update.singleCopy",
    ),
    "OneManagerAtATime": Advice("the manager before it has joined and is ready"),
    "Paused": Advice("update.paused is taken back", "run `resume` with the cluster's name"),
    "PoolOrder": Advice("the pools before it have changed"),
    "PodNotAllowed": Advice(
        "the spec asks for nothing that pods may not be, or what it names is allowed for them; until then the cluster"
        " goes on as it is, and nothing is made from the spec",
        "correct the field that is named, or label the object that is named, with the command in the message",
    ),
    "PodRightsUnknown": Advice(
        "the operator can read the labels of the object that is named; until then nothing is made from the spec",
        "let the operator get it: its role has serviceaccounts, secrets, persistentvolumeclaims and services",
    ),
    "PoolNeeded": Advice(
        "the pool of the member that is named is in the spec again",
        "add the pool again with a spec that starts; it may leave once the database answers and misses nothing",
    ),
    "ProgramsBeside": Advice(
        "each member serves from a pod with the programs of both versions; until then the old version may be set again",
        "look at the pod of the member that is named: its init container brings the new programs",
    ),
    "ProcessDoesNotEnd": Advice(
        "the process ends, or the pod is gone; the member then starts with its new configuration",
        "look at the disk of the pod's node: a process that waits for one is ended by no signal; restart the node",
    ),
    "ProcessStopped": Advice("the process in the pod runs", "nothing is needed, if it is being started"),
    "RepairNotSafe": Advice(
        "the broken member can be made anew without losing data",
        "bring back the members that hold the other copies, or set a version that the member can run",
    ),
    "RemovalPaced": Advice(
        "the time between two members that leave is over: the database has to recover from the first",
        "set update.waitBetweenRemovals to a shorter time if that is too long",
    ),
    "ReplacedLater": Advice("the members before it have been replaced", "nothing is needed"),
    "ReplacementHeld": Advice(
        "what holds it is over; a wrong replacement moves all of a member's data, so none is begun in doubt",
        "`replace MEMBER` begins it by your word, `keep MEMBER` forbids it",
    ),
    "RestartPhaseUnknown": Advice("the annotation is one of the values that are named above", "correct or remove it"),
    "RestartPoolUnknown": Advice("the annotation names pools that are there", "correct or remove it"),
    "RestartsFirst": Advice("the restart that has begun is ended"),
    "SecretMissing": Advice(
        "the Secret that is named for the keystore is there, with its keys",
        "make it, or take it out of spec.secureSettings",
    ),
    "RoundsFail": Advice(
        "a round of the operator over the cluster succeeds",
        "read the operator's log: it has the whole error; where rights are missing, grant them",
    ),
    "SecretNotUsable": Advice(
        "the Secret that is named can be used; until then what it replaces goes on being used",
        "correct the Secret, or name another one; it is read again every half minute",
    ),
    "SecurityFixed": Advice(
        "spec.security.enabled is what the cluster was made with; everything else in the spec is carried out",
        "set it so; for the other one make another cluster, and bring the data there",
    ),
    "ShrinkRefused": Advice(
        "the remaining members can take the data",
        "set the old size again, lower the number of copies, or make room on the remaining members",
    ),
    "StepFailed": Advice("the step succeeds; it is tried again with growing delays", "read the message: it names it"),
    "StepRefused": Advice(
        "the database takes the step that it refuses now; what does not depend on it goes on",
        "read the message: it has the database's own reason",
    ),
    "StoppedUnknown": Advice("the annotation names members that are there", "correct it"),
    "StorageClassUnknown": Advice(
        "the storage class of the volume can be read", "look whether the class exists, and whether it may be read"
    ),
    "Tending": Advice("the database has been told; a member that comes back meanwhile may make it needless"),
    "TooFewServing": Advice(
        "the other members serve again",
        "repair the member that does not serve: `kubectl stateward explain` says why it does not",
    ),
    "TemplateNotSeen": Advice("the StatefulSet controller has seen the new template"),
    "UpgradeRefused": Advice(
        "spec.version is a version that this cluster can become", "set the deployed version again"
    ),
    "VolumeGrowing": Advice("the storage driver has made the volume and its file system larger"),
    "VolumeNotExpandable": Advice(
        "the storage class allows expansion",
        "set allowVolumeExpansion on the class, set the old size again, or set volumes.onShrink to Replace",
    ),
    "VolumeRefused": Advice(
        "the size and class are those that the members have", "set them back, or set volumes.onShrink to Replace"
    ),
    "VoteMoving": Advice("another manager has taken over the vote"),
    "VolumeOwnedByAnother": Advice(
        "the claim has no other owner",
        "remove the other owner from the claim's metadata, or set volumes.onClusterDelete back to Retain",
    ),
    "WouldLoseLastCopy": Advice(
        "a copy of everything is elsewhere, or a person accepts the loss",
        "replace it with draining, or name it in members.acceptDataLoss as well: what it holds is then gone for ever",
    ),
}

MEANING = {
    State.READY: "it serves, and is as it should be",
    State.CREATING: "its objects are being made",
    State.STARTING: "its pod starts, or the database has not let it in yet",
    State.WAITING: "it serves, and a change waits for it",
    State.PREPARING: "it still serves, and is being prepared for going down",
    State.RESTARTING: "its process is restarted in its pod, or its pod is being made anew",
    State.REPAIRING: "it is broken, and its pod is made anew with what the spec says now",
    State.DRAINING: "it leaves, and its data moves to others first",
    State.LEAVING: "it leaves",
    State.GROWING: "its volume grows; it serves meanwhile",
    State.STOPPED: "a person keeps its process stopped",
    State.DOWN: "it does not serve, and nobody meant it to be down",
}
