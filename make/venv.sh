#!/bin/sh
# Installs the packages of a folder into the virtual environment that all folders share.
#     venv.sh PYTHON REQUIREMENTS STAMP     STAMP: VENV/FOLDER.stamp, written when they are there
python=$1 requirements=$2 stamp=$3 venv=${3%/*} log=${3%.stamp}.log
mkdir -p "${venv%/*}"
# Two makes may need them at the same time.
exec 9>"$venv.lock"
! command -v flock >/dev/null || flock 9
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv" || {
    rm -rf "$venv"
    echo 'no virtual environment could be made: install python3-venv' >&2
    exit 1
}
"$venv/bin/pip" install -q --disable-pip-version-check --require-hashes --retries 1 --timeout 10 \
    -r "$requirements" >"$log" 2>&1 || {
    echo "the packages of $requirements could not be installed: this needs the network, or an index that" \
        "PIP_INDEX_URL names (the output of pip is in $log)" >&2
    exit 1
}
touch "$stamp"
