"""For each reason of an installation that waits, and of restart control: what ends it, and what the user can do."""

from stateward.cli.shared.advice import Advice

_UNTIL_ALLOWED = "the service account of the installation has the right; it tries again by itself"
INSTALLATION_ADVICE = {
    "CleanupNotConfirmed": Advice(
        "the request names the installation, or is removed",
        "ask for it with `installation trigger NAME cleanup --yes NAME`, or remove the annotation",
    ),
    "NotAllowed": Advice(
        _UNTIL_ALLOWED,
        "bind the right to the account; `package upgrade NAME --dry-run` lists all that it lacks",
    ),
    "NotPutRight": Advice("the objects can be written again", "read in the message which object is refused, and why"),
    "NotRemoved": Advice(
        "the objects can be deleted; it tries again by itself",
        "do what the message says, or remove the finalizer stateward.dev/installation: the objects then stay",
    ),
    "PackageBroken": Advice("the package can be opened", "install it again with `package install`"),
    "PackageChanged": Advice(
        "the package has the content with which the installation was made",
        "install that content again, or set spec.package to another version",
    ),
    "PackageMissing": Advice(
        "the package exists",
        "install it with `package install`, or correct spec.package; nothing is changed until then",
    ),
    "ParametersDisagree": Advice(
        "the changed parameters belong to one plan", "change them one after the other, in two edits"
    ),
    "ParametersInvalid": Advice("all parameters are valid", "correct the parameters that the message names"),
    "Paused": Advice("spec.paused is removed", "set spec.paused to false"),
    "PlanFailed": Advice(
        "the plan is run again, or another change is made",
        "remove the cause that the message names, then run the plan with `installation trigger`, or take the edit back",
    ),
    "PlanUnknown": Advice(
        "the request names a plan of the package, or is removed", "correct the annotation stateward.dev/run-plan"
    ),
    "ReconciliationFailing": Advice("a reconciliation succeeds; the operator retries", "read the operator's log"),
    "StepRetried": Advice(
        "the step succeeds; it is tried again by itself, less and less often",
        "read in the message what fails; an edit of the installation takes effect at once",
    ),
}
RESTART_ADVICE = {
    "RestartOutsideWindow": Advice("the time of day is in the window of the annotation stateward.dev/restart-window"),
    "RestartOverBudget": Advice(
        "the PodDisruptionBudget allows a disruption", "see why its pods are not ready, or correct the budget"
    ),
    "RestartPaused": Advice("the annotation stateward.dev/restart-paused is removed", "remove it"),
    "RestartSourcesTooMany": Advice(
        "the pods of the workload use at most 500 ConfigMaps, Secrets or keys, and their record has at most 240 KiB",
        "mount whole ConfigMaps and Secrets in place of many single keys, single keys of large ones, or use fewer",
    ),
    "RestartWindowInvalid": Advice(
        "the annotation stateward.dev/restart-window is valid", "write the window like `22:00-04:30`, in UTC"
    ),
}
"""Each is an event on the workload; its pods keep running with the previous data until then."""
