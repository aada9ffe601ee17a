#!/bin/sh
# make resources: a kernel's registers, shared memory, stack and spills, of what ptxas said.
#     resources.sh LOG
c++filt <"$1" | sed -nE "s/.*entry function '(.*)' for '(.*)'/\1 for \2/p
    s/^ +([0-9]+ bytes stack .*)/    \1/p; s/.*Used ([0-9]+ registers.*)/    \1/p"
echo '(smem is static shared memory; dynamic shared memory is requested at launch)'
