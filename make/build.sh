#!/usr/bin/env bash
# Builds targets, silently if there is nothing to do. A terminal shows the progress in one line, a log
# what is built.
#     build.sh MAKE OPTIONS TARGET...     OPTIONS: of make, in one word
make=$1
read -ra options <<<"$2"
shift 2
if [[ ! -t 1 || -n ${V:-} || ${MAKEFLAGS:-} =~ ^[a-zA-Z]*n ]]; then
    exec "$make" "${options[@]}" "$@"
fi
# Every recipe that builds begins with a line that says what.
all=$("$make" -n "$@" 2>/dev/null | grep -cE "^(mkdir.*; )?echo '")
set -o pipefail
"$make" "${options[@]}" "$@" | {
    n=0
    while IFS= read -r line; do
        printf '\r\033[K%d/%d %s ' $((n += 1)) "$all" "$line"
    done
    [[ $n -eq 0 ]] || printf '\r\033[K'
}
