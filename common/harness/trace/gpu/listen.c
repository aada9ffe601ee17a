#include "harness/trace/listen.h"

const char *listen_time_unit(void) { return "SM cycles"; }

void listen_begin(trace *trace) { (void)trace; }

int listen_end(void) { return 0; }
