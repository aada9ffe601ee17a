#!/bin/sh
# make list: the rungs and their ideas. The idea is the string after the rung's own name in its step
# record.
#     list.sh SOURCE...
for source; do
    rung=${source##*/} rung=${rung%%[_.]*}
    idea="s/.*\"$rung\",[^\"]*\"([^\"]*)\".*/$rung  \1\n/; t; s/.*/$rung  (no idea in its step record)\n/"
    tr '\n' ' ' <"$source" | sed -E "$idea" || exit 0 # head has read enough
done
