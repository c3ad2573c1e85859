#!/usr/bin/env bash
# Starts one member: puts its configuration in place, waits for leave to form the cluster where that is its part, and
# runs the image's own entrypoint, passing signals on.
#
# It stays process 1 and does not `exec` the entrypoint: the entrypoint of the official images before 2.15 is a shell that
# neither execs nor forwards SIGTERM, so every stop of a pod would last the whole grace period and end in a kill.
set -u -o pipefail
set -m # a process group for the database, so that a signal reaches it through whatever shell started it

root=${STATEWARD_ROOT:-/stateward}
home=${STATEWARD_HOME:?}
patience=${STATEWARD_BOOTSTRAP_PATIENCE:-300} # seconds
pause=${STATEWARD_BOOTSTRAP_PAUSE:-1}         # seconds
arguments=()
trap 'exit 143' TERM INT

# The end of the container says why, so that the cluster's status can.
fail() {
  local told=${STATEWARD_LAST_WORDS:-/dev/termination-log}
  say "$*"
  [[ -w $told ]] && printf '%s' "$*" >"$told"
  return 1
}

say() {
  printf '[%s] [stateward] %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*"
}

# A new pod may be given a Secret from before its last change, as its node hears of changes late. It waits for the very
# content that its template was made with; otherwise it would run an old configuration for ever and look up to date.
await_configuration() {
  [[ -n ${STATEWARD_CONFIG:-} ]] && return 0 # the agent has seen to it
  local wanted=${STATEWARD_CONFIG_SHA256:-} started=$SECONDS told=-30 found
  compgen -G "$root/run/*" >/dev/null && return 0
  while [[ -n $wanted ]]; do
    found=$(cat -- "$root"/config/* | sha256sum)
    [[ ${found%% *} == "$wanted" ]] && return 0
    if ((SECONDS - started >= patience)); then
      fail "the configuration is not the one that this pod was made for"
      return 1
    fi
    if ((SECONDS - told >= 30)); then
      say "waiting for the configuration that this pod was made for"
      told=$SECONDS
    fi
    sleep "$pause"
  done
}

# With the agent as process 1 the configuration is the one that it has kept for this very start. Without one,
# a pod runs with the configuration it was made with, also when its container is started again after a newer one was
# written: a change takes effect when the plan says so, and not when a process happens to crash.
place_configuration() {
  local file kept name
  for file in "${STATEWARD_CONFIG:-$root/config}"/*; do
    name=${file##*/}
    [[ $name == stateward-* && $name != stateward-keystore* ]] && continue # for the agent
    kept=$file
    if [[ -z ${STATEWARD_CONFIG:-} ]]; then
      kept=$root/run/$name
      if [[ ! -e $kept && ! -e $root/run/.placed ]]; then
        cp -L -- "$file" "$kept.new" && mv -- "$kept.new" "$kept" || return 1
      fi
    fi
    [[ $name == stateward-* || ! -e $kept ]] && continue # for the keystore; or written after the first start
    cp -- "$kept" "$home/config/$name" || return 1
  done
  [[ -n ${STATEWARD_CONFIG:-} ]] || : >"$root/run/.placed"
  # The addresses of the voting members follow the pods, and the database reads the file again whenever it looks for them.
  ln -sfn -- "$root/seeds/unicast_hosts.txt" "$home/config/unicast_hosts.txt"
}

# A secured member finds its certificates where they follow the Secret, so that renewing them restarts nothing; so do the
# users of Elasticsearch. The users that the image of OpenSearch brings have passwords that everybody knows; its security
# index is made with the users that we give it.
place_security() {
  local folder=$home/config/opensearch-security started=$SECONDS name
  [[ -e ${STATEWARD_CONFIG:-$root/run}/security ]] || return 0
  if [[ $STATEWARD_ENGINE == opensearch && ! -d $home/plugins/opensearch-security ]]; then
    fail "this image has no security plugin: set spec.security.enabled to false, or choose an image that has it"
    return 1
  fi
  until [[ -s $root/tls/tls.crt && -s $root/tls/http.key ]]; do
    if ((SECONDS - started >= patience)); then
      fail "the certificates have not arrived"
      return 1
    fi
    sleep "$pause"
  done
  ln -sfn -- "$root/tls" "$home/config/tls"
  if [[ $STATEWARD_ENGINE != opensearch ]]; then
    for name in users users_roles; do
      ln -sfn -- "$root/tls/$name" "$home/config/$name" || return 1
    done
    return 0
  fi
  mkdir -p -- "$folder" && mv -f -- "$home/config/internal_users.yml" "$folder/" || return 1
  export DISABLE_SECURITY_PLUGIN=false
}

