#!/usr/bin/env bash
# Runs a command of nvcc's that makes an object: it makes it without what hides a mistake, or none.
#     nvcc.sh OBJECT SOURCE REFUSED COMMAND     REFUSED: an expression for lines of the log
# A spill, an array in local memory (a stack frame) or ptxas' C75xx (wgmma serialised, setmaxnreg
# ignored) make a rung slow or wrong in a way that nothing else shows: the build fails. The log is
# beside the object; warnings are shown.
object=$1 log=${1%.o}.ptxas.log
rm -f "$object"
if ! (eval "$4") >"$log" 2>&1; then
    cat "$log" >&2
elif grep -E "$3" "$log" >&2; then
    echo "$2: rejected: see the lines above (the full log is $log)" >&2
else
    grep -q warning "$log" && sed -E '/^ptxas info|bytes stack frame/d' "$log" >&2
    exit 0
fi
rm -f "$object"
exit 1
