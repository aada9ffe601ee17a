// Which of its kernels v18 takes.
//
//   choose SMS MxNxK...
//
// For a GPU with SMS multiprocessors: one line for each product, the product and the place of
// the kernel in KERNELS. RUNG is the rung's file, which is included as it is.

// The rung's main function is never called.
#define main rung_main
#include RUNG
#undef main

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    const int sms = argc > 1 ? atoi(argv[1]) : 0;
    if (sms <= 0) {
        fprintf(stderr, "choose: usage: choose SMS MxNxK...\n");
        return 2;
    }
    for (int i = 2; i < argc; ++i) {
        problem p = {};
        int length = 0;
        if (sscanf(argv[i], "%dx%dx%d%n", &p.m, &p.n, &p.k, &length) != 3 || argv[i][length] ||
            p.m <= 0 || p.n <= 0 || p.k <= 0) {
            fprintf(stderr, "choose: '%s' is no MxNxK\n", argv[i]);
            return 2;
        }
        printf("%s %d\n", argv[i], int(choose(&p, sms) - KERNELS));
    }
    return 0;
}
