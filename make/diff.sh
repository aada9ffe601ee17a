#!/usr/bin/env bash
# make diff: a rung's opening comment, whole, and what its code changes from the rung below.
#     diff.sh SOURCE [OPTION...]     options for git diff, or for diff where there is no git
# In colour on a terminal, with the changed words marked; plain elsewhere and with NO_COLOR.
set -uo pipefail
mark=$PWD/${0%/*}/mark_words.py
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
else
    git --no-pager diff --no-index --no-ext-diff --no-prefix --no-color "$@" "$below_file" "$file"
fi | if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
    "${PYTHON:-python3}" "$mark" || cat
else
    cat
fi
status=${PIPESTATUS[0]} # 1: they differ; 141: head has read enough
[[ $status -le 1 || $status -eq 141 ]]
