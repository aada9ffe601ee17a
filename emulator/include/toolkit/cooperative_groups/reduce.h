// reduce() of a tile is in the first header.
#pragma once

#include <cooperative_groups.h>
