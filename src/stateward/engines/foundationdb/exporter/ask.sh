#!/bin/bash
# Asks the database for its status, again and again, and leaves each answer for the exporter: whole, not larger than a
# limit, with the times of its question in the last line.
set -u

pause=$1 patience=$2 killed=$3 largest=$4 mark=$5
root=${STATEWARD_ROOT:-/stateward}
known=$root/cluster/fdb.cluster own=$root/own/fdb.cluster answer=$root/answers/status
trap 'exit 0' TERM INT

# The program writes its cluster file whenever coordinators change, so it gets a copy. Between a change and the arrival of
# the operator's file here, the copy is the newer one: it stays until that file changes.
taken=
take() {
  local now
  now=$(cat "$known" 2>/dev/null)
  [[ -n $now && $now != "$taken" ]] || return 0
  printf '%s\n' "$now" >"$own.new" && mv -f "$own.new" "$own" && taken=$now
}

ask() {
  local began
  began=$(date +%s.%N)
  timeout -s KILL "$killed" fdbcli -C "$own" --timeout "$patience" --exec 'status json' 2>&1 </dev/null | head -c "$largest"
  printf '\n%s %s %s\n' "$mark" "$began" "$(date +%s.%N)"
}

# What takes long runs in the background: bash hears of its own end only then.
while :; do
  take
  { ask >"$answer.new" && mv -f "$answer.new" "$answer"; } &
  wait $!
  sleep "$pause" &
  wait $!
done
