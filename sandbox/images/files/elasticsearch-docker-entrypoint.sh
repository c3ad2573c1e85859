#!/usr/bin/env bash
# Starts Elasticsearch as the official image does. Settings in the environment are read by the start script.
set -euo pipefail
umask 0002
cd /usr/share/elasticsearch

if [[ -n ${ELASTIC_PASSWORD:-} && ! -e config/elasticsearch.keystore ]]; then
  bin/elasticsearch-keystore create --silent
fi
if [[ -n ${ELASTIC_PASSWORD:-} ]] && ! bin/elasticsearch-keystore list | grep -q '^bootstrap.password$'; then
  printf '%s' "$ELASTIC_PASSWORD" | bin/elasticsearch-keystore add --stdin --force bootstrap.password
fi

if [[ ${1:-eswrapper} == -* ]]; then
  set -- eswrapper "$@"
fi
if [[ ${1:-eswrapper} == eswrapper || ${1:-} == elasticsearch ]]; then
  exec /usr/share/elasticsearch/bin/elasticsearch "${@:2}"
fi
exec "$@"
