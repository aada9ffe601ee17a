#!/bin/sh
# make sanitize: a program under each tool of compute-sanitizer, all three even if the first finds
# something.
#     sanitize.sh COMPUTE-SANITIZER PROGRAM [OPTION...]
sanitizer=$1 program=$2 status=0
shift 2
if [ $# -eq 0 ]; then
    set -- --m 256 --n 512
    case ${program##*/} in t*) ;; *) set -- "$@" --k 256 ;; esac
fi
for tool in memcheck racecheck synccheck; do
    echo "compute-sanitizer --tool $tool"
    "$sanitizer" --tool $tool --error-exitcode 1 "$program" "$@" --protocol none || status=1
done
exit $status
