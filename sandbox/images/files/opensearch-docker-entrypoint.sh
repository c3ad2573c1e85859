#!/usr/bin/env bash
# Starts OpenSearch as the official image does: settings from the environment, security plugin on or off.
set -euo pipefail
umask 0002
cd /usr/share/opensearch

settings=()
while IFS='=' read -r -d '' name value; do
  # A setting has at least two lower-case words with a dot between: cluster.name, node.attr.zone, ...
  if [[ $name =~ ^[a-z0-9_]+(\.[a-zA-Z0-9_-]+)+$ && -n $value ]]; then
    settings+=("-E$name=$value")
  fi
done < <(env -0)

if [[ -d plugins/opensearch-security ]]; then
  if [[ ${DISABLE_SECURITY_PLUGIN:-false} == true ]]; then
    settings+=("-Eplugins.security.disabled=true")
  elif [[ ${DISABLE_INSTALL_DEMO_CONFIG:-false} != true && ${1:-} == opensearch* ]]; then
    bash plugins/opensearch-security/tools/install_demo_configuration.sh -y -i -s
  fi
fi

if [[ ${1:-opensearch} == -* ]]; then
  set -- opensearch "$@"
fi
if [[ ${1:-opensearch} == opensearch ]]; then
  export OPENSEARCH_JAVA_OPTS="-Dopensearch.cgroups.hierarchy.override=/ ${OPENSEARCH_JAVA_OPTS:-}"
  exec /usr/share/opensearch/bin/opensearch "${@:2}" "${settings[@]}"
fi
exec "$@"
