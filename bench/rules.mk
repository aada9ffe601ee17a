# What is measured beside the rungs: variants, parts for energy, rivals, and the model of the rungs that choose.

# A variant is an experiment with a rung: a patch of it, or of the device headers. Both are copied
# to a tree of the variant's own, patched there, and compiled as the rung is. git apply must not take
# the tree for part of a repository.
VARIANTS := $(patsubst bench/variants/%.patch,$(BUILD)/variants/steps/%,$(wildcard bench/variants/*.patch))
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

# These show what ptxas makes of a rung without setmaxnreg, so spills and serialised wgmmas are allowed.
WITHOUT := $(BUILD)/variants/steps/%-no-setmaxnreg.o
$(WITHOUT): PTXAS := -Xptxas -v
$(WITHOUT): REFUSED := ptxas fatal

# A rung's kernel in parts, as the kernels of one step.
ENERGY := $(BUILD)/energy/parts
$(ENERGY).o: bench/energy/parts.cu $(BUILD)/flags
	$(call nvcc,$<,$(NVCC) $(HOPPER) $(DEPS) -MT $@ $(NVCCFLAGS) $(READABLE) -Ibench $(PTXAS) -c $< -o $@)

# The model of the rungs that choose, as a library for bench/fit.py.
MODEL := $(BUILD)/model.so
$(MODEL): bench/model.c $(wildcard common/device/tile_*.h) common/device/grouped_order.h
	@mkdir -p $(@D)
	$(call run,cc $<,$(CC) $(CFLAGS) -fPIC -shared -Icommon $< -o $@ -lm)

# Kernels of other projects to compare with. An adapter in bench/rivals/, named after the project,
# includes its sources from a clone whose folder the user names, and is a program like a rung's: the
# harness makes the operands, checks every word and times it beside cuBLAS.
rivals_of = $(patsubst bench/rivals/%.cu,%,$(wildcard $(foreach p,$(shell tr A-Z_ a-z- <<<$(1)),\
    bench/rivals/[vf]-$p.cu bench/rivals/[vf]-$p-*.cu)))
# A file by which a clone is known.
FAST_CU_HAS := examples/matmul/matmul_12.cuh
THUNDERKITTENS_HAS := kernels/gemm/bf16_h100/bf16_h100_gemm.cu
CUTLASS_HAS := include/cutlass/gemm/collective/collective_builder.hpp
DEEPGEMM_HAS := deep_gemm/include/deep_gemm/impls/sm90_bf16_gemm.cuh
# The flags with which each project compiles its kernels. -isystem: its warnings are not ours.
RELAXED := -DNDEBUG --expt-relaxed-constexpr --expt-extended-lambda
FAST_CU_FLAGS = $(RELAXED) --use_fast_math -isystem $(FAST_CU)
THUNDERKITTENS_FLAGS = $(RELAXED) --use_fast_math -DKITTENS_HOPPER -isystem $(THUNDERKITTENS) \
    -isystem $(THUNDERKITTENS)/include -isystem $(THUNDERKITTENS)/prototype
CUTLASS_FLAGS = $(RELAXED) -diag-suppress 20012 -isystem $(CUTLASS)/include
DEEPGEMM_FLAGS = $(CUTLASS_FLAGS) -isystem $(DEEPGEMM)/deep_gemm/include -Xptxas --register-usage-level=10
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
  $(if $(CUTLASS),,$(if $(DEEPGEMM),$(error DEEPGEMM needs CUTLASS too: say CUTLASS=folder)))
endif
$(foreach r,$(notdir $(RIVALS)),$(call keep,$(RIVALS_IN)/$r.flags,$(call rival_flags,$r)))

# Spills in a rival are allowed.
$(RIVALS:%=%.o): PTXAS := -Xptxas -v
$(RIVALS:%=%.o): REFUSED := ptxas warning
$(RIVALS:%=%.o): $(RIVALS_IN)/steps/%.o: bench/rivals/%.cu $(RIVALS_IN)/%.flags $(BUILD)/flags
	$(call nvcc,$<,$(call compile_rung,$<,$(call rival_flags,$*) $(DEPS) -MT $@))
