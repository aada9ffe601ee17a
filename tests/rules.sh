#!/usr/bin/env bash
# What the design forbids in a rung and in common/, as far as a search can tell.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

# absent NAME EXPRESSION FILE...: no line matches.
absent() {
    local name=$1 expression=$2 found
    shift 2
    if found=$(grep -HnE -m 1 -- "$expression" "$@"); then
        not_ok "$name" "$(head -n 1 <<<"$found")"
    else
        ok "$name"
    fi
}

# ---- rungs

for source in steps/*.cu; do
    rung=$(basename "${source%%_*}")
    absent "$rung holds no inline assembly" '\basm\b' "$source"
    absent "$rung launches through launch()" '<<<' "$source"
    absent "$rung asks for shared memory through a wrapper" 'extern +(__shared__|.*\[\])' "$source"
    absent "$rung holds no driver type" '\b(CUtensorMap|CUfunction|CUresult)' "$source"
    absent "$rung holds no wait loop" 'try_wait' "$source"
    absent "$rung holds no timing" 'cudaEvent|clock64|globaltimer|\bchrono\b' "$source"
    absent "$rung parses no options" 'getopt|argv\[' "$source"
    absent "$rung is one program for every build" '^ *# *(if|ifdef|ifndef|else|elif)\b' "$source"
    absent "$rung includes only common/" '# *include +"(\.|steps|v[0-9]|a[0-9]|t[0-9]|bench)' "$source"
    absent "$rung does not know what runs it" '[Ee]mulat' "$source"
    main="int main(int argc, char **argv) { return step_main(&$rung, argc, argv); }"
    is "$rung has a main of one line" "no line: $main" grep -qxF "$main" "$source"
    is "$rung has a header comment" "the first line is no comment" grep -qE '^//' <(head -n 1 "$source")
done

# ---- Python packages

for list in */requirements.txt; do
    absent "$list pins every package by its hashes" '^[^# ]([^\]*|[^=]*)$' "$list"
done

# ---- common

# step.h shows a rung's main as an example.
mapfile -t common < <(find common -type f ! -path common/step.h | sort)
absent "common/ knows no rung" '\b[vat][0-9][0-9]\b' "${common[@]}"
absent "common/ includes nothing above it" '# *include +"(\.\.|steps|bench|tests)' "${common[@]}"
mapfile -t device < <(find common/device -type f | sort)
absent "common/device includes nothing of the harness" '# *include +"harness' "${device[@]}"

# The emulator stands on its own: its C interface is all that the harness sees of it.
mapfile -t emulator < <(find common/emulator -type f | sort)
absent "common/emulator includes nothing of the harness" '# *include +"harness' "${emulator[@]}"
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
    if [[ -z $found ]]; then
        ok "$header: every function has a comment"
    else
        not_ok "$header: every function has a comment" "$found"
    fi
done

# ---- the tree

mapfile -t tree < <(find Makefile README.md .ci common steps bench plots book standalone tests -type f \
    ! -path tests/rules.sh ! -name '*.png' ! -path '*/__pycache__/*' 2>/dev/null)
absent "no unfinished work" '\b(TODO|FIXME|XXX)\b' "${tree[@]}"
finish
