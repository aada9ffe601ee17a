# Tools and flags, the recipes that all rules share, and Python's packages.

include emulator/rules.mk

CC := gcc
PYTHON := python3
CUDA_HOME ?= /usr/local/cuda
NVCC := $(firstword $(shell command -v nvcc) $(wildcard $(CUDA_HOME)/bin/nvcc))
CUDA_ROOT := $(or $(patsubst %/bin/nvcc,%,$(filter %/bin/nvcc,$(realpath $(NVCC)))),$(CUDA_HOME))
CUDA_LIB := $(firstword $(wildcard $(CUDA_ROOT)/lib64 $(CUDA_ROOT)/lib) $(CUDA_ROOT)/lib64)

# What a verb needs, as its order-only prerequisites: need-nvcc is there, or ends make with one line.
.PHONY: need-nvcc need-gpu need-gxx need-python need-machine need-cuobjdump need-compute-sanitizer
need-nvcc: ; $(need_nvcc)
need-gpu: ; $(need_gpu)
need-gxx: ; $(need_gcc)$(need_gxx)
need-python: ; $(need_python)
need-machine: ; $(if $(EMULATED),$(need_gcc)$(need_gxx),$(need_nvcc)$(need_gpu))
need-cuobjdump need-compute-sanitizer: need-%: ; $(if $(call tool,$*),,$(call missing,$*))
# Where a tool of the toolkit is.
tool = $(shell PATH="$$PATH:$(CUDA_ROOT)/bin:$(CUDA_ROOT)/compute-sanitizer" command -v $(1))
missing = $(error $(1) was not found on PATH or under CUDA_HOME ($(CUDA_HOME)): install the CUDA Toolkit \
    12.8 or later (https://developer.nvidia.com/cuda-downloads), or say where it is with CUDA_HOME=)
need_nvcc = $(if $(NVCC),,$(call missing,nvcc))
need_gpu = $(if $(GPU_DEVICES),,$(error no GPU was found (/dev/nvidia0, /dev/dxg), and this verb needs one; \
    step and ladder run on a CPU with EMULATE=1))
PYTHON_IS := import sys; print("new" if sys.version_info >= (3, 9) else sys.version.split()[0])
python_is = $(shell $(PYTHON) -c '$(PYTHON_IS)' 2>/dev/null)
need_python = $(if $(filter new,$(python_is)),,$(error $(PYTHON) $(or $(python_is:%=is Python %),was not found): \
    install Python 3.9 or later, or name it with PYTHON=))
need_gcc = $(if $(shell command -v $(CC)),,$(error $(CC) was not found: install gcc, or name it with CC=))
# clang++ does not know this option, nor flags that the emulator depends on.
GXX_VERSION = $(firstword $(subst ., ,$(shell $(CXX) -dumpfullversion 2>/dev/null)))
need_gxx = $(if $(filter-out 1 2 3 4 5 6 7 8 9 10 11,$(GXX_VERSION)),,$(error $(CXX) is not g++ 12 or \
    later, which the emulator needs: install g++, or name it with CXX=))

# The machine that `step` and `ladder` run on. /dev/dxg is the GPU under WSL, Linux on Windows.
GPU_DEVICES := $(wildcard /dev/nvidia[0-9]* /dev/dxg)
EMULATE ?= $(if $(and $(NVCC),$(GPU_DEVICES)),0,1)
$(if $(filter 0 1,$(EMULATE)),,$(error EMULATE=$(EMULATE): it is 1 for the emulator or 0 for a GPU))
EMULATED := $(filter 1,$(EMULATE))

# wgmma runs only on sm_90a. The t track runs on all GPUs with TMA, from sm_90 on; the a track and the
# harness on all from sm_80 on. What is listed here gets SASS; other GPUs translate the PTX.
sass_for = $(foreach sm,$(1),-gencode=arch=compute_$(sm),code=sm_$(sm))
HOPPER := $(call sass_for,90a)
TMA_VARIANT := -gencode=arch=compute_90,code=[sm_90,compute_90]
TMA := $(TMA_VARIANT) $(call sass_for,100 120)
AMPERE := $(call sass_for,80 86 89) $(TMA)
# Of an experiment: SASS for sm_90, PTX for every other GPU.
AMPERE_VARIANT := -gencode=arch=compute_80,code=compute_80 $(call sass_for,90)
KIND = $(if $(filter a%,$(1)),AMPERE,$(if $(filter t%,$(1)),TMA))
# $(call arch_of,RUNG or VARIANT)
arch_of = $(if $(KIND),$($(KIND)$(if $(findstring -,$(1)),_VARIANT)),$(HOPPER))
INCLUDE := -Icommon -Iemulator/include -isystem $(CUDA_ROOT)/include
CFLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -g $(WARN) -Wpedantic
NVCC_WERROR := $(if $(WERROR),-Werror all-warnings -Xcompiler -Werror)
NVCC_WARN = -Xcompiler -Wall,-Wextra,$(RUNG_WARN) $(NVCC_WERROR)
NVCCFLAGS = -std=c++20 -O3 -lineinfo $(NVCC_WARN) -Icommon
PTXAS := -Xptxas -v,-warn-spills
# tests/test_nvcc.py reads the machine code in the object.
READABLE := --no-compress
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# No program links libcuda: it must start on a machine that has no driver.
LDLIBS := -L$(CUDA_LIB) -Wl,-rpath,$(CUDA_LIB) -lcudart_static -lcublas -lcublasLt -lpthread -ldl -lrt -lm \
    -lstdc++
# Lists an object's headers beside it, but for those of -isystem, so that a changed header rebuilds what
# includes it.
DEPS = -MMD -MP -MF $@.d

# Every recipe that builds prints one line, by `run`; `build` counts these lines.
# $(call cc,MORE FLAGS) compiles $<, C, to $@.
cc = $(call run,cc $(if $(findstring $(SANITIZE),$(1)),-fsanitize )$<,$(CC) $(CFLAGS) $(1) -c $< -o $@)

# On all cores, unless make was given a -j of its own.
parallel = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 2))
quietly_parallel = --no-print-directory $(if $(V),,-s) $(parallel)

