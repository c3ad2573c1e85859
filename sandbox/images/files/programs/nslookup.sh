#!/bin/sh
# Answers as the nslookup of small images has done: "Address 1: 10.0.0.1 name".
set -eu
getent hosts "$1" | awk '{ print "Address " NR ": " $1 " " $2 }'
