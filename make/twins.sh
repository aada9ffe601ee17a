#!/bin/sh
# After g++ failed on what the emulator runs: says which device headers lack a twin.
#     twins.sh SOURCE DEPENDENCIES     DEPENDENCIES: the file of headers that the compiler has written
# An assembler knows no PTX, and its errors name neither the header nor what to do.
twins=common/device/emulated/device
grep -o 'common/device/[a-z0-9_]*\.cuh' "$2" 2>/dev/null | sort -u | while read -r header; do
    if grep -qw asm "$header" && [ ! -e "$twins/${header##*/}" ]; then
        echo "$1: $header has inline assembly, which needs a twin for the emulator: write" \
            "$twins/${header##*/} (CONTRIBUTING.md)" >&2
    fi
done
exit 1
