#!/bin/sh
# make list: the rungs and their ideas. The idea is the string after the rung's own name in its step
# record.
#     list.sh SOURCE...
trap 'exit 0' PIPE # of head, which has read enough
for source; do
    rung=${source##*/} rung=${rung%%[_.]*}
    idea=$(tr '\n' ' ' <"$source" | sed -nE "s/.*\"$rung\",[^\"]*\"([^\"]*)\".*/\1/p")
    printf '%s  %s\n' "$rung" "${idea:-(no idea in its step record)}"
done
