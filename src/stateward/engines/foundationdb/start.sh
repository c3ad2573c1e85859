#!/bin/bash
# Starts the processes of a member, and any of them again that ends: `kill` of the database's command line ends them, and
# counts on that. Told to end, it ends all of them and waits.
set -u

root=${STATEWARD_ROOT:-/stateward}
home=${STATEWARD_HOME:-/var/fdb}
config=${STATEWARD_CONFIG:-$root/config}
pause=${STATEWARD_PAUSE:-10} again=${STATEWARD_AGAIN:-1}
data=$home/data
file=$data/fdb.cluster
host=$POD_IP
[[ $host != *:* ]] || host="[$host]"
tls=${FDB_TLS_CERTIFICATE_FILE:+:tls}

# The end of the container says why, so that the cluster's status can.
fail() {
  local told=${STATEWARD_LAST_WORDS:-/dev/termination-log}
  echo "$*" >&2
  [[ -w $told ]] && printf '%s' "$*" >"$told"
  exit 1
}

# A pod without an agent may see its configuration as it was before the last change.
if [[ -n ${STATEWARD_CONFIG_SHA256:-} ]]; then
  until [[ $(cat "$config"/* | sha256sum) == "$STATEWARD_CONFIG_SHA256 "* ]]; do sleep 1; done
fi

known=$root/cluster/fdb.cluster
until [[ -s $known ]]; do sleep 1; done

# On the way to a version that those of the image do not talk to, an init container has brought its programs, too. Never
# others than what the configuration says: the old ones would find nobody to talk to, on data of the new ones.
programs=$(dirname "$(command -v fdbserver)")
version=$(cat "$config/program" 2>/dev/null)
if [[ -n $version && $version != "$STATEWARD_ENGINE_VERSION" ]]; then
  if [[ -x $root/beside/$version/fdbserver ]]; then
    programs=$root/beside/$version
  elif [[ ${version%.*} != "${STATEWARD_ENGINE_VERSION%.*}" ]]; then
    fail "the programs of $version are not in this pod"
  fi
fi
# The command line has to be of the version that runs: it is found by this.
mkdir -p "$root/run" && ln -sfn "$programs" "$root/run/programs.new" && mv -T "$root/run/programs.new" "$root/run/programs"

declare -a running=()
trap end TERM INT

end() {
  trap '' TERM INT
  kill -TERM $(jobs -rp) 2>/dev/null
  wait
  exit 0
}

said() { grep -v '^ *#' "$1"; }

# Whether the file on the volume names the same database by other coordinators.
differs() {
  local own theirs
  own=$(said "$file" 2>/dev/null) && theirs=$(said "$known") || return 1
  [[ $own != "$theirs" && ${own%%:*} == "${theirs%%:*}" ]]
}

# Whether the volume has data of another database: that of a cluster that was deleted and created again, for example. A
# new database would take the volume for its own, and delete that data.
foreign() {
  local own theirs
  own=$(said "$file" 2>/dev/null) && theirs=$(said "$known") || return 1
  [[ -n $own && ${own%%:*} != "${theirs%%:*}" ]] && compgen -G "$data/[0-9]*/*" >/dev/null
}

if foreign; then
  fail "the volume has data of another database, '$(said "$file" | cut -d: -f1)'; this one is '$(said "$known" | cut -d: -f1)'." \
    "Nothing is started, and the data stays: give the member an empty volume, or keep this one elsewhere"
fi

# Whether the coordinators of a file answer. It is asked in the background: bash hears of its own end only then.
answer=$root/run/status.json
answers() {
  "$programs/fdbcli" -C "$1" --timeout 10 --exec 'status json' >"$answer" 2>/dev/null &
  wait $!
  grep -Eq '"available" *: *true' "$answer"
}

# The database writes the file whenever coordinators change, so it gets a copy.
take() { cp "$known" "$file.new" && mv "$file.new" "$file"; }

# Just after a change of coordinators the file on the volume is newer than what has arrived here of the operator's; after
# a long time away it may be older.
if differs && answers "$file"; then
  echo "the cluster file of the volume is kept: its coordinators answer"
else
  take
fi

# Coordinators of before lead on to those of now only while they run, and a process reads its file when it starts. One
# that was started with a file from before, or was out of reach when they changed, would never find the others again.
# Where the database knows any process of this pod, nothing is done: they go on.
follow() {
  differs && ! answers "$file" || return
  cp "$known" "$root/run/fdb.cluster" && answers "$root/run/fdb.cluster" || return
  ! grep -Fq "\"$host:" "$answer" && take || return
  echo "the coordinators of before are gone: the processes start again with those of now"
  kill -TERM "${running[@]}" 2>/dev/null
}

mapfile -t arguments <"$config/arguments"
processes=$(<"$config/processes")

start() {
  mkdir -p "$data/$1"
  local address=$host:$((4499 + $1))$tls
  "$programs/fdbserver" --cluster_file "$file" --datadir "$data/$1" --logdir "$home/logs" \
    --public_address "$address" --listen_address "$address" \
    --locality_instance_id "$STATEWARD_MEMBER" --locality_process_id "$STATEWARD_MEMBER-$1" \
    --locality_zoneid "$STATEWARD_DOMAIN" --locality_machineid "$STATEWARD_DOMAIN" \
    "${arguments[@]}" &
  running[$1]=$!
}

for ((i = 1; i <= processes; i++)); do start "$i"; done
while :; do
  sleep "$pause" &
  timer=$!
  wait -n
  if kill "$timer" 2>/dev/null; then
    wait "$timer" 2>/dev/null
    sleep "$again"
  else
    follow
  fi
  for ((i = 1; i <= processes; i++)); do
    jobs -rp | grep -qx "${running[$i]}" || start "$i"
  done
done
