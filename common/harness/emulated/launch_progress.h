/* One progress line over all launches of the emulator. */
#ifndef GEMM_LADDER_HARNESS_EMULATED_LAUNCH_PROGRESS_H
#define GEMM_LADDER_HARNESS_EMULATED_LAUNCH_PROGRESS_H

#include <stddef.h>

/* There will be so many launches, each of so many multiply-adds in all; 0 if it does not multiply.
 */
void launch_progress_begin(size_t launches, double multiply_adds);

/* The next launch begins now. */
void launch_progress_next(void);

/* Takes the line away: something else may be printed. The next launch shows it again. */
void launch_progress_hide(void);

#endif
