# gemm-ladder's front door: `make` alone prints the verbs.
#
# Everything built goes to build/, or where BUILD= says. V=1 shows the commands. Variables that may
# be set:
#   N=7         the rung (7, 07, v7 or v07); `make step 7` says the same. `standalone` takes N=all
#   EMULATE=1   `step`, `trace` and `ladder` run on the emulator, a CPU; 0: on a GPU. Unless it is
#               set, on a GPU if there are one and nvcc
#   TRACK, SIZES, PROTOCOL   what `ladder` measures: TRACK=v|a|t|all, SIZES=8192,4096x14336x4096 or
#               squares, models or all, PROTOCOL=burst|sustained|both|call
#   OLD, NEW    the recorded files that `compare` compares
#   FAST_CU, THUNDERKITTENS, CUTLASS, DEEPGEMM, CUTE_GEMM   the clones that `rivals` builds from
#   RESULTS=... what `plots` draws: one recorded file, or two with a comma between
#   ARGS="..."  shell words for the program or script that the verb runs
#   CUDA_HOME   where the CUDA Toolkit is, if its nvcc is not on PATH
#   GPU_DEVICES a GPU's device file, if it is none of /dev/nvidia* and /dev/dxg
#   COMMIT      what the programs report as their commit, if git cannot tell

