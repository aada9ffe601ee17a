/* The rows of the table that need no GPU: the one that there may be is hidden. */
#define MACHINE HIDDEN
#include "../unit/test_step_main.c"
