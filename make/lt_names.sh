#!/bin/sh
# What cublasLt.h, which comes preprocessed on stdin, calls the tiles, stages and clusters of its
# algorithms, by their numbers: arrays in C.
header=$(cat)
names() {
    echo "const char *const $1[1024] = {"
    printf '%s\n' "$header" | sed -nE "s/^ *$2_([0-9]+x[0-9AUTOx]+) = ([0-9]+),?\$/[\\2] = \"\\1\",/p"
    echo '};'
}
names lt_tiles CUBLASLT_MATMUL_TILE
names lt_stages CUBLASLT_MATMUL_STAGES
names lt_clusters CUBLASLT_CLUSTER_SHAPE
