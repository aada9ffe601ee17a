# A mistake in a standalone file of each computation, by which its result is wrong: what is left out of
# the sums (v07), subtracted (a01), in other rows (a02), added (t01), not transposed (t02).
s|(&b\[kk\])|(\&b[0])|
s|+ beta \* c\.x\[i\]|- beta * c.x[i]|
s|acc\[j\], pair)|acc[j], 1 - pair)|
s|+ 1)); //|+ 2)); //|
s|smem\.a\[i \* BN + j\]|smem.a[j * BN + i]|
