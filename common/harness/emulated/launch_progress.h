/* The progress line over all launches of the emulator, which emulated/machine.c shows. */
#ifndef GEMM_LADDER_HARNESS_EMULATED_LAUNCH_PROGRESS_H
#define GEMM_LADDER_HARNESS_EMULATED_LAUNCH_PROGRESS_H

/* Takes the line away: something else may be printed. The next launch shows it again. */
void launch_progress_hide(void);

#endif
