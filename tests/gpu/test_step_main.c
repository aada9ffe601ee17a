/* The rows of the table that need a GPU; without one all are skipped. */
#define MACHINE ON_GPU
#include "../unit/test_step_main.c"
