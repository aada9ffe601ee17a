#!/usr/bin/env bash
# make diff: a rung's opening comment, whole, and what its code changes from the rung below.
#     diff.sh SOURCE [OPTION...]     options for git diff, or for diff where there is no git
# Word by word in colour on a terminal; elsewhere, and with NO_COLOR, line by line, since marks around
# words are hard to read.
set -uo pipefail
trap 'exit 0' PIPE # of head, which has read enough
source=$1 folder=${1%/*} file=${1##*/}
rung=${file%%[_.]*}
shift

# The rung below is the one that the step record names, or the one before it on its own track.
named=$(sed -n 's/^ *\.below = "\(.*\)",$/\1/p' "$source")
before=$(printf '%s\n' "$folder/${rung:0:1}"*.cu | sed "/${file}\$/,\$d" | tail -n 1)
for below in ${named:+"$folder/$named"[_.]*} $before; do break; done
if [[ -z ${below:-} ]]; then
    echo "There is nothing below $rung: it is the first rung."
    exit
fi
below_file=${below##*/}
echo "${below_file%%[_.]*} -> $rung"
"${PYTHON:-python3}" -m book.pages.changes "$rung" 2>/dev/null # without Python there is no count
sed '/^#include/,$d' "$source"

code=$(mktemp -d) || exit
trap 'rm -rf "$code"' EXIT
sed '/^#include/,$!d' "$below" >"$code/$below_file"
sed '/^#include/,$!d' "$source" >"$code/$file"
cd "$code" || exit
if ! command -v git >/dev/null; then
    diff -u "$@" "$below_file" "$file"
elif [[ -t 1 && -z ${NO_COLOR:-} ]]; then
    git --no-pager diff --no-index --no-ext-diff --no-prefix --word-diff=color \
        --word-diff-regex='[A-Za-z0-9_.]+|[^[:space:]]' "$@" "$below_file" "$file"
else
    git --no-pager diff --no-index --no-ext-diff --no-prefix --no-color "$@" "$below_file" "$file"
fi
status=$? # 1: they differ; 141: head has read enough
[[ $status -le 1 || $status -eq 141 ]]
