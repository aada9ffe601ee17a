#pragma once
static_assert(WIDTH == 16, "-D does not reach a header");
