"""Programs of another version in a member's pod, beside those of its image: an init container copies them.

A Ready pod has them: the container ends only after the copied program reports the right version.
"""

from stateward.api.values.base import Json
from stateward.engines.pods.read_only import container_rights

BESIDE = "/stateward/beside"
"""Their place: one directory per version."""
CONTAINER = "stateward-beside"
_SCRIPT = (
    f'set -eu; to={BESIDE}/$1; mkdir -p "$to"; cp "$(command -v fdbserver)" "$(command -v fdbcli)" "$to/";'
    ' "$to/fdbserver" --version | grep -F "$1"'
)


def copy_container(version: str, image: str) -> Json:
    """Return the init container that copies the programs of a version from its image."""
    return {
        "name": CONTAINER,
        "image": image,
        "command": ["/bin/bash", "-c", _SCRIPT, CONTAINER, version],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": container_rights(),
        "volumeMounts": [{"name": "beside", "mountPath": BESIDE}],
    }
