"""The kubectl plug-in for krew: an archive with a launcher, and the manifest that names it.

The command line is a Python program with compiled dependencies. So the launcher runs the installed `stateward`, or
that of this version by uv or pipx.
"""

import yaml

HOMEPAGE = "https://stateward.dev"
"""Where releases are published."""


def launcher(version: str) -> str:
    """Return the program `kubectl-stateward` of the plug-in."""
    return f"""\
#!/bin/sh
# kubectl stateward {version}: runs the command line of this version.
if [ "$(stateward --version 2>/dev/null)" = "stateward, version {version}" ]; then exec stateward "$@"; fi
if command -v uvx >/dev/null 2>&1; then exec uvx --quiet --from "stateward=={version}" stateward "$@"; fi
if command -v pipx >/dev/null 2>&1; then exec pipx run --quiet "stateward=={version}" "$@"; fi
echo "kubectl stateward needs uv or pipx, or stateward {version} (pip install stateward=={version})" >&2
exit 1
"""


def manifest(version: str, archive: str, digest: str) -> str:
    """Return the manifest of the plug-in; `digest` is the SHA-256 of the archive, in hexadecimal."""
    platforms = [
        {
            "selector": {"matchLabels": {"os": system}},
            "uri": f"{HOMEPAGE}/releases/v{version}/{archive}",
            "sha256": digest,
            "bin": "kubectl-stateward",
            "files": [{"from": name, "to": "."} for name in ("kubectl-stateward", "LICENSE")],
        }
        for system in ("linux", "darwin")
    ]
    body = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "stateward"},
        "spec": {
            "version": f"v{version}",
            "homepage": HOMEPAGE,
            "shortDescription": "See, plan and steer stateful databases",
            "description": "Shows the state of clusters of Stateward, explains what waits and why, previews the effect"
            " of a change before you make it, and requests restarts, stops and replacements of members.",
            "caveats": "It needs uv or pipx, which fetch the command line of this version at the first call.",
            "platforms": platforms,
        },
    }
    return yaml.safe_dump(body, sort_keys=False, width=100)
