# What nvcc builds: rungs, traced rungs, PTX, variants, rivals, parts for energy, standalone files.

# Rewritten only if their text has changed, so that what depends on them is rebuilt only then. The
# commit gets +dirty if a program's sources differ from it.
ifneq ($(filter-out help list diff diffstat standalone compare notes book clean,$(or $(firstword $(MAKECMDGOALS)),help)),)
  HEAD := $(if $(wildcard .git),$(shell git rev-parse --verify --short HEAD 2>/dev/null))
  DIRTY := $(if $(HEAD),$(shell git status --porcelain -- steps common emulator bench/variants bench/energy \
      bench/rivals Makefile make 2>/dev/null))
  COMMIT := $(or $(HEAD),unknown)$(if $(DIRTY),+dirty)
  $(call plain,COMMIT)
  $(keep_emulator_flags)
  $(call keep,$(BUILD)/commit.c,const char gemm_ladder_commit[] = "$(COMMIT)";)
  $(call keep,$(BUILD)/flags,$(CC) $(CXX) $(NVCC) $(CFLAGS) $(HOPPER) $(AMPERE) $(NVCCFLAGS) $(PTXAS) \
      $(READABLE) $(SANITIZE) $(LDLIBS))
  $(call keep,$(BUILD)/emulated-flags,$(CC) $(CXX) $(CFLAGS) $(SANITIZE) $(EMULATOR_FLAGS) $(KERNEL_FLAGS))
endif