HERE := $(realpath $(dir $(lastword $(MAKEFILE_LIST))))
ifneq ($(HERE),$(realpath .))
  $(error run make in the Makefile's own directory: say make -C $(HERE) $(MAKECMDGOALS) $(MAKEOVERRIDES))
endif

SHELL := bash
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SECONDEXPANSION:
.SUFFIXES:

BUILD := build
STEPS := steps
Q := $(if $(V),,@)

# These become parts of commands without quotes: each must be one word that the shell takes as it is.
PEERS := FAST_CU THUNDERKITTENS CUTLASS DEEPGEMM CUTE_GEMM
UNSAFE := ' " ` ; & | < > ( ) { } [ ] * ? ! \ $$ \#
define NEWLINE


endef
# A newline would end the recipe's line, quotes or not.
quoted = '$(subst ','\'',$(subst $(NEWLINE), ,$(1)))'
unsafe = $(strip $(foreach c,$(UNSAFE),$(findstring $c,$(1))))$(filter-out 0 1,$(words $(1)))
plain = $(if $(call unsafe,$(subst $(NEWLINE),;,$($(1)))),$(error $(1)=$(strip $($(1))): it must be one word \
    without quotes and other characters of the shell's))
$(foreach v,BUILD STEPS CUDA_HOME $(PEERS),$(call plain,$v))

# ---------------------------------------------------------------- tools

CC := gcc
CXX := g++
PYTHON := python3
CUDA_HOME ?= /usr/local/cuda
NVCC := $(firstword $(shell command -v nvcc) $(wildcard $(CUDA_HOME)/bin/nvcc))
CUDA_ROOT := $(or $(patsubst %/bin/nvcc,%,$(filter %/bin/nvcc,$(realpath $(NVCC)))),$(CUDA_HOME))
CUDA_LIB := $(firstword $(wildcard $(CUDA_ROOT)/lib64 $(CUDA_ROOT)/lib) $(CUDA_ROOT)/lib64)
CUDA_TOOL_PATH := $(CUDA_ROOT)/bin:$(CUDA_ROOT)/compute-sanitizer

TOOLKIT := the CUDA Toolkit 12.8 or later (https://developer.nvidia.com/cuda-downloads), or say \
    where it is with CUDA_HOME=
# $(call need,TOOL) is where a tool of the toolkit is; without it make stops with one line.
need = $(or $(shell PATH="$$PATH:$(CUDA_TOOL_PATH)" command -v $(1)),$(call missing,$(1)))
missing = $(error $(1) was not found on PATH or under CUDA_HOME ($(CUDA_HOME)): install $(TOOLKIT))
need_nvcc = $(if $(NVCC),,$(call missing,nvcc))
need_gpu = $(if $(GPU_DEVICES),,$(error no GPU was found (/dev/nvidia0, /dev/dxg), and this verb needs one; \
    step, races, trace and ladder run on a CPU with EMULATE=1))
need_python = $(if $(shell command -v $(PYTHON)),,$(error $(PYTHON) was not found: install Python 3.9 \
    or later, or name it with PYTHON=))
need_gcc = $(if $(shell command -v $(CC)),,$(error $(CC) was not found: install gcc, or name it with CC=))
# clang++ does not know this option, nor flags that the emulator depends on.
GXX_VERSION = $(firstword $(subst ., ,$(shell $(CXX) -dumpfullversion 2>/dev/null)))
need_gxx = $(if $(filter-out 1 2 3 4 5 6 7 8 9 10 11,$(GXX_VERSION)),,$(error $(CXX) is no g++ 12 or \
    later, which the emulator needs: install g++, or name it with CXX=))

# The machine that `step`, `trace` and `ladder` run on. /dev/dxg is the GPU of a Linux inside Windows.
GPU_DEVICES := $(wildcard /dev/nvidia[0-9]* /dev/dxg)
EMULATE ?= $(if $(and $(NVCC),$(GPU_DEVICES)),0,1)
ifeq ($(filter 0 1,$(EMULATE)),)
  $(error EMULATE=$(EMULATE): it is 1 for the emulator or 0 for a GPU)
endif
EMULATED := $(filter 1,$(EMULATE))

# ---------------------------------------------------------------- flags

# What wgmma and TMA need runs on sm_90a alone. The Ampere track and the harness run on everything
# from sm_80 on; what is newer than sm_90 translates its PTX.
HOPPER := -gencode=arch=compute_90a,code=sm_90a
AMPERE := $(foreach sm,80 86 89,-gencode=arch=compute_$(sm),code=sm_$(sm)) \
    -gencode=arch=compute_90,code=[sm_90,compute_90]
# An experiment with an Ampere rung is machine code for one GPU, and translated by all others.
AMPERE_VARIANT := -gencode=arch=compute_80,code=compute_80 -gencode=arch=compute_90,code=sm_90
# $(call arch_of,RUNG or VARIANT)
arch_of = $(if $(filter a%,$(1)),$(if $(findstring -,$(1)),$(AMPERE_VARIANT),$(AMPERE)),$(HOPPER))
WARN := -Wall -Wextra
# A rung names the fields of its step record that it needs; the others are 0.
RUNG_WARN := -Wno-missing-field-initializers
INCLUDE := -Icommon -isystem $(CUDA_ROOT)/include
CFLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -g $(WARN) -Wpedantic -Werror
NVCCFLAGS := -std=c++20 -O3 -lineinfo -Werror all-warnings -Icommon \
    -Xcompiler -Wall,-Wextra,-Werror,$(RUNG_WARN)
PTXAS := -Xptxas -v,-warn-spills
# tests/energy_code.py reads the machine code in the object.
READABLE := --no-compress
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# Nothing links libcuda: a program must start on a machine that has no driver.
LDLIBS := -L$(CUDA_LIB) -Wl,-rpath,$(CUDA_LIB) -lcudart_static -lcublas -lcublasLt -lpthread -ldl -lrt -lm \
    -lstdc++
# The emulator is a program in C++ that knows no CUDA. What it runs is compiled with
# -fsanitize=thread, so that the compiler announces every load and store; without libtsan the
# emulator itself listens to them. No pass may join neighbouring accesses or take a 16-byte one apart:
# bank conflicts are counted by them. The emulator's own cuda_runtime.h and the like stand before any
# others, and common/emulator/device/ before common/device/.
EMULATOR_INCLUDE := -Icommon -isystem common/emulator/include
EMULATOR_FLAGS := -std=c++20 -O3 -g1 $(WARN) -Werror -fno-strict-aliasing \
    -fno-tree-loop-distribute-patterns $(EMULATOR_INCLUDE)
KERNEL_FLAGS := -std=c++20 -O2 -g $(WARN) -Werror $(RUNG_WARN) -Wno-unknown-pragmas -Wno-psabi \
    -fsanitize=thread \
    -fno-tree-vectorize -fno-tree-slp-vectorize -fno-store-merging -fno-tree-sra \
    -fno-strict-aliasing -Icommon/emulator $(EMULATOR_INCLUDE)
# Lists what an object was made from beside it, so that a header rebuilds what includes it.
DEPS = -MMD -MP -MF $@.d
# The same with the headers of -isystem: the emulator's are among them.
ALL_DEPS = -MD -MP -MF $@.d

# ---------------------------------------------------------------- rungs

TRACKS := v a t
SOURCES := $(foreach track,$(TRACKS),$(sort $(wildcard $(STEPS)/$(track)*.cu)))
rung_name = $(firstword $(subst _, ,$(basename $(notdir $(1)))))
RUNGS := $(foreach s,$(SOURCES),$(call rung_name,$(s)))
source_of = $(firstword $(wildcard $(STEPS)/$(1)_*.cu $(STEPS)/$(1).cu))
ifneq ($(words $(RUNGS)),$(words $(sort $(RUNGS))))
  $(error two files in $(STEPS)/ have the same rung number: $(RUNGS))
endif

PROGRAMS := $(RUNGS:%=$(BUILD)/steps/%)
PTX := $(RUNGS:%=$(BUILD)/ptx/%.ptx)
EMULATED_PROGRAMS := $(RUNGS:%=$(BUILD)/emulated/%)
TRACED_PROGRAMS := $(RUNGS:%=$(BUILD)/trace/steps/%)
EMULATED_TRACED_PROGRAMS := $(RUNGS:%=$(BUILD)/trace/emulated/%)
RACE_PROGRAMS := $(RUNGS:%=$(BUILD)/races/%)
VARIANTS := $(patsubst bench/variants/%.patch,$(BUILD)/variants/steps/%,\
    $(sort $(wildcard bench/variants/*.patch)))

# The word after one of these verbs is the rung, unless N= names it: `make step 7`.
VERBS_ON_A_RUNG := step races trace diff standalone sass resources sanitize
VERBS := help $(VERBS_ON_A_RUNG) diffstat list ladder energy record compare emulated variants \
    rivals plots notes book test format clean
VERB := $(firstword $(filter $(VERBS_ON_A_RUNG),$(MAKECMDGOALS)))
ifneq ($(VERB),)
  WORD := $(filter-out $(VERBS),$(word 2,$(MAKECMDGOALS)))
  ifneq ($(WORD),)
    N := $(WORD)
    .PHONY: $(WORD)
    $(WORD): ; @:
  endif
  ifeq ($(strip $(N)),)
    $(error which rung? Say for example `make $(VERB) N=7`; the rungs are $(RUNGS))
  endif
  # 7, 07, v7 and v07 are one rung. A % would match anything in filter: it is no rung.
  pad = $(foreach t,$(TRACKS),$(patsubst $(t)%,$(t)0%,$(filter $(t)%,$(1))))
  ifeq ($(words $(N))$(findstring %,$(N)),1)
    RUNG := $(firstword $(filter $(N) v$(N) v0$(N) $(call pad,$(N)),$(RUNGS)))
  endif
  ifeq ($(VERB)-$(strip $(N)),standalone-all)
    RUNG := $(RUNGS)
  endif
  ifeq ($(RUNG),)
    $(error there is no rung "$(N)"; the rungs are $(RUNGS))
  endif
  # The rung below: the one that its step record names, or the one before it on its own track.
  SAME_TRACK := $(foreach t,$(TRACKS),$(if $(filter $(t)%,$(RUNG)),$(filter $(t)%,$(RUNGS))))
  NUMBERED_BELOW := $(shell printf '%s\n' $(SAME_TRACK) | sed '/^$(RUNG)$$/,$$d' | tail -n 1)
  NAMED_BELOW := $(shell sed -n 's/^ *\.below = "\(.*\)",$$/\1/p' $(foreach r,$(RUNG),$(call source_of,$(r))))
  BELOW := $(or $(firstword $(NAMED_BELOW)),$(NUMBERED_BELOW))
endif

# ---------------------------------------------------------------- verbs

.PHONY: $(VERBS) rungs probes choices test-programs

help:
	@printf '%s\n' \
	  'make step N=7        build rung 7, check it and time it (ARGS="--size 4096" for more);' \
	  '                     without a GPU, or with EMULATE=1: check it on the emulator' \
	  'make races N=7       run rung 7 on the emulator under ThreadSanitizer' \
	  'make trace N=7       write down what the warps of one CTA do, and when: for Perfetto or' \
	  '                     chrome://tracing, and for a picture (ARGS="--cta 5 --k 512" for more)' \
	  'make diff N=7        what changed from the rung that it grows from' \
	  'make diffstat        how many lines changed, rung by rung' \
	  'make standalone N=7  write rung 7 as one file that nvcc compiles alone, in build/standalone/;' \
	  '                     N=all writes every rung' \
	  'make list            the rungs, and the idea of each' \
	  'make ladder          run all rungs and record the result; on the emulator check them and' \
	  '                     record counts. TRACK=v|a|t|all SIZES=8192,4096x14336x4096 (or squares,' \
	  '                     models, all) PROTOCOL=burst|sustained|both|call' \
	  'make energy          run $(ENERGY_RUNG) in parts, and record what each takes by the energy counter' \
	  'make record          record all that the pages quote (ARGS=--list says what)' \
	  'make compare OLD=a.json NEW=b.json   two recorded runs, rung by rung; names regressions' \
	  'make emulated        build all rungs for the emulator' \
	  'make variants        build the experiments of bench/variants' \
	  'make rivals CUTLASS=folder   build the kernels of other projects that bench/rivals has' \
	  '                     adapters for; also FAST_CU= THUNDERKITTENS= DEEPGEMM= CUTE_GEMM=' \
	  'make plots           draw the recorded results into plots/, and what lies where into plots/ideas/;' \
	  '                     RESULTS=a.json,b.json lays two runs side by side, in build/plots/' \
	  'make notes           fill notes/ and the README from the recorded results' \
	  'make book            the whole as a site of static pages: build/book/index.html' \
	  'make test            run every test that this machine can run' \
	  'make sass N=7        the machine code of rung 7' \
	  'make resources N=7   its registers, shared memory, stack and spills' \
	  'make sanitize N=7    run it under compute-sanitizer' \
	  'make format          format the sources in place' \
	  'make clean           remove build/'

# Builds on all cores, unless make was given a -j of its own.
parallel = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 2))
# The same, and says nothing if there is nothing to build.
quietly_parallel = --no-print-directory $(if $(V),,-s) $(parallel)

# $(call build,TARGETS) does so. A terminal shows in one line how far it is, a log what is built.
define build
	+@if [ -t 1 ] && [ -z '$(V)$(findstring n,$(firstword -$(MAKEFLAGS)))' ]; then \
	    all=$$($(MAKE) -n $(1) 2>/dev/null | grep -cE "^(mkdir.*; )?echo '"); set -o pipefail; \
	    $(MAKE) $(quietly_parallel) $(1) | awk -v all=$$all \
	        '{ printf "\r\033[K%d/%d %s ", NR, all, $$0; fflush() } END { if (NR) printf "\r\033[K" }'; \
	else \
	    $(MAKE) $(quietly_parallel) $(1); \
	fi
endef

ifeq ($(EMULATED),)
step: $(BUILD)/steps/$(RUNG)
	@$< $(ARGS)
else
step:
	$(call build,$(EMULATOR) $(BUILD)/emulated/$(RUNG))
	@$(BUILD)/emulated/$(RUNG) $(ARGS)
endif

# Without random addresses, where that can be had: older ThreadSanitizers do not start if Linux draws
# many bits of them.
SETARCH = setarch $(shell uname -m) -R
NO_RANDOM_ADDRESSES = $(shell $(SETARCH) true 2>/dev/null && echo '$(SETARCH)')
races:
	$(call build,$(BUILD)/races/$(RUNG))
	@$(NO_RANDOM_ADDRESSES) $(BUILD)/races/$(RUNG) $(ARGS)

# The program that traces is one of its own; the script behind it needs Python and nothing else.
TRACED := $(BUILD)/trace/$(if $(EMULATED),emulated,steps)/$(RUNG)
trace:
	$(call build,$(TRACED))
	@$(PYTHON) -m bench.trace $(TRACED) --out $(BUILD)/trace $(ARGS)

# The rung's own opening comment, whole, and then what changed below it, word by word: coloured on a
# terminal; elsewhere, and with NO_COLOR=1, the words are marked with [- -] and {+ +} instead.
DIFF_WORD := [A-Za-z0-9_.]+|[^[:space:]]
DIFF_FILES = $(BELOW)/$(notdir $(call source_of,$(BELOW))) $(RUNG)/$(notdir $(call source_of,$(RUNG)))
diff:
ifeq ($(BELOW),)
	@echo 'There is nothing below $(RUNG): it is the first rung.'
else
	@echo '$(BELOW) -> $(RUNG)'
	@sed '/^#include/,$$d' $(call source_of,$(RUNG))
	@rm -rf $(BUILD)/diff; for file in $(DIFF_FILES); do \
	    mkdir -p $(BUILD)/diff/$${file%/*}; \
	    sed '/^#include/,$$!d' steps/$${file#*/} >$(BUILD)/diff/$$file; \
	done
	@cd $(BUILD)/diff; words=plain; [ -t 1 ] && words=$(if $(NO_COLOR),plain,color); \
	if command -v git >/dev/null; then \
	    git --no-pager diff --no-index --no-ext-diff --no-prefix --word-diff=$$words \
	        --word-diff-regex='$(DIFF_WORD)' $(ARGS) $(DIFF_FILES); \
	else \
	    diff -u --color=$(if $(NO_COLOR),never,auto) $(ARGS) $(DIFF_FILES); \
	fi; [ $$? -le 1 ]
endif

# Says how each file is compiled, as its first comment does.
standalone: $(RUNG:%=$(BUILD)/standalone/%.cu)
	@for file in $^; do sed -n "s|^//     nvcc|$$file: nvcc|p" $$file; done

diffstat:
	@$(PYTHON) tests/diff_budget.py --table

# The idea is the string after the rung's own name in its step record.
list:
	@for source in $(SOURCES); do \
	    rung=$${source##*/}; rung=$${rung%%[_.]*}; \
	    idea=$$(tr '\n' ' ' <"$$source" | sed -nE "s/.*\"$$rung\",[^\"]*\"([^\"]*)\".*/\1/p"); \
	    printf '%s  %s\n' "$$rung" "$${idea:-(no idea in its step record)}"; \
	done

option = $(if $(2),--$(1) $(call quoted,$(2)))
LADDER = $(PYTHON) -m bench.$(if $(EMULATED),emulated_)ladder $(call option,track,$(TRACK)) \
    $(call option,sizes,$(SIZES)) $(call option,protocol,$(PROTOCOL)) \
    $(call option,build,$(filter-out build,$(BUILD))) $(ARGS)
ladder:
	$(call build,$(if $(EMULATED),emulated,rungs))
	@$(LADDER)

ifneq ($(filter compare,$(MAKECMDGOALS)),)
  ifeq ($(and $(OLD),$(NEW)),)
    $(error which two files? Say `make compare OLD=a.json NEW=b.json`)
  endif
endif
# What the pages quote, or a list of it: a program for each run, one after the other.
record:
	$(if $(LISTED),,$(call build,rungs variants $(ENERGY)))
	@$(PYTHON) -m bench.record $(ARGS)

compare:
	@$(PYTHON) -m bench.records.compare $(call quoted,$(OLD)) $(call quoted,$(NEW)) $(ARGS)

# What lies where is not recorded but asked of the code; it is drawn if no results are named.
PLOTS_OUT = $(if $(RESULTS)$(shell [ -w plots ] || echo read-only),--out $(BUILD)/plots)
plots: $(BUILD)/venv/plots.stamp
	@$(BUILD)/venv/bin/python -m plots.plot $(call option,results,$(RESULTS)) $(PLOTS_OUT) $(ARGS)
ifeq ($(RESULTS)$(findstring --results,$(ARGS)),)
	$(call build,probes)
	@BUILD=$(BUILD) $(BUILD)/venv/bin/python -m plots.ideas $(PLOTS_OUT) $(ARGS)
endif

notes:
	@$(PYTHON) -m notes.tools.notes_tables $(ARGS)

book: $(BUILD)/venv/book.stamp
	@$(BUILD)/venv/bin/python -m book.make_book --out $(BUILD)/book $(ARGS)

# A program that does not build must not keep the tests from running: run.sh counts it as failed.
test:
	+@$(MAKE) --no-print-directory -k $(parallel) test-programs || \
	    echo 'make: not everything was built; the tests below say what is missing' >&2
	@bash tests/run.sh $(ARGS)

ifeq ($(VERB),sass)
  CUOBJDUMP := $(call need,cuobjdump)
endif
sass: $(BUILD)/steps/$(RUNG).o
	@$(CUOBJDUMP) -sass $(ARGS) $< | c++filt

resources: $(BUILD)/steps/$(RUNG).o
	@c++filt <$(BUILD)/steps/$(RUNG).ptxas.log | awk "$$RESOURCES"

# One tool after the other; all three run even if the first finds something.
SANITIZE_ARGS := --m 256 --n 512 $(if $(filter t%,$(RUNG)),,--k 256)
ifeq ($(VERB),sanitize)
  COMPUTE_SANITIZER := $(call need,compute-sanitizer)
endif
sanitize: $(BUILD)/steps/$(RUNG)
	@status=0; for tool in memcheck racecheck synccheck; do \
	    echo "compute-sanitizer --tool $$tool"; \
	    $(COMPUTE_SANITIZER) --tool $$tool --error-exitcode 1 \
	        $< $(or $(ARGS),$(SANITIZE_ARGS)) --protocol none || status=1; \
	done; exit $$status

format: $(BUILD)/venv/tests.stamp
	$(Q)find $(wildcard steps common bench plots standalone tests) -name '*.[ch]' -o -name '*.cu' -o \
	    -name '*.cuh' -o -name '*.cpp' | xargs $(BUILD)/venv/bin/clang-format -i
	$(Q)$(BUILD)/venv/bin/ruff format -q .
	$(Q)$(BUILD)/venv/bin/ruff check --fix .

clean:
	rm -rf $(BUILD)
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What ptxas -v said, as a table. The log is from the same compilation as the program.
define RESOURCES
/Compiling entry function/ { sub(/.*function ./, ""); sub(/. for ./, " for "); sub(/.$$/, ""); name = $$0 }
/bytes stack frame/        { stack = $$1; stores = $$5; loads = $$9 }
/Used [0-9]+ registers/    {
    match($$0, /[0-9]+ bytes smem/); static_smem = RSTART ? substr($$0, RSTART) + 0 : 0
    match($$0, /[0-9]+ registers/);  registers = substr($$0, RSTART) + 0
    printf "%s\n", name
    printf "  registers per thread    %d\n", registers
    printf "  static shared memory    %d bytes (dynamic shared memory is asked for at launch)\n", static_smem
    printf "  stack                   %d bytes\n", stack
    printf "  spill stores, loads     %d, %d bytes\n", stores, loads
}
endef
export RESOURCES

# ---------------------------------------------------------------- what the verbs need

# It is looked for before anything is built.
LISTED := $(findstring --list,$(ARGS))
ON_GPU := sanitize $(if $(LISTED),,energy record) $(if $(EMULATED),,step trace ladder)
ON_EMULATOR := races emulated test $(if $(RESULTS),,plots) $(if $(EMULATED),step trace ladder)
IN_PYTHON := trace standalone diffstat ladder energy record compare plots notes book test format
requested = $(filter $(1),$(MAKECMDGOALS))
$(if $(call requested,$(IN_PYTHON)),$(need_python))
$(if $(call requested,$(ON_EMULATOR)),$(need_gcc)$(need_gxx))
MISUSE := $(if $(call requested,ladder),$(shell said=$$($(LADDER) --validate 2>&1) || tail -n 1 <<<"$$said"))
$(if $(MISUSE),$(error $(MISUSE)))
$(if $(call requested,$(ON_GPU) variants resources),$(need_nvcc))
$(if $(call requested,$(ON_GPU)),$(need_gpu))
ifneq ($(filter-out help list diffstat compare notes clean,$(or $(MAKECMDGOALS),help)),)
  ifeq ($(shell mkdir -p $(BUILD) 2>/dev/null && [ -w $(BUILD) ] && echo writable),)
    $(error $(abspath $(BUILD)) cannot be written: name a directory that can be, with BUILD=)
  endif
endif

# ---------------------------------------------------------------- files that make writes

# They are rewritten only if their text has changed, so that what depends on them is rebuilt only
# then. The commit has +dirty if what the programs are made of differs from it.
ifneq ($(filter-out help list diff diffstat standalone compare notes book clean,$(or $(firstword $(MAKECMDGOALS)),help)),)
  ifneq ($(wildcard .git),)
    HEAD := $(shell git rev-parse --verify --short HEAD 2>/dev/null)
    DIRTY := $(if $(shell git status --porcelain -- steps common bench/variants bench/energy \
        bench/rivals Makefile 2>/dev/null),+dirty)
  endif
  COMMIT := $(or $(HEAD),unknown)$(DIRTY)
  $(call plain,COMMIT)
  COMMIT_C := const char gemm_ladder_commit[] = "$(COMMIT)";
  FLAGS := $(CC) $(CXX) $(NVCC) $(CFLAGS) $(HOPPER) $(AMPERE) $(NVCCFLAGS) $(PTXAS) $(READABLE) $(SANITIZE) $(LDLIBS)
  EMULATED_FLAGS := $(CC) $(CXX) $(CFLAGS) $(SANITIZE) $(EMULATOR_FLAGS) $(KERNEL_FLAGS)
  # $(call keep,FILE,TEXT)
  keep = $(if $(call differ,$(file <$(1)),$(2)),$(shell mkdir -p $(BUILD))$(file >$(1),$(2)))
  differ = $(if $(subst x$(1),,x$(2))$(subst x$(2),,x$(1)),differ)
  $(call keep,$(BUILD)/commit.c,$(COMMIT_C))
  $(call keep,$(BUILD)/flags,$(FLAGS))
  $(call keep,$(BUILD)/emulated-flags,$(EMULATED_FLAGS))
endif

# ---------------------------------------------------------------- rungs and harness

# common/harness/ is the same on both machines; what only one of them has is in gpu/ and emulated/.
HARNESS_BOTH := $(wildcard common/harness/*.c)
HARNESS_C := $(HARNESS_BOTH) $(wildcard common/harness/gpu/*.c)
HARNESS_CU := $(wildcard common/harness/gpu/*.cu)
C_OBJECTS := $(HARNESS_C:common/harness/%.c=$(BUILD)/harness/%.o)
CU_OBJECTS := $(HARNESS_CU:common/harness/%.cu=$(BUILD)/harness/%.cu.o)
ASAN_OBJECTS := $(HARNESS_C:common/harness/%.c=$(BUILD)/harness-asan/%.o)
HARNESS := $(BUILD)/harness/libharness.a
TRACE_MEASURE := $(BUILD)/harness/trace/measure.o $(BUILD)/harness/trace/gpu/listen.o

rungs: $(PROGRAMS)

# A rung with a warning, a spill, an array in local memory (a stack frame) or ptxas' C75xx (wgmma
# serialised, setmaxnreg ignored) is slow or wrong in a way that nothing else shows: it is no program
# at all.
REFUSED := warning|C75[0-9][0-9]|[1-9][0-9]* bytes (spill|stack)

# $(call refuse_by_log,COMMAND) makes the file $@, or no file and an error. The log is beside it.
define refuse_by_log
log=$(@:.o=).ptxas.log; rm -f $@; \
	if ! ($(1)) >$$log 2>&1; then \
	    cat $$log >&2; rm -f $@; exit 1; \
	elif grep -E '$(REFUSED)' $$log >&2; then \
	    echo '$<: refused for the lines above (all of it in '$$log')' >&2; rm -f $@; exit 1; \
	fi
endef

# $(call compile_rung,SOURCE,MORE FLAGS) makes the object $@ likewise. $* begins with the rung.
compile_rung = $(call refuse_by_log,$(NVCC) $(call arch_of,$*) $(2) $(NVCCFLAGS) $(PTXAS) -c $(1) -o $@)

$(PROGRAMS:%=%.o): $(BUILD)/steps/%.o: $$(call source_of,$$*) $(BUILD)/flags
	$(need_nvcc)
	@mkdir -p $(@D); echo 'nvcc $<'
	$(Q)$(call compile_rung,$<,$(DEPS) -MT $@)

$(PROGRAMS) $(VARIANTS): %: %.o $(HARNESS) $(BUILD)/commit.o
	@echo 'link $@'
	$(Q)$(CXX) -o $@ $^ $(LDLIBS)

# A traced rung is the rung's source behind a header that gives other functions to the names that it
# calls. The warps of a warpgroup do the same: one of the four is traced.
TRACE_FLAGS = -include trace/hooks.cuh \
    -DTRACE_WARPS=$(if $(shell grep -l 'device/wgmma\.cuh' $(call source_of,$*)),4,1) \
    -DTRACE_NEVER_WAITS=$(if $(shell grep -lE '__syncthreads|cluster_sync' $(call source_of,$*)),0,1)
# Where a rung has no register left, what is added to it may spill a word or two.
$(TRACED_PROGRAMS:%=%.o): PTXAS := -Xptxas -v
$(TRACED_PROGRAMS:%=%.o): REFUSED := warning|C75[0-9][0-9]
$(TRACED_PROGRAMS:%=%.o): $(BUILD)/trace/steps/%.o: $$(call source_of,$$*) $(BUILD)/flags
	$(need_nvcc)
	@mkdir -p $(@D); echo 'nvcc $< (traced)'
	$(Q)$(call compile_rung,$<,$(TRACE_FLAGS) $(DEPS) -MT $@)

# What stands before the harness takes the place of its measure.o.
$(TRACED_PROGRAMS): %: %.o $(TRACE_MEASURE) $(HARNESS) $(BUILD)/commit.o
	@echo 'link $@'
	$(Q)$(CXX) -o $@ $^ $(LDLIBS)

$(PTX): $(BUILD)/ptx/%.ptx: $$(call source_of,$$*) $(BUILD)/flags
	$(need_nvcc)
	@mkdir -p $(@D); echo 'nvcc -ptx $<'
	$(Q)$(NVCC) -arch=compute_$(if $(filter a%,$*),80,90a) $(NVCCFLAGS) $(DEPS) -MT $@ -ptx $< -o $@

# A variant is an experiment with a rung: a patch of it, or of the device headers. Both are copied
# to a tree of the variant's own, patched there, and compiled as the rung is. The tree is no place
# for git apply to look for a repository.
variants: $(VARIANTS)

VARIANT_RUNG = $(call source_of,$(firstword $(subst -, ,$*)))
VARIANT_TREE = $(BUILD)/variants/tree-$*
$(VARIANTS:%=%.o): $(BUILD)/variants/steps/%.o: bench/variants/%.patch $$(VARIANT_RUNG) \
    common/step.h $(wildcard common/device/*) $(BUILD)/flags
	$(need_nvcc)
	@mkdir -p $(@D); echo 'nvcc $<'
	$(Q)rm -rf $(VARIANT_TREE); mkdir -p $(VARIANT_TREE)/steps $(VARIANT_TREE)/common; \
	cp $(VARIANT_RUNG) $(VARIANT_TREE)/steps; cp -r common/device $(VARIANT_TREE)/common; \
	GIT_CEILING_DIRECTORIES=$(abspath $(BUILD)/variants) \
	    git -C $(VARIANT_TREE) apply --whitespace=nowarn $(abspath $<) || { rm -f $@; exit 1; }
	$(Q)$(call compile_rung,$(VARIANT_TREE)/steps/$(notdir $(VARIANT_RUNG)),-I$(VARIANT_TREE)/common)

$(HARNESS): $(C_OBJECTS) $(CU_OBJECTS)
	$(Q)rm -f $@; ar rcs $@ $^

$(C_OBJECTS) $(TRACE_MEASURE): $(BUILD)/harness/%.o: common/harness/%.c $(BUILD)/flags
	$(need_nvcc)
	@mkdir -p $(@D); echo 'cc $<'
	$(Q)$(CC) $(CFLAGS) $(INCLUDE) $(DEPS) -c $< -o $@

$(CU_OBJECTS): $(BUILD)/harness/%.cu.o: common/harness/%.cu $(BUILD)/flags
	$(need_nvcc)
	@mkdir -p $(@D); echo 'nvcc $<'
	$(Q)$(NVCC) $(AMPERE) $(NVCCFLAGS) $(DEPS) -MT $@ -c $< -o $@

$(ASAN_OBJECTS): $(BUILD)/harness-asan/%.o: common/harness/%.c $(BUILD)/flags
	$(need_nvcc)
	@mkdir -p $(@D); echo 'cc -fsanitize $<'
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(INCLUDE) $(DEPS) -c $< -o $@

$(BUILD)/commit.o: $(BUILD)/commit.c
	$(Q)$(CC) $(CFLAGS) -c $< -o $@

# ---------------------------------------------------------------- the energy budget

# A rung's kernel in parts, linked with the rung itself: its main() calls the step_main() of
# bench/energy/energy.c.
ENERGY_RUNG := v16
ENERGY := $(BUILD)/energy/parts
ENERGY_C := $(patsubst bench/%.c,$(BUILD)/%.o,$(wildcard bench/energy/*.c))

energy: $(ENERGY)
	@$(PYTHON) -m bench.energy.measure --program $< $(ARGS)

$(ENERGY_C): $(BUILD)/energy/%.o: bench/energy/%.c $(BUILD)/flags
	$(need_nvcc)
	@mkdir -p $(@D); echo 'cc $<'
	$(Q)$(CC) $(CFLAGS) -Ibench $(INCLUDE) $(DEPS) -c $< -o $@

$(BUILD)/energy/parts.cu.o: bench/energy/parts.cu $(BUILD)/flags
	$(need_nvcc)
	@mkdir -p $(@D); echo 'nvcc $<'
	$(Q)$(call refuse_by_log,$(NVCC) $(HOPPER) $(DEPS) -MT $@ $(NVCCFLAGS) $(READABLE) -Ibench $(PTXAS) -c $< -o $@)

$(ENERGY): $(BUILD)/energy/parts.cu.o $(ENERGY_C) $(BUILD)/steps/$(ENERGY_RUNG).o $(HARNESS) \
    $(BUILD)/commit.o
	@echo 'link $@'
	$(Q)$(CXX) -o $@ $^ $(LDLIBS)

# ---------------------------------------------------------------- rivals

# Kernels of other projects as contenders. An adapter of bench/rivals/ includes a project's sources
# from a clone whose folder the user names, and is a program like a rung's: the harness makes the
# operands, checks every word and times beside cuBLAS. Nothing of the projects is kept here.
FAST_CU_RIVALS := v-fast-cu-7 v-fast-cu-12
THUNDERKITTENS_RIVALS := v-thunderkittens
CUTLASS_RIVALS := v-cutlass-cooperative v-cutlass-ping-pong
DEEPGEMM_RIVALS := v-deepgemm
CUTE_GEMM_RIVALS := a-cute-gemm
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
DEEPGEMM_FLAGS = $(CUTLASS_FLAGS) -isystem $(DEEPGEMM)/deep_gemm/include \
    -Xptxas --register-usage-level=10
CUTE_GEMM_FLAGS = $(CUTLASS_FLAGS) -isystem $(CUTE_GEMM)

RIVALS_IN := $(BUILD)/rivals
GIVEN_PEERS := $(strip $(foreach p,$(PEERS),$(if $($p),$p)))
RIVALS := $(foreach p,$(GIVEN_PEERS),$($p_RIVALS:%=$(RIVALS_IN)/steps/%))
# The commit of the clone whose root the folder is: git would also name that of a folder around it.
root_commit = $(if $(word 2,$(1)),,$(strip $(1)))
commit_of = $(if $(wildcard $($1)/$($1_HAS)),$(call \
    root_commit,$(shell git -C '$($1)' rev-parse --show-prefix --short HEAD 2>/dev/null)))
# $(call rival_flags,RIVAL)
rival_flags = $(foreach p,$(PEERS),$(if $(filter $1,$($p_RIVALS)),\
    $($p_FLAGS) -DPEER_COMMIT='"$(call commit_of,$p)"'))

ifneq ($(filter rivals,$(MAKECMDGOALS)),)
  ifeq ($(GIVEN_PEERS),)
    $(error which clones? Say `make rivals` with one or more of $(PEERS:%=%=folder))
  endif
  $(foreach p,$(GIVEN_PEERS),$(if $(call commit_of,$p),,\
      $(error $p=$($p) is no clone with $($p_HAS) and a commit in it)))
  ifeq ($(CUTLASS),)
    $(foreach p,$(filter DEEPGEMM CUTE_GEMM,$(GIVEN_PEERS)),\
        $(error $p needs CUTLASS too: say CUTLASS=folder))
  endif
endif
ifneq ($(GIVEN_PEERS),)
  $(shell mkdir -p $(RIVALS_IN))
  $(foreach r,$(notdir $(RIVALS)),$(call keep,$(RIVALS_IN)/$r.flags,$(call rival_flags,$r)))
endif

rivals: $(RIVALS)

# What spills in a rival is its own affair.
$(RIVALS:%=%.o): PTXAS := -Xptxas -v
$(RIVALS:%=%.o): REFUSED := warning
$(RIVALS:%=%.o): $(RIVALS_IN)/steps/%.o: bench/rivals/%.cu $(RIVALS_IN)/%.flags $(BUILD)/flags
	$(need_nvcc)
	@mkdir -p $(@D); echo 'nvcc $<'
	$(Q)$(call compile_rung,$<,$(call rival_flags,$*) $(DEPS) -MT $@)

$(RIVALS): %: %.o $(HARNESS) $(BUILD)/commit.o
	@echo 'link $@'
	$(Q)$(CXX) -o $@ $^ $(LDLIBS)

-include $(wildcard $(RIVALS_IN)/steps/*.d)

# ---------------------------------------------------------------- rungs as files of their own

# A file depends on the headers that are in it.
STANDALONE := $(RUNGS:%=$(BUILD)/standalone/%.cu)
$(STANDALONE): $(BUILD)/standalone/%.cu: $$(call source_of,$$*) standalone/write.py \
    $(wildcard standalone/*.cu) common/step.h LICENSE
	@mkdir -p $(@D)
	$(Q)$(PYTHON) -m standalone.write $< $@ $@.d

# Compiled by the command that the file itself names, and strictly.
STRICTLY := -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror,$(RUNG_WARN) $(PTXAS)
NAMED_FLAGS = $$(sed -n 's|^//     nvcc ||p' $(<F))
$(STANDALONE:%.cu=%): %: %.cu $(BUILD)/flags
	$(need_nvcc)
	@echo 'nvcc $<'
	$(Q)$(call refuse_by_log,cd $(@D) && $(NVCC) $(STRICTLY) $(NAMED_FLAGS))

# ---------------------------------------------------------------- the emulator

# One object of a rung makes two programs. In build/emulated/ the emulator listens to its loads and
# stores itself: bank conflicts, bytes, addresses. In build/races/ ThreadSanitizer does.
# Its sources are compiled in groups, named by their first letters: most of the compile time goes into
# headers that they share. Sources of a group share their anonymous namespaces too.
COUNTING := accesses bank_conflicts races_off
RACES := accesses_off races_library races_tsan
EMULATOR_GROUPS := a-f g-n o-z
# $(call emulator_group,SOURCE, COUNTING or LETTERS)
emulator_sources = $(patsubst %,common/emulator/%.cpp,$(1))
emulator_group = $(or $(wildcard $(emulator_sources)),$(call emulator_sources,$($(1))),$(filter-out \
    $(call emulator_sources,$(COUNTING) $(RACES)),$(wildcard common/emulator/[$(1)]*.cpp)))
emulator_objects = $(patsubst %,$(BUILD)/emulator/%.o,$(EMULATOR_GROUPS) $(1))
EMULATOR := $(BUILD)/emulator/libemulator.a
EMULATOR_RACES := $(BUILD)/emulator/libraces.a
EMULATED_C := $(HARNESS_BOTH) $(wildcard common/harness/emulated/*.c)
EMULATED_OBJECTS := $(EMULATED_C:common/harness/%.c=$(BUILD)/emulated/harness/%.o)
EMULATED_ASAN_OBJECTS := $(EMULATED_C:common/harness/%.c=$(BUILD)/emulated/harness-asan/%.o)
EMULATED_HARNESS := $(BUILD)/emulated/harness/libharness.a
EMULATED_TRACE_MEASURE := $(BUILD)/emulated/harness/trace/measure.o \
    $(BUILD)/emulated/harness/trace/emulated/listen.o

emulated: $(EMULATED_PROGRAMS)

$(call emulator_objects,COUNTING $(RACES)): $(BUILD)/emulator/%.o: $$(call emulator_group,$$*) \
    $(BUILD)/emulated-flags
	@mkdir -p $(@D); echo 'c++ common/emulator/$*'
	$(Q)$(CXX) $(EMULATOR_FLAGS) $(ALL_DEPS) $(patsubst %,-include %,$(wordlist 2,99,$(call emulator_group,$*))) \
	    -c $< -o $@

$(EMULATOR): $(call emulator_objects,COUNTING)
	$(Q)rm -f $@; ar rcs $@ $^

$(EMULATOR_RACES): $(call emulator_objects,$(RACES))
	$(Q)rm -f $@; ar rcs $@ $^

$(EMULATED_OBJECTS) $(EMULATED_TRACE_MEASURE): $(BUILD)/emulated/harness/%.o: common/harness/%.c $(BUILD)/emulated-flags
	@mkdir -p $(@D); echo 'cc $<'
	$(Q)$(CC) $(CFLAGS) $(EMULATOR_INCLUDE) $(ALL_DEPS) -c $< -o $@

$(EMULATED_ASAN_OBJECTS): $(BUILD)/emulated/harness-asan/%.o: common/harness/%.c $(BUILD)/emulated-flags
	@mkdir -p $(@D); echo 'cc -fsanitize $<'
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(EMULATOR_INCLUDE) $(ALL_DEPS) -c $< -o $@

$(EMULATED_HARNESS): $(EMULATED_OBJECTS)
	$(Q)rm -f $@; ar rcs $@ $^

$(EMULATED_PROGRAMS:%=%.o): $(BUILD)/emulated/%.o: $$(call source_of,$$*) $(BUILD)/emulated-flags
	@mkdir -p $(@D); echo 'c++ $<'
	$(Q)$(CXX) $(KERNEL_FLAGS) $(ALL_DEPS) -x c++ -c $< -o $@

$(EMULATED_TRACED_PROGRAMS:%=%.o): $(BUILD)/trace/emulated/%.o: $$(call source_of,$$*) \
    $(BUILD)/emulated-flags
	@mkdir -p $(@D); echo 'c++ $< (traced)'
	$(Q)$(CXX) $(KERNEL_FLAGS) $(TRACE_FLAGS) $(ALL_DEPS) -x c++ -c $< -o $@

$(EMULATED_TRACED_PROGRAMS): %: %.o $(EMULATED_TRACE_MEASURE) $(EMULATED_HARNESS) $(EMULATOR) \
    $(BUILD)/commit.o
	@echo 'link $@'
	$(Q)$(CXX) -no-pie -o $@ $^ -lm

# The programs that tests/planted.py writes, each of several copies of a rung with planted bugs,
# compiled as the rungs are.
PLANTED := $(patsubst $(BUILD)/planted/programs/%.cu,planted/%,$(wildcard $(BUILD)/planted/programs/*.cu))
# Hundreds of copies: line numbers are all that a report needs.
$(PLANTED:%=$(BUILD)/emulated/%.o): KERNEL_FLAGS += -g1
$(PLANTED:%=$(BUILD)/emulated/%.o): $(BUILD)/emulated/planted/%.o: $(BUILD)/planted/programs/%.cu \
    $(BUILD)/emulated-flags
	@mkdir -p $(@D); echo 'c++ $<'
	$(Q)$(CXX) $(KERNEL_FLAGS) $(ALL_DEPS) -x c++ -c $< -o $@

# At fixed addresses, so that addr2line finds the lines of the report's addresses.
$(EMULATED_PROGRAMS) $(PLANTED:%=$(BUILD)/emulated/%): %: %.o $(EMULATED_HARNESS) $(EMULATOR) \
    $(BUILD)/commit.o
	@echo 'link $@'
	$(Q)$(CXX) -no-pie -o $@ $^ -lm

$(RACE_PROGRAMS) $(PLANTED:%=$(BUILD)/races/%): $(BUILD)/races/%: $(BUILD)/emulated/%.o \
    $(EMULATED_HARNESS) $(EMULATOR_RACES) $(BUILD)/commit.o
	@mkdir -p $(@D); echo 'link $@'
	$(Q)$(CXX) -fsanitize=thread -o $@ $^ -lm

# ---------------------------------------------------------------- probes

# Programs for the emulator that ask the project's code what lies where; plots/ideas.py draws what
# they say. bank_conflicts is linked with rungs: it brings a step_main of its own.
PROBED_RUNGS := a03 a04 t02 t03
RUNG_PROBES := $(PROBED_RUNGS:%=$(BUILD)/probes/bank_conflicts-%)
OTHER_PROBES := $(patsubst plots/probes/%.cu,$(BUILD)/probes/%,$(wildcard plots/probes/*.cu))
PROBE_OBJECTS := $(addsuffix .o,$(OTHER_PROBES)) $(BUILD)/probes/bank_conflicts.o
PROBES := $(RUNG_PROBES) $(OTHER_PROBES)

probes: $(PROBES)

$(PROBE_OBJECTS): $(BUILD)/probes/%.o: $$(wildcard plots/probes/$$*.c*) $(BUILD)/emulated-flags
	@mkdir -p $(@D); echo 'c++ $<'
	$(Q)$(CXX) $(KERNEL_FLAGS) $(ALL_DEPS) -x c++ -c $< -o $@

# No kernel: nobody listens to its accesses.
$(BUILD)/probes/l2_model.o: plots/probes/l2_model.cpp $(BUILD)/emulated-flags
	@mkdir -p $(@D); echo 'c++ $<'
	$(Q)$(CXX) $(EMULATOR_FLAGS) $(ALL_DEPS) -c $< -o $@

$(BUILD)/probes/tile_orders: $(BUILD)/probes/l2_model.o
$(RUNG_PROBES): $(BUILD)/probes/bank_conflicts-%: $(BUILD)/emulated/%.o $(BUILD)/probes/bank_conflicts.o
$(OTHER_PROBES): %: %.o
$(PROBES): $(EMULATED_HARNESS) $(EMULATOR) $(BUILD)/commit.o
	@echo 'link $@'
	$(Q)$(CXX) -no-pie -o $@ $(filter %.o,$^) $(EMULATED_HARNESS) $(EMULATOR) -lm

# ---------------------------------------------------------------- v18's choices

# A program that says which kernel v18 takes, and one that asks the rung with a model in which a
# tile's end takes no longer in turns. That model must not pass the test.
CHOICES := $(BUILD)/tests/choice/rung $(BUILD)/tests/choice/quick-turns
QUICK_TURNS := /double end =/s| \* kernel\.turns||

choices: $(CHOICES)

$(BUILD)/tests/choice/rung.cu: $(call source_of,v18)
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(BUILD)/tests/choice/quick-turns.cu: $(call source_of,v18) Makefile
	@mkdir -p $(@D)
	$(Q)sed '$(QUICK_TURNS)' $< >$@

$(CHOICES): %: %.cu tests/choice/choose.cu $(EMULATED_HARNESS) $(EMULATOR) $(BUILD)/commit.o
	@echo 'c++ tests/choice/choose.cu ($(@F))'
	$(Q)$(CXX) $(KERNEL_FLAGS) $(ALL_DEPS) -MT $@ -DRUNG='"$(abspath $<)"' -x c++ -c \
	    tests/choice/choose.cu -o $@.o
	$(Q)$(CXX) -no-pie -o $@ $@.o $(EMULATED_HARNESS) $(EMULATOR) $(BUILD)/commit.o -lm

# ---------------------------------------------------------------- test programs

# tests/unit/*.c         the harness, under sanitizers; needs neither a GPU nor nvcc
# tests/unit-gpu/*.c     what of it needs nvcc, but no GPU
# tests/gpu/*.c          the harness on a GPU
# tests/emulator/*.cpp   the emulator
# tests/device/*.cpp     the device headers' arithmetic, on the host, under sanitizers
# tests/device/*.cu      the device headers, on a GPU (-gpu) and on the emulator (-emulated)
tests_in = $(patsubst $(1)/%.$(2),$(BUILD)/$(1)/%,$(wildcard $(1)/test_*.$(2)))
UNIT := $(call tests_in,tests/unit,c)
UNIT_GPU := $(call tests_in,tests/unit-gpu,c)
GPU := $(call tests_in,tests/gpu,c)
EMULATOR_TESTS := $(call tests_in,tests/emulator,cpp)
DEVICE_CPP := $(call tests_in,tests/device,cpp)
DEVICE_CU := $(addsuffix -gpu,$(call tests_in,tests/device,cu))
DEVICE_EMULATED := $(addsuffix -emulated,$(call tests_in,tests/device,cu))
STANDALONE_EMULATED := $(RUNGS:%=$(BUILD)/standalone/emulated/%)

# Some rungs of each kind are traced in tests. What v15 and v18 would write down in a turn makes ptxas
# serialise their wgmmas: they are traced on the emulator alone.
TESTED_TRACES := v04 v07 v12 v16 a02 a05 t08
EMULATED_TRACES := $(TESTED_TRACES) v15 v18

# Without nvcc there is only what a C++ compiler can build, and without libtsan no ThreadSanitizer;
# the tests count the rest as skipped.
LIBTSAN := $(filter /%,$(shell $(CXX) -print-file-name=libtsan.so 2>/dev/null))
test-programs: $(DEVICE_CPP) $(UNIT) $(EMULATOR_TESTS) $(DEVICE_EMULATED) $(EMULATED_PROGRAMS) \
    $(PROBES) $(CHOICES) $(EMULATED_TRACES:%=$(BUILD)/trace/emulated/%) \
    $(if $(LIBTSAN),$(RACE_PROGRAMS)) $(STANDALONE_EMULATED) \
    $(if $(NVCC),$(PROGRAMS) $(VARIANTS) $(ENERGY) $(STANDALONE:%.cu=%) $(PTX) $(UNIT_GPU) $(GPU) $(DEVICE_CU) \
    $(TESTED_TRACES:%=$(BUILD)/trace/steps/%))

$(UNIT): $(BUILD)/%: %.c $(EMULATED_ASAN_OBJECTS) $(EMULATOR) $(BUILD)/commit.o $(BUILD)/emulated-flags
	@mkdir -p $(@D); echo 'cc -fsanitize $<'
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(EMULATOR_INCLUDE) $(ALL_DEPS) -MT $@ -c $< -o $@.o
	$(Q)$(CXX) $(SANITIZE) -o $@ $@.o $(filter %.o %.a,$^) -lm

# The parts of bench/energy are kernels too; what they need and the emulator lacks is in
# tests/emulator/energy/.
ENERGY_TEST := $(BUILD)/tests/emulator/test_energy_parts
$(ENERGY_TEST) $(ENERGY_TEST)-kernels.o: KERNEL_FLAGS += -Itests/emulator -Ibench
$(ENERGY_TEST)-kernels.o: bench/energy/parts.cu $(BUILD)/emulated-flags
	@mkdir -p $(@D); echo 'c++ $<'
	$(Q)$(CXX) $(KERNEL_FLAGS) $(ALL_DEPS) -x c++ -c $< -o $@
$(ENERGY_TEST): $(ENERGY_TEST)-kernels.o

$(EMULATOR_TESTS): $(BUILD)/%: %.cpp $(EMULATOR) $(BUILD)/emulated-flags
	@mkdir -p $(@D); echo 'c++ $<'
	$(Q)$(CXX) $(KERNEL_FLAGS) $(ALL_DEPS) -MT $@ -c $< -o $@.o
	$(Q)$(CXX) -no-pie -o $@ $@.o $(filter %.o,$^) $(EMULATOR) -lm

# The standalone programs, with the emulator's headers in the place of the device headers in them.
$(STANDALONE_EMULATED:%=%.cu): $(BUILD)/standalone/emulated/%: $(BUILD)/standalone/% \
    tests/tools/standalone_emulated.py
	@mkdir -p $(@D)
	$(Q)$(PYTHON) tests/tools/standalone_emulated.py $< $@

DAMAGE := tests/standalone_shims/damage.cpp
$(STANDALONE_EMULATED): KERNEL_FLAGS += -g1
$(STANDALONE_EMULATED): %: %.cu $(DAMAGE) $(EMULATOR) $(BUILD)/emulated-flags
	@echo 'c++ $<'
	$(Q)$(CXX) $(KERNEL_FLAGS) $(ALL_DEPS) -MT $@ -include tests/standalone_shims/events.h -x c++ -c $< -o $@.o
	$(Q)$(CXX) $(EMULATOR_FLAGS) -no-pie -Wl,--wrap=cudaMemcpy -o $@ $@.o $(DAMAGE) $(EMULATOR) -lm

# EMULATOR_POLICY in the environment chooses the order of events: a kernel's test takes no options.
POLICY_CPP := tests/device/policy_from_environment.cpp
$(DEVICE_EMULATED): $(BUILD)/%-emulated: %.cu $(POLICY_CPP) $(EMULATOR) $(BUILD)/commit.o \
    $(BUILD)/emulated-flags
	@mkdir -p $(@D); echo 'c++ $<'
	$(Q)$(CXX) $(KERNEL_FLAGS) $(ALL_DEPS) -MT $@ -x c++ -c $< -o $@.o
	$(Q)$(CXX) $(EMULATOR_FLAGS) -no-pie -o $@ $@.o $(POLICY_CPP) $(BUILD)/commit.o $(EMULATOR) -lm

$(UNIT_GPU): $(BUILD)/%: %.c $(ASAN_OBJECTS) $(CU_OBJECTS) $(BUILD)/commit.o $(BUILD)/flags
	$(need_nvcc)
	@mkdir -p $(@D); echo 'cc -fsanitize $<'
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(INCLUDE) $(DEPS) $(filter %.c %.o,$^) -o $@ $(LDLIBS)

$(GPU): $(BUILD)/%: %.c $(HARNESS) $(BUILD)/commit.o $(BUILD)/flags
	$(need_nvcc)
	@mkdir -p $(@D); echo 'cc $<'
	$(Q)$(CC) $(CFLAGS) $(INCLUDE) $(DEPS) $(filter %.c %.o %.a,$^) -o $@ $(LDLIBS)

$(DEVICE_CPP): $(BUILD)/%: %.cpp $(BUILD)/flags
	@mkdir -p $(@D); echo 'c++ -fsanitize $<'
	$(Q)$(CXX) -std=c++17 -O1 -g $(WARN) -Werror $(SANITIZE) -Icommon $(DEPS) $< -o $@

$(DEVICE_CU): $(BUILD)/%-gpu: %.cu $(BUILD)/commit.o $(BUILD)/flags
	$(need_nvcc)
	@mkdir -p $(@D); echo 'nvcc $<'
	$(Q)log=$@.log; rm -f $@; \
	if ! $(NVCC) $(HOPPER) $(NVCCFLAGS) $(PTXAS) $(DEPS) -MT $@ $< $(BUILD)/commit.o -o $@ \
	        >$$log 2>&1 || \
	    grep -E '$(REFUSED)' $$log >&2; then cat $$log >&2; rm -f $@; exit 1; fi

# ---------------------------------------------------------------- Python's virtual environment

# Two tests, each with a make of its own, may want it at once.
ALONE := $(if $(shell command -v flock),flock $(BUILD)/venv.lock)
$(BUILD)/venv/bin/python:
	@mkdir -p $(BUILD); echo 'python -m venv $(BUILD)/venv'
	$(Q)$(ALONE) sh -c '[ -x $@ ] || $(PYTHON) -m venv $(BUILD)/venv' || { rm -rf $(BUILD)/venv; \
	    echo 'no virtual environment could be made: install python3-venv' >&2; exit 1; }

$(BUILD)/venv/%.stamp: %/requirements.txt | $(BUILD)/venv/bin/python
	@echo 'pip install -r $<'
	$(Q)$(ALONE) $(BUILD)/venv/bin/pip install -q --disable-pip-version-check --require-hashes \
	    --retries 1 --timeout 10 -r $< >$(@:.stamp=.log) 2>&1 || { \
	    echo 'the packages of $< could not be installed: this needs the network, or an index that' \
	    'PIP_INDEX_URL names ($(@:.stamp=.log) has what pip said)' >&2; exit 1; }
	$(Q)touch $@

-include $(wildcard $(foreach d,steps ptx energy standalone standalone/emulated emulator emulated \
    emulated/planted probes trace/* tests/* \
    $(foreach h,harness harness-asan emulated/harness emulated/harness-asan,$h $h/* $h/*/*), \
    $(BUILD)/$d/*.d))
