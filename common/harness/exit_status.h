/* What a rung's program says with its exit status. */
#ifndef GEMM_LADDER_HARNESS_EXIT_STATUS_H
#define GEMM_LADDER_HARNESS_EXIT_STATUS_H

enum exit_status {
    STATUS_VERIFIED = 0,
    STATUS_FAILED = 1,     /* a wrong result, a failed call, or output that cannot be written */
    STATUS_USAGE = 2,      /* bad options, unsupported shape, does not fit in memory */
    STATUS_CANNOT_RUN = 77 /* no GPU, or one that the rung is not made for */
};

#endif
