#!/usr/bin/env bash
# The emulator's instructions give the bytes that a GPU gave, whatever the order of events.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

program=build/tests/device/test_instructions-emulated
if [[ ! -x $program ]]; then
    not_ok "the emulator agrees with a GPU" "$program was not built"
    finish
fi

# as_recorded FILE: the policy is in the environment.
as_recorded() {
    local case lacking policy=$EMULATOR_POLICY${EMULATOR_SEED:+ with seed $EMULATOR_SEED}
    if case=$("$program" --compare "$1" 2>&1); then
        ok "$policy: $(grep -c '^ok - as recorded' <<<"$case") cases as in $1"
        lacking=$(grep -c '^skip - as recorded' <<<"$case")
        [[ $lacking -eq 0 ]] || skip "$policy: $lacking cases" "$1 lacks them: record it again on a GPU"
    else
        grep -v '^ok - ' <<<"$case"
        not_ok "$policy: as in $1" "see above"
    fi
}

for file in bench/results/instructions/*.json; do
    for policy in eager lazy newest-first late-reads late-loads; do
        EMULATOR_POLICY=$policy as_recorded "$file"
    done
    for seed in 1 2 3 4; do
        EMULATOR_POLICY=random EMULATOR_SEED=$seed as_recorded "$file"
    done
done
is "an unknown policy is refused" "it is not" bash -c "! EMULATOR_POLICY=none $program"
finish
