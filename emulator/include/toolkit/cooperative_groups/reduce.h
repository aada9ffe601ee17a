// It is all in the other one.
#include <cooperative_groups.h>
