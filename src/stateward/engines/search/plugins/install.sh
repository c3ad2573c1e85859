#!/usr/bin/env bash
# Installs plug-ins before the database starts: install.sh NAME PLACE [NAME PLACE ...]. A place is an https:// address or a
# path. Each file is kept on the member's volume, so a later pod starts also when its source is away.
set -u -o pipefail

home=${STATEWARD_HOME:?}
kept=${STATEWARD_KEPT:-/stateward/data/.stateward-plugins}
fetched=$kept/.fetched
used=()

# The end of the container says why, so that the cluster's status can.
fail() {
  printf '%s\n' "$*" >&2
  printf '%s' "$*" >"${STATEWARD_LAST_WORDS:-/dev/termination-log}" 2>/dev/null
  exit 1
}

download() { curl --fail --silent --show-error --location --proto '=https' --retry 3 --max-time 300 --output "$2" "$1"; }

bring() {
  local name=$1 place=$2 told
  rm -f -- "$fetched" "$fetched.sha512"
  if [[ $place == https://* ]]; then
    told=$(download "$place" "$fetched" 2>&1) || fail "plug-in $name: $place could not be downloaded: $told"
    verify "$name" "$place"
  else
    cp -- "$place" "$fetched" || fail "plug-in $name: the source has no file ${place##*/}"
  fi
}

# A sum that the source has beside the file is checked: it protects from a transfer that was cut off, not from the source.
# Servers answer 403 or 404 for a file that is not there; any other failure leaves open whether there is a sum.
verify() {
  local name=$1 place=$2 told
  if told=$(download "$place.sha512" "$fetched.sha512" 2>&1); then
    [[ $(sum "$fetched") == "$(cut -d ' ' -f 1 <"$fetched.sha512")" ]] || fail "plug-in $name: $place does not have its SHA-512"
  elif [[ $told != *'error: 404'* && $told != *'error: 403'* ]]; then
    fail "plug-in $name: $place.sha512 could not be downloaded: $told"
  fi
}

sum() { sha512sum -- "$1" | cut -d ' ' -f 1; }

unpack() {
  told=$("$home/bin/${STATEWARD_ENGINE:?}-plugin" install --batch "file://$2" 2>&1)
  [[ -d $home/plugins/$1 ]]
}

# The name of a kept file has its place in it. Its sum is stored once it was installed: a file that the tool refuses, such
# as the login page of a mirror, is fetched again. So is a kept one that it refuses: the place may have another by now.
install() {
  local name=$1 place=$2 file told
  [[ -d $home/plugins/$name ]] && echo "plug-in $name is there already" && return
  file=$kept/$(printf '%s' "$place" | sha256sum | cut -c 1-16)-${place##*/}
  used+=("$file" "$file.sha512")
  if [[ ! -e $file.sha512 || $(sum "$file") != "$(<"$file.sha512")" ]] || ! unpack "$name" "$file"; then
    bring "$name" "$place"
    mv -f -- "$fetched" "$file" || fail "plug-in $name: the volume takes no file"
    unpack "$name" "$file" || fail "plug-in $name: $(grep -m 1 -i -E 'error|exception' <<<"$told" || tail -n 1 <<<"$told")"
    sum "$file" >"$file.sha512" || fail "plug-in $name: the volume takes no file"
  fi
  echo "plug-in $name is installed from ${place##*/}"
}

# Files of other versions and of plug-ins that are no longer asked for would fill the volume.
forget() {
  local file one
  for file in "$kept"/*; do
    for one in ${used[@]+"${used[@]}"}; do
      [[ $file == "$one" ]] && continue 2
    done
    rm -f -- "$file"
  done
}

mkdir -p -- "$kept" || fail "the volume takes no directory for plug-ins"
while (($# >= 2)); do
  install "$1" "$2"
  shift 2
done
forget
