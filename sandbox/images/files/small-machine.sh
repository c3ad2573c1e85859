
# Appended by the sandbox. Where the kernel allows few memory maps and that cannot be raised, files are read
# without them; a setting of the user's own wins.
if [[ $(basename "$0") =~ ^(opensearch|elasticsearch)$ && $(cat /proc/sys/vm/max_map_count) -lt 262144 ]] &&
  ! grep -qs '^ *node\.store\.allow_mmap' "${OPENSEARCH_PATH_CONF:-${ES_PATH_CONF:-config}}"/*.yml &&
  [[ " $* " != *node.store.allow_mmap=* && " $* " != *" --version "* ]]; then
  set -- "$@" -Enode.store.allow_mmap=false
fi

# A database of the sandbox lives for minutes. The compiler for long runs takes half of the time of the processor that a
# start takes, and would pay after hours; an option of the user's own wins.
export OPENSEARCH_JAVA_OPTS="-XX:TieredStopAtLevel=1 ${OPENSEARCH_JAVA_OPTS:-}"
export ES_JAVA_OPTS="-XX:TieredStopAtLevel=1 ${ES_JAVA_OPTS:-}"
export CLI_JAVA_OPTS="-XX:TieredStopAtLevel=1 ${CLI_JAVA_OPTS:-}"
