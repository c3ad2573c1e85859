"""The kubectl plug-in for krew: an archive with a launcher, and the manifest that names it.

The command line is a Python program with compiled dependencies. So the launcher runs the installed `stateward`, or by
uv or pipx the wheel of this version, which is in the archive: the sum in the manifest covers it, and no package index
can put another program in its place. Its dependencies come from the index.
"""

from stateward.api.yaml_writer import to_yaml

HOMEPAGE = "https://stateward.dev"
"""Where releases are published."""


def launcher(version: str, wheel: str) -> str:
    """Return the program `kubectl-stateward` of the plug-in; `wheel` is the name of the file beside it."""
    return f"""\
#!/bin/sh
# kubectl stateward {version}: runs the command line of this version.
if [ "$(stateward --version 2>/dev/null)" = "stateward, version {version}" ]; then exec stateward "$@"; fi
self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in /*) self=$link ;; *) self=${{self%/*}}/$link ;; esac
done
wheel=${{self%/*}}/{wheel}
if command -v uvx >/dev/null 2>&1; then exec uvx --quiet --from "$wheel" kubectl-stateward "$@"; fi
if command -v pipx >/dev/null 2>&1; then exec pipx run --quiet --spec "$wheel" kubectl-stateward "$@"; fi
echo "kubectl stateward needs uv or pipx, or stateward {version}: pip install $wheel" >&2
exit 1
"""


def manifest(version: str, archive: str, digest: str, wheel: str) -> str:
    """Return the manifest of the plug-in; `digest` is the SHA-256 of the archive, in hexadecimal."""
    platforms = [
        {
            "selector": {"matchLabels": {"os": system}},
            "uri": f"{HOMEPAGE}/releases/v{version}/{archive}",
            "sha256": digest,
            "bin": "kubectl-stateward",
            "files": [{"from": name, "to": "."} for name in ("kubectl-stateward", "LICENSE", wheel)],
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
            "caveats": "It needs uv or pipx, which fetch the dependencies of the command line at the first call.",
            "platforms": platforms,
        },
    }
    return to_yaml(body, width=100)
