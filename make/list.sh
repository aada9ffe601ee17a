#!/bin/sh
# make list: the rungs and their ideas, the string after a rung's own name in its step record. A rung
# that the learner's path leaves out says so in its second line.
#     list.sh SOURCE...
for source; do
    rung=${source##*/} rung=${rung%%[_.]*}
    aside=$(sed -nE '2s#^// (Optional|Side branch.*)\.$# (\1)#p' "$source" | tr OS os)
    idea="s/.*\"$rung\",[^\"]*\"([^\"]*)\".*/$rung  \1$aside\n/; t; s/.*/$rung  (no idea in its step record)\n/"
    tr '\n' ' ' <"$source" | sed -E "$idea" || exit 0 # head has read enough
done
