// It is all in the other one.
#include <cuda/pipeline>
