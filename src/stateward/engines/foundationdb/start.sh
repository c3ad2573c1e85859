#!/bin/bash
# Starts the processes of a member, and any of them again that ends: `kill` of the database's command line ends them, and
# counts on that. Told to end, it ends all of them and waits.
set -u

config=${STATEWARD_CONFIG:-/stateward/config}
data=/var/fdb/data
file=$data/fdb.cluster
host=$POD_IP
[[ $host != *:* ]] || host="[$host]"

# A pod without an agent may see its configuration as it was before the last change.
if [[ -n ${STATEWARD_CONFIG_SHA256:-} ]]; then
  until [[ $(cat "$config"/* | sha256sum) == "$STATEWARD_CONFIG_SHA256 "* ]]; do sleep 1; done
fi

known=/stateward/cluster/fdb.cluster
until [[ -s $known ]]; do sleep 1; done

# On the way to a version that those of the image do not talk to, an init container has brought its programs, too. Never
# others than what the configuration says: the old ones would find nobody to talk to, on data of the new ones.
programs=$(dirname "$(command -v fdbserver)")
version=$(cat "$config/program" 2>/dev/null)
if [[ -n $version && $version != "$STATEWARD_ENGINE_VERSION" ]]; then
  if [[ -x /stateward/beside/$version/fdbserver ]]; then
    programs=/stateward/beside/$version
  elif [[ ${version%.*} != "${STATEWARD_ENGINE_VERSION%.*}" ]]; then
    echo "the programs of $version are not in this pod" >&2
    exit 1
  fi
fi
# The command line has to be of the version that runs: it is found by this.
mkdir -p /stateward/run && ln -sfn "$programs" /stateward/run/programs.new && mv -T /stateward/run/programs.new /stateward/run/programs

said() { grep -v '^ *#' "$1"; }

# Whether the file on the volume names the same database by other coordinators, and they answer. Just after a change of
# coordinators it is newer than what has arrived here of the operator's; after a long time away it may be older.
answers() {
  local own theirs
  own=$(said "$file" 2>/dev/null) && theirs=$(said "$known") || return 1
  [[ $own != "$theirs" && ${own%%:*} == "${theirs%%:*}" ]] || return 1
  "$programs/fdbcli" -C "$file" --timeout 10 --exec 'status json' 2>/dev/null | grep -Eq '"available" *: *true'
}

# The database writes the file whenever coordinators change, so it gets a copy.
if answers; then
  echo "the cluster file of the volume is kept: its coordinators answer"
else
  cp "$known" "$file.new" && mv "$file.new" "$file"
fi

mapfile -t arguments <"$config/arguments"
processes=$(<"$config/processes")
declare -a running

start() {
  mkdir -p "$data/$1"
  local address=$host:$((4499 + $1))
  "$programs/fdbserver" --cluster_file "$file" --datadir "$data/$1" --logdir /var/fdb/logs \
    --public_address "$address" --listen_address "$address" \
    --locality_instance_id "$STATEWARD_MEMBER" --locality_process_id "$STATEWARD_MEMBER-$1" \
    --locality_zoneid "$STATEWARD_DOMAIN" --locality_machineid "$STATEWARD_DOMAIN" \
    "${arguments[@]}" &
  running[$1]=$!
}

end() {
  trap '' TERM INT
  kill -TERM "${running[@]}" 2>/dev/null
  wait
  exit 0
}
trap end TERM INT

for ((i = 1; i <= processes; i++)); do start "$i"; done
while :; do
  wait -n
  sleep 1
  for ((i = 1; i <= processes; i++)); do
    jobs -rp | grep -qx "${running[$i]}" || start "$i"
  done
done
