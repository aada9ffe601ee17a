// All of them.
#include <helper_timer.h>
