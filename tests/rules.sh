#!/usr/bin/env bash
# What the design forbids in a rung and in common/, as far as a search can tell. tests/layout.py says
# what may include what.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

# absent NAME EXPRESSION FILE...: no line matches.
absent() {
    local name=$1 expression=$2 found
    shift 2
    found=$(grep -HnE -m 1 -- "$expression" "$@")
    is "$name" "$(head -n 1 <<<"$found")" test -z "$found"
}

# What no rung holds, and the lines that would show it.
FORBIDDEN='inline assembly : \basm\b
launch past launch() : <<<
shared memory past its wrapper : extern +(__shared__|.*\[\])
driver type : \b(CUtensorMap|CUfunction|CUresult)
wait loop : try_wait
timing : cudaEvent|clock64|globaltimer|\bchrono\b
options to parse : getopt|argv\[
code for one build alone : ^ *# *(if|ifdef|ifndef|else|elif)\b
words of what runs it : [Ee]mulat'
for source in steps/*.cu; do
    rung=$(basename "${source%%_*}")
    while IFS= read -r row; do
        absent "$rung holds no ${row%% : *}" "${row#* : }" "$source"
    done <<<"$FORBIDDEN"
    main="int main(int argc, char **argv) { return step_main(&$rung, argc, argv); }"
    is "$rung has a main of one line" "no line: $main" grep -qxF "$main" "$source"
    is "$rung has a header comment" "the first line is no comment" grep -qE '^//' <(head -n 1 "$source")
done

for list in */requirements.txt; do
    absent "$list pins every package by its hashes" '^[^# ]([^\]*|[^=]*)$' "$list"
done

mapfile -t common < <(find common -type f | sort)
mapfile -t device < <(find common/device -type f | sort)

# The emulator stands on its own: its C interface is all that the harness sees of it.
mapfile -t emulator < <(find common/emulator -type f | sort)
mapfile -t includes < <(find common/emulator/include -type f -printf '%f\n')
toolkit=$(IFS='|'; echo "${includes[*]}")
absent "common/emulator includes no CUDA header but its own" \
    '# *include +[<"](cuda|cublas|nv|cooperative_groups)[a-z0-9_]*(\.h|/)' \
    <(grep -HnE '# *include' "${emulator[@]}" | grep -vE "include +<($toolkit)>")
absent "common/device and the rungs' shared headers do not know what runs them" '[Ee]mulat' \
    "${device[@]}" common/step.h
absent "nothing in common/ is compiled for one machine only" \
    '^ *# *(if|ifdef|ifndef|elif).*(__CUDA_ARCH__|EMULAT[A-Z]*\b[^_])' "${common[@]}"
mapfile -t both < <(find common/harness -maxdepth 1 -type f | sort)
absent "common/harness includes no machine's own files" '# *include +"harness/(gpu|emulated)/' \
    "${both[@]}"
for shadow in common/emulator/device/* common/emulator/trace/*; do
    stands_for=common/${shadow#common/emulator/}
    is "$shadow stands for $stands_for" "there is no $stands_for" test -e "$stands_for"
done

# A line that starts a declaration with a parameter list must stand under a comment, in a block
# without a blank line; neighbours in one block share it. A specialisation (name<64>) needs none.
undocumented() {
    awk '
        /^[[:space:]]*$/                                      { commented = 0; next }
        /^[[:space:]]*(\/\/|\/\*|\*)/                         { commented = 1; next }
        /^(#|static_assert|typedef|using|extern "C"|return)/  { next }
        /^(struct|class|enum) [^()]*(\(.*\))?[^()]*\{/         { next }
        /^[A-Za-z_][A-Za-z_ ]*<[0-9]+>\(/                     { next }
        /^[A-Za-z_][^=;]*\(/ && !commented                    { print FILENAME ":" FNR ": " $0 }
    ' "$1"
}

mapfile -t headers < <(find common -name '*.h' -o -name '*.cuh' | sort)
for header in "${headers[@]}"; do
    found=$(undocumented "$header" | head -n 1)
    is "$header: every function has a comment" "$found" test -z "$found"
done

mapfile -t tree < <(find Makefile README.md make .ci common steps bench plots book standalone tests -type f \
    ! -path tests/rules.sh ! -name '*.png' ! -path '*/__pycache__/*' 2>/dev/null)
absent "no unfinished work" '\b(TODO|FIXME|XXX)\b' "${tree[@]}"
finish
