#!/bin/sh
# Takes `-x` beside `--cluster` as version 5 does, where it says that the answer to a question is on the standard input.
# Version 7 takes it for one more argument of the command, and finds that it has too many.
case " $* " in
*" --cluster "*)
  for word; do
    shift
    [ "$word" = -x ] || set -- "$@" "$word"
  done
  ;;
esac
exec /usr/bin/redis-cli "$@"
