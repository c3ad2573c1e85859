"""All that a level does not allow of a pod template."""

from stateward.api.pod_policy.baseline import BASELINE, Control
from stateward.api.pod_policy.finding import Finding, Level
from stateward.api.pod_policy.restricted import RESTRICTED
from stateward.api.pod_policy.shape import malformed
from stateward.api.values.base import Json

CONTROLS: dict[Level, tuple[Control, ...]] = {
    Level.PRIVILEGED: (),
    Level.BASELINE: BASELINE,
    Level.RESTRICTED: (*BASELINE, *RESTRICTED),
}


def violations(level: Level, template: Json) -> tuple[Finding, ...]:
    """Return what a level does not allow of a finished pod template (metadata and spec), field by field, each once."""
    found = tuple(malformed(template))
    if found:
        return found
    every = (finding for control in CONTROLS[level] for finding in control(template))
    return tuple({(finding.path, str(finding.value)): finding for finding in every}.values())
