# What nvcc builds of the rungs: programs, PTX, standalone files.

PROGRAMS := $(RUNGS:%=$(BUILD)/steps/%)
PTX := $(RUNGS:%=$(BUILD)/ptx/%.ptx)

# Rewritten only if their text has changed, so that what depends on them is rebuilt only then. The
# commit gets +dirty if a program's sources differ from it. Not for verbs that build no program.
ifneq ($(filter-out help list diff diffstat new notes clean,$(or $(firstword $(MAKECMDGOALS)),help)),)
  $(if $(shell mkdir -p $(BUILD) 2>/dev/null && [ -w $(BUILD) ] && echo writable),,$(error $(abspath $(BUILD)) \
      cannot be written: name a directory that can be, with BUILD=))
  HEAD := $(if $(wildcard .git),$(shell git rev-parse --verify --short HEAD 2>/dev/null))
  DIRTY := $(if $(HEAD),$(shell git status --porcelain -- steps common emulator bench/variants bench/energy \
      bench/rivals bench/rules.mk library examples Makefile make 2>/dev/null))
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
CU_OBJECTS := $(patsubst common/%.cu,$(BUILD)/%.cu.o,$(wildcard common/harness/gpu/*.cu))
HARNESS := $(BUILD)/harness/libharness.a
# What cublasLt.h calls the tiles, stages and clusters of its algorithms, by their numbers.
LT_NAMES := $(BUILD)/harness/lt_names.o
$(LT_NAMES): $(BUILD)/flags
	$(need_nvcc)$(call run,cc $(@:.o=.c),echo '#include <cublasLt.h>' | $(CC) $(INCLUDE) -E - | make/lt_names.sh >$(@:.o=.c) && \
	    $(CC) $(CFLAGS) -c $(@:.o=.c) -o $@)
# The quick tuner, which the library has as well.
TUNE := $(BUILD)/harness/tune.o
$(HARNESS): $(C_OBJECTS) $(CU_OBJECTS) $(LT_NAMES) $(TUNE)
$(C_OBJECTS): $(BUILD)/harness/%.o: common/harness/%.c $(BUILD)/flags
	$(need_nvcc)$(call cc,$(INCLUDE) $(DEPS))
$(TUNE): common/tune.c $(BUILD)/flags
	$(call cc,-Icommon $(DEPS))
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

$(PROGRAMS) $(VARIANTS) $(RIVALS) $(ENERGY): %: %.o

STANDALONE := $(RUNGS:%=$(BUILD)/standalone/%.cu)
$(STANDALONE): $(BUILD)/standalone/%.cu: $$(call source_of,$$*) standalone/write.py standalone/main.cu \
    $(wildcard common/step.h common/device/*.* common/formats/*)
	@mkdir -p $(@D)
	$(Q)$(PYTHON) -m standalone.write $< $@

# Compiled by the command that the file itself names, with all warnings.
$(STANDALONE:%.cu=%): %: %.cu $(BUILD)/flags
	$(call nvcc,$<,cd $(@D) && $(NVCC) $(NVCC_WARN) $(PTXAS) $$(sed -n 's|^//     nvcc \(.*\) \&\&.*|\1|p' $(<F)))
