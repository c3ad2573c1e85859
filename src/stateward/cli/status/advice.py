"""For each reason of a wait: what ends it, and what the user can do. One place, so that no reason is missing."""

from stateward.cli.shared.advice import Advice
from stateward.planning.model.intent import State

ADVICE = {
    "AgentSilent": Advice(
        "the agent in the member's pod answers. After one minute without an answer the operator recreates the"
        " pod; in a coordinated restart the other members start without it",
        "check that the operator reaches port 9443 of the pods, and read the log of the member's pod",
    ),
    "AnswerTooLarge": Advice(
        "the database's answers are small enough to read. The limits fit about 35,000 shards or 800 processes."
        " Until then the operator knows nothing about the database and stops no member",
        "read in the message which answer is too large; reduce the number of shards (GET _cat/shards lists"
        " them), and if there are only a few, check what answers at that address",
    ),
    "SuccessorNotJoined": Advice(
        "the new member has joined the cluster and is ready",
        "check the new member's pod",
    ),
    "EarlierVolumes": Advice(
        "you decide: the managers named above have other volumes, or the earlier managers elect one of them after all",
        "ask for the earlier managers in the spec and remove the annotation, or delete their claims and pods",
    ),
    "BootstrapInterrupted": Advice(
        "you decide: only you can know whether a cluster was formed on the lost volume",
        "find the old volume and restore it, or accept an empty cluster with the annotation named above",
    ),
    "BudgetNotKept": Advice(
        "the disruption budgets keep what the operator writes, so that no drain of a node evicts a member while the"
        " operator stops another one",
        "find who changes the PodDisruptionBudgets of the cluster, for example a policy or a webhook, and exempt them",
    ),
    "CannotGoBack": Advice(
        "spec.version is at least the version that the member has joined with",
        "set spec.version to that version or a later one",
    ),
    "ClusterFileLost": Advice(
        "the database answers; the operator then writes the cluster file into the Secret again",
        "restore the Secret from a backup, or from the file /var/fdb/data/fdb.cluster on any member's volume, with the"
        " labels that the message names",
    ),
    "ConfigurationNotMounted": Advice(
        "the kubelet updates the mounted Secret, usually within a second and at most two minutes. After three minutes"
        " the operator writes the Secret again, because someone may have edited it",
        "if it takes much longer, check the kubelet of the node",
    ),
    "ProtocolSwitchFirst": Advice(
        "all processes run the new version",
    ),
    "RestoringSnapshot": Advice(
        "all primaries of the snapshot are restored",
        "follow it with `kubectl get searchrestores`; without spec.bootstrap the operator no longer waits for it",
    ),
    "RestoreStalled": Advice(
        "the SearchRestore can go on; it tries again by itself",
        "read what is wrong in the message: the repository must be declared by a SearchObject of this cluster and have"
        " such a snapshot, and no index of it may exist",
    ),
    "RestoreTaken": Advice(
        "no other SearchRestore has this name",
        "delete the SearchRestore that is named above, or rename it",
    ),
    "RestoreUnknown": Advice(
        "the API server lets the operator read SearchRestores",
        "check that the CRDs and the ClusterRole of this version are installed",
    ),
    "SnapshotRequired": Advice(
        "a SearchSnapshot or SearchSnapshotSchedule of this cluster has a successful snapshot with all indices that is"
        " young enough; the upgrade then begins by itself",
        "create a SearchSnapshot in that repository, or remove update.snapshotBeforeUpgrade",
    ),
    "DataMoving": Advice(
        "the relocating data has arrived",
        "follow it with `status --watch`",
    ),
    "DataTooOld": Advice(
        "the indices that spec.version cannot read are deleted or reindexed",
        "delete or reindex them, or set the deployed version again",
    ),
    "DataAgeUnknown": Advice(
        "the database answers: then its indices are compared with spec.version. Until then repairs use the deployed"
        " version",
        "bring the managers back that DatabaseUnknown names, or set the deployed version again",
    ),
    "DatabaseNotReady": Advice(
        "every shard is recovered, or the only obstacle to its allocation is one that this change removes",
        "if it takes long, ask the database for the reason: GET _cluster/allocation/explain",
    ),
    "DataChanging": Advice(
        "the data that the members use has not changed for 5 seconds, or one minute has passed. Changes that"
        " arrive together cause one restart",
    ),
    "DataInPod": Advice(
        "its process can restart in its pod, or the members need no longer restart together",
        "withdraw the request or the change; a rolling restart with update.inPlace: Preferred gives pods agents",
    ),
    "DataUnknown": Advice(
        "the operator can read the ConfigMap or Secret named above. Until then no member restarts because of it",
        "grant the operator `get` on it, and on the operator's own Secret stateward-digest-key",
    ),
    "DatabaseUnknown": Advice(
        "the database answers the operator. Until then the operator knows nothing about the database and stops"
        " no member",
        "check the pods of the managers or coordinators, and check that the operator reaches them: port 9200"
        " of the pods, or for FoundationDB the right to use pods/exec",
    ),
    "DatabaseFirst": Advice(
        "the database was created. Then the member is replaced",
        "nothing; if its pod does not start, delete the pod and its claim: there is no data before the database",
    ),
    "DatabaseGone": Advice(
        "the coordinators have the volumes with which the database was created",
        "restore the old volumes; the operator never creates the database again by itself",
    ),
    "DrainBlocked": Advice(
        "the shard named above may move to another member",
        "free space or relax the rule that forbids the move (allocation filters, disk watermarks), ask for fewer copies"
        " if there are more than members for them, or set the old size again: the member then returns to service",
    ),
    "ProofRefused": Advice(
        "the database accepts the proof, which is tried again at every observation; the member stays until then",
        "read the refusal: the database refuses exclusions, for example, when its disks would be too full without"
        " the member; then let volumes grow or add members",
    ),
    "Draining": Advice(
        "the member holds no shards",
        "to cancel, set the old size again",
    ),
    "Bootstrapping": Advice(
        "the first manager has formed the cluster, and the database answers",
        "read the log of its pod; if volumes of earlier managers were kept, ask for the same number of managers again",
    ),
    "ImageWithoutVersion": Advice(
        "the tag of spec.image contains the version",
        "set such an image",
    ),
    "InMaintenance": Advice(
        "the maintenance of the zone is over; a user started it",
        "end it with `maintenance off` in fdbcli",
    ),
    "InvalidSpec": Advice(
        "the spec is valid",
        "correct the field; `validate -f` checks a file before you apply it",
    ),
    "KeepConflict": Advice(
        "spec.members names the member in one list only, and the rest of the spec lets it stay",
        "remove the member from members.keep, or revert the change that would remove it",
    ),
    "MemberStopped": Advice(
        "you start the member",
        "run `start` with the member's name",
    ),
    "LeaderLast": Advice(
        "the other managers have changed. The elected manager is last, so that one election is enough",
    ),
    "VolumeTerminating": Advice(
        "the claim of the removed member is gone",
        "if it lasts longer than a few minutes, look with kubectl describe for a pod that uses the claim, or for a"
        " finalizer on it",
    ),
    "VoteRemovalPending": Advice(
        "the other managers have taken over the vote",
        "if it lasts longer than a few minutes, bring the other managers back: they must serve to take it over",
    ),
    "ManagersLost": Advice(
        "you decide: the volumes of all managers are gone, and with them the cluster state",
        "restore the volume of a manager, or accept an empty cluster with the annotation named above",
    ),
    "QuorumLost": Advice(
        "a majority of the managers is back with the volumes that they had in the cluster",
        "restore the volumes of the managers named above; if you cannot, give up the cluster state as"
        " docs/disaster-recovery.md says",
    ),
    "MayHoldLastCopy": Advice(
        "the database has a copy of every shard, or the member is back",
        "bring the member back: its volume may hold the only copy of a shard",
    ),
    "MembersFirst": Advice(
        "all members of the spec are running and ready. The database is created once, with all of them",
        "check the pod of the member named above; a smaller spec also takes effect at once. If the pod does not run"
        " because of its volume, delete its claim and the pod: there is no data before the database",
    ),
    "Missing": Advice(
        "the member is back, or its time is up and a new member replaces it",
        "bring the member back, start its replacement now with `replace MEMBER`, or forbid it with `keep MEMBER`",
    ),
    "MemberDoesNotStart": Advice(
        "the pod starts. The operator applies a corrected or reverted spec to this member at once, whatever else waits",
        "read the pod's events (`kubectl describe pod`) and log, then correct the spec or revert the change. If no"
        " node has room, ask for less in the pool's resources, or add a node. If its claim is gone, restore it, or run"
        " `replace MEMBER --without-draining`. If its image cannot be pulled, check spec.version and spec.image. If its"
        " data is from a later version, as its log says, set spec.version to that",
    ),
    "NeverJoined": Advice(
        "the process joins the cluster",
        "read the pod's log; on a volume from a deleted cluster it never joins: run `replace MEMBER"
        " --without-draining`",
    ),
    "PodNotStarting": Advice(
        "the pod's database starts",
        "read the pod's events (`kubectl describe pod`). If its volume is lost, it never starts: run `replace MEMBER"
        " --without-draining`",
    ),
    "NotAcceptedByServer": Advice(
        "the API server accepts the pods and the Service that the spec describes. Until then the cluster runs"
        " unchanged, and the operator creates nothing from the spec",
        "correct the field named above; kubectl explain statefulset.spec.template.spec lists the fields of pods,"
        " and kubectl explain service.spec those of Services",
    ),
    "WrongVersion": Advice(
        "the member runs the version of spec.version. The members that come after it in the rollout wait",
        "find out which version the image has: set spec.version to it, or set spec.image to an image that has"
        " spec.version. A member that has joined with a later version cannot go back",
    ),
    "NotInCluster": Advice(
        "the process is in the cluster again",
        "read the pod's log and check its network; on a volume from a lost cluster it never joins: run `replace MEMBER"
        " --without-draining`, or set spec.replacement.enabled",
    ),
    "NoSuchMember": Advice(
        "spec.members names only existing members. Everything else continues",
        "correct the name",
    ),
    "NewMemberStuck": Advice(
        "the new member starts and joins. Until then no member leaves",
        "correct what its pod needs (storage class, selector, taints, quota, image), add a node, or revert the"
        " edit; with update.surge: Preferred one member may leave first if the nodes are full",
    ),
    "NetworkPoliciesOff": Advice(
        "spec.networkPolicy is removed, or the operator creates NetworkPolicies",
        "start the operator with --network-policies, or remove the field",
    ),
    "NeedsAgent": Advice(
        "the member's pod has an agent. A recreated pod gets one unless update.inPlace is Never",
        "recreate the pod with `restart --recreate`, or remove the member from the annotation",
    ),
    "NotSafeYet": Advice(
        "it is next in the rollout order, and stopping it no longer removes the last copy of a shard, breaks the"
        " quorum, or exceeds `maxUnavailable`",
        "wait, if it is only later in the order; for a single copy, add a replica to the index or set"
        " update.singleCopy",
    ),
    "OneManagerAtATime": Advice(
        "the manager before it has joined and is ready",
        "if the message names a manager that is down or does not join, check its pod",
    ),
    "Paused": Advice(
        "update.paused is false",
        "run `resume` with the cluster's name",
    ),
    "PoolOrder": Advice(
        "the pools before it have changed",
    ),
    "PodNotAllowed": Advice(
        "the spec asks only for what its pods may have, or the object it names is allowed for them. Until then"
        " the cluster runs unchanged, and the operator creates nothing from the spec",
        "correct the field named above, or label the object named above with the command in the message",
    ),
    "PodRightsUnknown": Advice(
        "the operator can read the labels of the object named above. Until then it creates nothing from the spec",
        "grant the operator `get` on the object: its role includes serviceaccounts, secrets,"
        " persistentvolumeclaims and services",
    ),
    "PoolNeeded": Advice(
        "a member uses the kept volume, or has the change, that the message names",
        "add the pool again with a spec that starts, or give it the members or the role that the message names; you can"
        " remove them when the database answers and every shard has a started copy",
    ),
    "BinariesNotStaged": Advice(
        "each member runs in a pod with the programs of both versions. Until then you can set the old version again",
        "check the pod of the member named above: its init container copies the new programs",
    ),
    "ProcessDoesNotEnd": Advice(
        "the process ends, or the pod is gone. The member then starts with its new configuration",
        "check the disk of the pod's node: no signal ends a process that waits for a disk; restart the node",
    ),
    "ProcessStopped": Advice(
        "the process in the pod runs",
        "if the process is not being started, read the pod's log",
    ),
    "RepairNotSafe": Advice(
        "the operator can recreate the broken member without losing data",
        "bring back the members that hold the other copies, or set a version that the member can run",
    ),
    "RemovalPaced": Advice(
        "the database has recovered from the member that left before, and counts all others that are lost",
        "to shorten the time after one that left, set update.waitBetweenRemovals; to end the maintenance of a zone,"
        " run `maintenance off` in fdbcli",
    ),
    "ReplacedLater": Advice(
        "the members before it are replaced",
    ),
    "ReplacementHeld": Advice(
        "the reason above no longer applies. A wrong replacement moves all data of a member, so the operator"
        " starts none in doubt",
        "to start it now, run `replace MEMBER`; to forbid it, run `keep MEMBER`",
    ),
    "RestartPhaseUnknown": Advice(
        "the annotation has one of the values named above",
        "correct or remove the annotation",
    ),
    "RestartPoolUnknown": Advice(
        "the annotation names only existing pools",
        "correct or remove the annotation",
    ),
    "RestartsFirst": Advice(
        "the restart in progress has ended, its member has been away for ten minutes, or the database has not answered"
        " for one minute",
    ),
    "SecretMissing": Advice(
        "the Secret named for the keystore exists and has its keys",
        "create the Secret, or remove it from spec.secureSettings",
    ),
    "ReconciliationFailing": Advice(
        "the operator reconciles the cluster without an error",
        "read the operator's log, which has the whole error; if rights are missing, grant them",
    ),
    "SecretNotUsable": Advice(
        "the Secret named above can be used. Until then the members use what they have",
        "correct the Secret, or name another one; the operator reads it every half minute",
    ),
    "SecurityFixed": Advice(
        "spec.security.enabled has the value that the cluster was created with. The operator applies"
        " everything else in the spec",
        "set that value; to get the other one, create another cluster and move the data there",
    ),
    "ShrinkRefused": Advice(
        "the remaining members can hold the data",
        "set the old size again, lower the number of copies, or free space on the remaining members",
    ),
    "StepFailed": Advice(
        "the step succeeds; the operator retries it with a growing delay",
        "read the error in the message; if the API server refuses the write, change what it names: the spec, a quota, a"
        " policy or a right",
    ),
    "StepRefused": Advice(
        "the database, or the member's agent, accepts the step. Steps that do not depend on it continue",
        "read the reason in the message",
    ),
    "StillListed": Advice(
        "the database no longer lists the member's process",
        "if it lasts longer than a few minutes, look on the pod's node for a container that still runs, and end it",
    ),
    "StoppedMemberUnknown": Advice(
        "the annotation names only existing members",
        "correct the annotation",
    ),
    "StorageClassUnknown": Advice(
        "the operator can read the storage class of the volume",
        "check that the class exists and that the operator may read it",
    ),
    "DatabaseChangePending": Advice(
        "the operator has changed the setting in the database. It waits a minute, because a member that comes"
        " back may make the change unnecessary",
    ),
    "TooFewServing": Advice(
        "the other members serve again",
        "repair the member that does not serve: `kubectl stateward explain` shows the reason",
    ),
    "TemplateNotSeen": Advice(
        "the StatefulSet controller has observed the new template",
        "if it lasts longer than a minute, check the kube-controller-manager of the Kubernetes cluster",
    ),
    "UpgradeRefused": Advice(
        "this cluster can change to spec.version",
        "set the deployed version again, or the one that the message names",
    ),
    "GrowthLimitReached": Advice(
        "the disk has room again, or the limit is higher",
        "raise storage.grow.max of the pool, add members, or delete data; `status` shows when the disk will be full",
    ),
    "VolumeChangedRecently": Advice(
        "six hours have passed since the last change: providers limit how often a volume changes",
        "if the disk fills faster than that, add members, delete data, or set a larger storage.size now",
    ),
    "VolumeNotMeasured": Advice(
        "the disk that the database reports is the volume of its member",
        "use a storage class that limits volumes to their size, or remove storage.grow from the pool",
    ),
    "VolumeGrowing": Advice(
        "the storage driver has expanded the volume and its file system",
        "if the driver cannot, set a storage.size that it can provide and that is larger than the volume is now"
        " (Kubernetes 1.32 or later), or give the member a new volume with spec.members.replace",
    ),
    "VolumeNotExpandable": Advice(
        "the storage class allows expansion",
        "set allowVolumeExpansion on the class, set the old size again, or set volumes.whenShrunk to Replace. Volumes"
        " that grow by themselves are never replaced: set a larger storage.size for that",
    ),
    "VolumeRefused": Advice(
        "the size and the class are those of the existing members",
        "set them back, or set volumes.whenShrunk to Replace",
    ),
    "VoteMoving": Advice(
        "another manager has taken over the vote",
        "if it lasts longer than a few minutes, bring the other managers back: they must serve to take it over",
    ),
    "VolumeOwnedByAnother": Advice(
        "the claim has no other owner",
        "remove the other owner from the claim's metadata, or set volumes.whenDeleted back to Retain",
    ),
    "WouldLoseLastCopy": Advice(
        "every shard has a copy on another member, or you accept the loss",
        "replace the member with draining; or add it to members.acceptDataLoss as well: its data is then lost"
        " permanently",
    ),
}

MEANING = {
    State.READY: "it serves, and matches its spec",
    State.CREATING: "the operator is creating its objects",
    State.STARTING: "its pod starts, or its process has not joined the cluster yet",
    State.WAITING: "it serves, and a change is pending",
    State.PREPARING: "it still serves, and the operator is preparing to stop it",
    State.RESTARTING: "its process restarts in its pod, or its pod is being recreated",
    State.REPAIRING: "it is broken, and the operator recreates its pod with the current spec",
    State.DRAINING: "it leaves after its data has moved to other members",
    State.LEAVING: "it leaves",
    State.GROWING: "its volume is being expanded; the member serves meanwhile",
    State.STOPPED: "a user keeps its process stopped",
    State.DOWN: "it does not serve, and no step of the operator is the cause",
}
