#!/usr/bin/env bash
# make test, make check: pytest says what the chosen tests need, make builds it, pytest runs them, even
# if something does not build, whose test then fails. Without PyPI Debian's python3-pytest does.
#     test.sh MAKE PARALLEL PYTHON BUILD [OPTION...]     options for pytest
set -uo pipefail
make=$1 parallel=$2 python=$3 build=$4
shift 4
[[ $build == build ]] || {
    echo "tests look for what is built in build/: make test takes no BUILD=$build" >&2
    exit 2
}
if "$make" --no-print-directory -s "$build/venv/tests.stamp"; then
    python=$build/venv/bin/python
elif ! "$python" -c 'import pytest'; then
    echo 'pytest is missing: install python3-pytest and python3-pytest-xdist' >&2
    exit 1
fi
"$make" --no-print-directory -sk "$build"/venv/{plots,book}.stamp # else what needs them is skipped
mkdir -p "$build/tests"
"$python" -m pytest "$@" -q --needs="$build/tests/needs" || exit
mapfile -t needs <"$build/tests/needs"
"$make" --no-print-directory -k"$([[ ${V:-} ]] || echo s)" ${parallel:+"$parallel"} "${needs[@]}" nothing ||
    echo 'make: not everything was built; the tests below name what is missing' >&2
parts=()
"$python" -c 'import xdist' 2>/dev/null && parts=(--numprocesses=auto)
"$python" -m pytest "$@" "${parts[@]}"
status=$?
[[ ${FULL:-} != 1 || $# -gt 0 ]] || "$python" -m planted.plant found
exit $status
