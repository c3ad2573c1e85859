#!/bin/sh
# Stands in for wget where there is no network: `wget -O FILE URL`.
set -eu
file=-
while [ $# -gt 0 ]; do
  case "$1" in
    -O) file="$2"; shift ;;
    *) url="$1" ;;
  esac
  shift
done
text="<p>this would be $url</p>"
if [ "$file" = - ]; then echo "$text"; else echo "$text" > "$file"; fi