# $(call build,TARGETS) builds them, in parallel.
build = +@V='$(V)' make/build.sh '$(MAKE)' '$(quietly_parallel)' $(1)

# $(call nvcc,SAYS,COMMAND) makes the object $@, or no file and an error: warnings are errors under
# STRICT=1.
REFUSED := C75[0-9][0-9]|[1-9][0-9]* bytes (spill|stack)
define nvcc
$(need_nvcc)@mkdir -p $(@D); echo 'nvcc $(1)'
$(Q)make/nvcc.sh $@ $< '$(REFUSED)$(if $(NVCC_WERROR),|warning)' $(call quoted,$(2))
endef

# Python's packages.
$(BUILD)/venv/%.stamp: %/requirements.txt | need-python
	@echo 'pip install -r $<'
	$(Q)make/venv.sh $(PYTHON) $< $@

# What the verbs run.
PROGRAM = $(BUILD)/$(if $(EMULATED),emulated,steps)/$(RUNG)
BUILT = $(call option,build,$(filter-out build,$(BUILD)))
LADDER = $(PYTHON) -m bench.ladder $(if $(EMULATED),--emulate) $(call option,track,$(TRACK)) \
    $(call option,sizes,$(SIZES)) $(call option,protocol,$(PROTOCOL)) $(BUILT) $(ARGS)
# Of the ladder's options, before anything is built.
misuse = $(call fail,$(shell said=$$($(LADDER) --validate 2>&1) || tail -n 1 <<<"$$said"))
fail = $(if $(1),$(error $(1)))
# What `record` does: a list needs nothing, and counts need no GPU.
LISTED := $(findstring --list,$(ARGS))
COUNTED := $(filter counts,$(subst =, ,$(ARGS)))
RECORD_NEEDS := $(if $(LISTED),,need-gxx $(if $(COUNTED),,need-nvcc need-gpu))
# Of a test's name, or of tests by pytest's names.
WORDS = $(if $(ARGS),$(if $(findstring ::,$(ARGS)),$(ARGS),--words=$(call quoted,$(ARGS))))
# Where pictures are drawn: in the tree only if nothing else was asked for, and it can be written.
PLOTS_OUT = $(if $(RESULTS)$(shell [ -w plots ] || echo read-only),--out $(BUILD)/plots)
# make runs a recipe that names $(MAKE) under -n, too.
SELF = $(MAKE)
DRY := $(findstring n,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
