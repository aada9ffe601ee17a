// Which of its kernels v18 takes: `choose SMS M N K` prints its place in KERNELS, for a GPU with
// SMS multiprocessors. RUNG is the rung's file, which is included as it is; its main is never
// called.
#define main rung_main
#include RUNG
#undef main

#include <stdio.h>
#include <stdlib.h>

int main(int, char **argv) {
    problem p = {};
    p.m = atoi(argv[2]);
    p.n = atoi(argv[3]);
    p.k = atoi(argv[4]);
    printf("%d\n", int(choose(&p, atoi(argv[1])) - KERNELS));
    return 0;
}
