#!/usr/bin/env bash
# The emulator's instructions give the bytes that a GPU gave, whatever the order of events.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

program=build/tests/device/test_instructions-emulated
for file in bench/results/instructions/*.json; do
    for policy in eager lazy random-{1..7}; do
        # Only the random policy reads the seed.
        cases=$(EMULATOR_POLICY=${policy%-[1-7]} EMULATOR_SEED=${policy#random-} \
            "$program" --compare "$file" 2>&1)
        status=$?
        is "$policy: as in $file" "$(grep -v -m 3 '^ok - ' <<<"$cases")" test $status -eq 0
        if grep -q '^skip - as recorded' <<<"$cases"; then
            skip "$policy: all cases" "$file lacks some: it needs a GPU to record it again"
        fi
    done
done
EMULATOR_POLICY=none "$program" >/dev/null 2>&1
is "an unknown policy is refused" "exit status $?, not 2" test $? -eq 2
# What skips all its cases must not pass for one that ran them.
for one in instructions e4m3 words; do
    EMULATOR_CAPABILITY=8.9 "build/tests/device/test_$one-emulated" >/dev/null 2>&1
    is "test_$one exits 77 where it can run no case" "exit status $?" test $? -eq 77
done
finish