# The keystore is made of what belongs into it at each start, so nothing is left in it of a start before. The container is
# the same one after a restart in place; where no settings are asked for any more, the keystore that was made here goes.
place_keystore() {
  local from=${STATEWARD_CONFIG:-$root/run} keystore=$home/config/$STATEWARD_ENGINE.keystore status
  local scratch=$root/run/keystore # in memory: values of Secrets are written to no disk
  local mine=$home/config/.stateward-keystore
  [[ -e $mine ]] && { rm -f -- "$keystore" "$mine" || return 1; }
  [[ -e $from/stateward-keystore-seal ]] || return 0
  : >"$mine" && rm -f -- "$keystore" && rm -rf -- "$scratch" && mkdir -m 700 -- "$scratch" || return 1
  fill_keystore "$from" "$scratch"
  status=$?
  rm -rf -- "$scratch"
  return "$status"
}

fill_keystore() {
  local file name settings=()
  for file in "$1"/stateward-keystore.*; do
    [[ -e $file ]] || continue
    name=${file##*/stateward-keystore.}
    head -n 1 -- "$file" | base64 -d >"$2/$name" || return 1
    settings+=("$name" "$2/$name")
  done
  keystore create || return 1
  ((${#settings[@]} == 0)) || keystore add-file --force "${settings[@]}"
}

# Options for the database, such as its heap, are not for its tools.
keystore() { env -u OPENSEARCH_JAVA_OPTS -u ES_JAVA_OPTS "$home/bin/$STATEWARD_ENGINE-keystore" "$@"; }

formed() { [[ -s $root/seeds/formed ]]; }

granted() { [[ $(cat -- "$root/pod/bootstrap" 2>/dev/null) == granted ]]; }

holds_state() { compgen -G "$home/data/nodes/*/_state/*" >/dev/null || compgen -G "$home/data/_state/*" >/dev/null; }

# The disaster this prevents: a manager that has lost its volume starts empty, believes that it is the first of a new
# cluster and forms a second one beside the first; both take writes, and those of one are lost later. So nobody forms a
# cluster because of what stands in its template. Exactly one member may, and only after the operator has written into
# the cluster's status that this volume is the one, and then onto this very pod that it may go on. A pod that is made
# anew has lost that leave. On a volume that already belongs to a cluster the setting does nothing: the database ignores
# it once it has a voting configuration. That is why leave is asked for also when the volume is not empty: a first start
# that failed half-way has left files there without having formed anything.
await_leave() {
  local started=$SECONDS told=-30
  while ! formed; do
    if granted; then
      say "this member has leave to form the cluster"
      arguments+=("-E${STATEWARD_INITIAL_NODES:?}=${STATEWARD_MEMBER:?}")
      return 0
    fi
    if ((SECONDS - started >= patience)); then
      holds_state && say "no leave to form the cluster came; starting, as the volume may belong to a cluster" && return 0
      fail "no leave to form the cluster came within $patience s: is the operator running?"
      return 1
    fi
    if ((SECONDS - told >= 30)); then
      say "waiting for the operator's leave to form the cluster (pod annotation stateward.dev/bootstrap)"
      told=$SECONDS
    fi
    sleep "$pause"
  done
  say "the cluster has been formed; this member joins it"
}

run() {
  local status=0
  trap stop TERM INT
  "${STATEWARD_ENTRYPOINT:?}" "${STATEWARD_ENGINE:?}" "$@" &
  database=$!
  while kill -0 "$database" 2>/dev/null; do
    wait "$database"
    status=$?
  done
  # The shell around the database is gone; the database itself may still be closing its files.
  stop
  while kill -0 -- "-$database" 2>/dev/null; do
    sleep 0.1
  done
  return "$status"
}

stop() {
  kill -TERM -- "-$database" 2>/dev/null
}

await_configuration || exit 1
place_configuration || { fail "the configuration could not be put in place"; exit 1; }
place_security || exit 1
place_keystore || { say "the keystore could not be made"; exit 1; }
if [[ ${STATEWARD_BOOTSTRAP_CANDIDATE:-} == true ]]; then
  await_leave || exit 1
fi
run ${arguments[@]+"${arguments[@]}"}