# common/harness/ is the same on both machines; gpu/ and emulated/ hold what only one of them has.
HARNESS_BOTH := $(wildcard common/harness/*.c)
HARNESS_C := $(HARNESS_BOTH) $(wildcard common/harness/gpu/*.c)
C_OBJECTS := $(HARNESS_C:common/harness/%.c=$(BUILD)/harness/%.o)
ASAN_OBJECTS := $(HARNESS_C:common/harness/%.c=$(BUILD)/harness-asan/%.o)
CU_OBJECTS := $(patsubst common/%.cu,$(BUILD)/%.cu.o,$(wildcard common/harness/gpu/*.cu))
HARNESS := $(BUILD)/harness/libharness.a
TRACE_MEASURE := $(BUILD)/harness/trace/measure.o $(BUILD)/harness/trace/gpu/listen.o
# What cublasLt.h calls the tiles, stages and clusters of its algorithms, by their numbers.
LT_NAMES := $(BUILD)/harness/lt_names.o
LT_HEADER = echo '\#include <cublasLt.h>' | $(CC) $(INCLUDE) -E -
lt_names = echo 'const char *const $(1)[1024] = {'; $(LT_HEADER) | \
    sed -nE 's/^ *$(2)_([0-9]+x[0-9AUTOx]+) = ([0-9]+),?$$/[\2] = "\1",/p'; echo '};'
$(LT_NAMES): $(BUILD)/flags
	$(need_nvcc)@mkdir -p $(@D); { $(call lt_names,lt_tiles,CUBLASLT_MATMUL_TILE); \
	    $(call lt_names,lt_stages,CUBLASLT_MATMUL_STAGES); \
	    $(call lt_names,lt_clusters,CUBLASLT_CLUSTER_SHAPE); } >$(@:.o=.c)
	$(Q)$(CC) $(CFLAGS) -c $(@:.o=.c) -o $@
$(HARNESS): $(C_OBJECTS) $(CU_OBJECTS) $(LT_NAMES)
$(C_OBJECTS) $(TRACE_MEASURE): $(BUILD)/harness/%.o: common/harness/%.c $(BUILD)/flags
	$(need_nvcc)$(call cc,$(INCLUDE) $(DEPS))
$(ASAN_OBJECTS): $(BUILD)/harness-asan/%.o: common/harness/%.c $(BUILD)/flags
	$(need_nvcc)$(call cc,$(SANITIZE) $(INCLUDE) $(DEPS))
# sm_86 and sm_89 run the SASS of sm_80.
$(CU_OBJECTS): $(BUILD)/%.cu.o: common/%.cu $(BUILD)/flags
	$(call nvcc,$<,$(NVCC) $(call sass_for,80) $(TMA) $(NVCCFLAGS) $(DEPS) -MT $@ -c $< -o $@)
$(BUILD)/commit.o: $(BUILD)/commit.c
	$(Q)$(CC) $(CFLAGS) -c $< -o $@

# $(call compile_rung,SOURCE,MORE FLAGS). $* begins with the rung.
compile_rung = $(NVCC) $(call arch_of,$*) $(2) $(NVCCFLAGS) $(PTXAS) -c $(1) -o $@
# With the object comes the PTX of the oldest GPU that the rung is for. Where one is missing, both are made.
KEPT = $(BUILD)/ptx/$*-kept
$(PROGRAMS:%=%.o): $(BUILD)/steps/%.o: $$(call source_of,$$*) $(BUILD)/flags \
    $$(if $$(wildcard $(BUILD)/ptx/$$*.ptx),,always)
	@mkdir -p $(KEPT)
	$(call nvcc,$<,$(call compile_rung,$<,$(DEPS) -MT $@ --keep --keep-dir $(KEPT)))
	$(Q)mv $(KEPT)/*$(if $(filter a%,$*),80,$(if $(filter t%,$*),90)).ptx $(BUILD)/ptx/$*.ptx; \
	touch $(BUILD)/ptx/$*.ptx; rm -r $(KEPT)
$(PTX): $(BUILD)/ptx/%.ptx: $(BUILD)/steps/%.o ;
.PHONY: always

# A traced rung is the rung's source after a header that replaces the functions that it calls. The four
# warps of a warpgroup do the same work: one of them is traced.
TRACE_FLAGS = -include trace/hooks.cuh \
    -DTRACE_WARPS=$(if $(shell grep -lE 'device/wgmma(_e4m3)?\.cuh' $(SOURCE)),4,1) \
    -DTRACE_NEVER_WAITS=$(if $(shell grep -lE '__syncthreads|cluster_sync' $(SOURCE)),0,1)
# Where a rung has no register left, tracing may spill a word or two.
$(TRACED_PROGRAMS:%=%.o): PTXAS := -Xptxas -v
$(TRACED_PROGRAMS:%=%.o): REFUSED := C75[0-9][0-9]
$(TRACED_PROGRAMS:%=%.o): $(BUILD)/trace/steps/%.o: $$(call source_of,$$*) $(BUILD)/flags
	$(call nvcc,$< (traced),$(call compile_rung,$<,$(TRACE_FLAGS) $(DEPS) -MT $@))

# A variant is an experiment with a rung: a patch of it, or of the device headers. Both are copied
# to a tree of the variant's own, patched there, and compiled as the rung is. git apply must not take
# the tree for part of a repository.
VARIANT_RUNG = $(call source_of,$(firstword $(subst -, ,$*)))
VARIANT_TREE = $(BUILD)/variants/tree-$*
$(VARIANTS:%=%.o): $(BUILD)/variants/steps/%.o: bench/variants/%.patch $$(VARIANT_RUNG) \
    common/step.h $(wildcard common/device/*.*) $(BUILD)/flags
	$(Q)rm -rf $(VARIANT_TREE) $@; mkdir -p $(VARIANT_TREE)/steps $(VARIANT_TREE)/common; \
	cp $(VARIANT_RUNG) $(VARIANT_TREE)/steps; cp -r common/device $(VARIANT_TREE)/common; \
	GIT_CEILING_DIRECTORIES=$(abspath $(BUILD)/variants) \
	    git -C $(VARIANT_TREE) apply --whitespace=nowarn $(abspath $<)
	$(call nvcc,$<,$(call \
	    compile_rung,$(VARIANT_TREE)/steps/$(notdir $(VARIANT_RUNG)),-I$(VARIANT_TREE)/common))

# A rung's kernel in parts, as the kernels of one step.
ENERGY_RUNG := v16
ENERGY := $(BUILD)/energy/parts
$(ENERGY).o: bench/energy/parts.cu $(BUILD)/flags
	$(call nvcc,$<,$(NVCC) $(HOPPER) $(DEPS) -MT $@ $(NVCCFLAGS) $(READABLE) -Ibench $(PTXAS) -c $< -o $@)

# The model of the rungs that choose, as a library for bench/fit.py.
MODEL := $(BUILD)/model.so
$(MODEL): bench/model.c common/device/tile_choice.h
	@mkdir -p $(@D)
	$(call run,cc $<,$(CC) $(CFLAGS) -fPIC -shared -Icommon $< -o $@ -lm)

# Kernels of other projects to compare with. An adapter in bench/rivals/, named after the project,
# includes its sources from a clone whose folder the user names, and is a program like a rung's: the
# harness makes the operands, checks every word and times it beside cuBLAS.
rivals_of = $(patsubst bench/rivals/%.cu,%,$(wildcard $(foreach p,$(shell tr A-Z_ a-z- <<<$(1)),\
    bench/rivals/[vaf]-$p.cu bench/rivals/[vaf]-$p-*.cu)))
# A file by which a clone is known.
FAST_CU_HAS := examples/matmul/matmul_12.cuh
THUNDERKITTENS_HAS := kernels/gemm/bf16_h100/bf16_h100_gemm.cu
CUTLASS_HAS := include/cutlass/gemm/collective/collective_builder.hpp
DEEPGEMM_HAS := deep_gemm/include/deep_gemm/impls/sm90_bf16_gemm.cuh
CUTE_GEMM_HAS := gemm-multi-stage.cu
# The flags with which each project compiles its kernels. -isystem: its warnings are not ours.
RELAXED := -DNDEBUG --expt-relaxed-constexpr --expt-extended-lambda
FAST_CU_FLAGS = $(RELAXED) --use_fast_math -isystem $(FAST_CU)
THUNDERKITTENS_FLAGS = $(RELAXED) --use_fast_math -DKITTENS_HOPPER -isystem $(THUNDERKITTENS) \
    -isystem $(THUNDERKITTENS)/include -isystem $(THUNDERKITTENS)/prototype
CUTLASS_FLAGS = $(RELAXED) -diag-suppress 20012 -isystem $(CUTLASS)/include
DEEPGEMM_FLAGS = $(CUTLASS_FLAGS) -isystem $(DEEPGEMM)/deep_gemm/include -Xptxas --register-usage-level=10
CUTE_GEMM_FLAGS = $(CUTLASS_FLAGS) -isystem $(CUTE_GEMM)
RIVALS_IN := $(BUILD)/rivals
GIVEN_PEERS := $(strip $(foreach p,$(PEERS),$(if $($p),$p)))
RIVALS := $(foreach p,$(GIVEN_PEERS),$(patsubst %,$(RIVALS_IN)/steps/%,$(call rivals_of,$p)))
# The commit of a clone, if the folder is its root: git would also name a surrounding clone's commit.
root_commit = $(if $(word 2,$(1)),,$(strip $(1)))
commit_of = $(if $(wildcard $($1)/$($1_HAS)),$(call \
    root_commit,$(shell git -C '$($1)' rev-parse --show-prefix --short HEAD 2>/dev/null)))
# $(call rival_flags,RIVAL)
rival_flags = $(foreach p,$(GIVEN_PEERS),$(if $(filter $1,$(call rivals_of,$p)),\
    $($p_FLAGS) -DPEER_COMMIT='"$(call commit_of,$p)"'))
ifneq ($(call requested,rivals),)
  $(if $(GIVEN_PEERS),,$(error which clones? Say `make rivals` with one or more of $(PEERS:%=%=folder)))
  $(foreach p,$(GIVEN_PEERS),$(if $(call commit_of,$p),,\
      $(error $p=$($p) is no clone with $($p_HAS) and a commit in it)))
  $(foreach p,$(if $(CUTLASS),,$(filter DEEPGEMM CUTE_GEMM,$(GIVEN_PEERS))),\
      $(error $p needs CUTLASS too: say CUTLASS=folder))
endif
$(foreach r,$(notdir $(RIVALS)),$(call keep,$(RIVALS_IN)/$r.flags,$(call rival_flags,$r)))

# Spills in a rival are allowed.
$(RIVALS:%=%.o): PTXAS := -Xptxas -v
$(RIVALS:%=%.o): REFUSED := ptxas warning
$(RIVALS:%=%.o): $(RIVALS_IN)/steps/%.o: bench/rivals/%.cu $(RIVALS_IN)/%.flags $(BUILD)/flags
	$(call nvcc,$<,$(call compile_rung,$<,$(call rival_flags,$*) $(DEPS) -MT $@))

# These objects take the place of the harness' measure.o.
$(TRACED_PROGRAMS): $(TRACE_MEASURE)
$(PROGRAMS) $(VARIANTS) $(RIVALS) $(TRACED_PROGRAMS) $(ENERGY): %: %.o

STANDALONE := $(RUNGS:%=$(BUILD)/standalone/%.cu)
$(STANDALONE): $(BUILD)/standalone/%.cu: $$(call source_of,$$*) standalone/write.py \
    $(wildcard standalone/*.cu) common/step.h LICENSE
	@mkdir -p $(@D)
	$(Q)$(PYTHON) -m standalone.write $< $@ $@.d

# Compiled by the command that the file itself names, with all warnings.
$(STANDALONE:%.cu=%): %: %.cu $(BUILD)/flags
	$(call nvcc,$<,cd $(@D) && $(NVCC) $(NVCC_WARN) $(PTXAS) $$(sed -n 's|^//     nvcc ||p' $(<F)))
