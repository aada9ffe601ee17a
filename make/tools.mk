# Tools and flags, the recipes that all rules share, and Python's packages.

include emulator/rules.mk

CC := gcc
PYTHON := python3
CUDA_HOME ?= /usr/local/cuda
NVCC := $(firstword $(shell command -v nvcc) $(wildcard $(CUDA_HOME)/bin/nvcc))
CUDA_ROOT := $(or $(patsubst %/bin/nvcc,%,$(filter %/bin/nvcc,$(realpath $(NVCC)))),$(CUDA_HOME))
CUDA_LIB := $(firstword $(wildcard $(CUDA_ROOT)/lib64 $(CUDA_ROOT)/lib) $(CUDA_ROOT)/lib64)

# $(call need,TOOL) is where a tool of the toolkit is; without it make stops with one line.
need = $(or $(shell PATH="$$PATH:$(CUDA_ROOT)/bin:$(CUDA_ROOT)/compute-sanitizer" command -v $(1)),$(call missing,$(1)))
missing = $(error $(1) was not found on PATH or under CUDA_HOME ($(CUDA_HOME)): install the CUDA Toolkit \
    12.8 or later (https://developer.nvidia.com/cuda-downloads), or say where it is with CUDA_HOME=)
need_nvcc = $(if $(NVCC),,$(call missing,nvcc))
need_gpu = $(if $(GPU_DEVICES),,$(error no GPU was found (/dev/nvidia0, /dev/dxg), and this verb needs one; \
    step, trace and ladder run on a CPU with EMULATE=1))
need_python = $(if $(shell command -v $(PYTHON)),,$(error $(PYTHON) was not found: install Python 3.9 \
    or later, or name it with PYTHON=))
need_gcc = $(if $(shell command -v $(CC)),,$(error $(CC) was not found: install gcc, or name it with CC=))
# clang++ does not know this option, nor flags that the emulator depends on.
GXX_VERSION = $(firstword $(subst ., ,$(shell $(CXX) -dumpfullversion 2>/dev/null)))
need_gxx = $(if $(filter-out 1 2 3 4 5 6 7 8 9 10 11,$(GXX_VERSION)),,$(error $(CXX) is not g++ 12 or \
    later, which the emulator needs: install g++, or name it with CXX=))

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
NVCC_WARN := -Xcompiler -Wall,-Wextra,$(RUNG_WARN) $(if $(WERROR),-Werror all-warnings -Xcompiler -Werror)
NVCCFLAGS := -std=c++20 -O3 -lineinfo $(NVCC_WARN) -Icommon
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

# $(call build,TARGETS) builds them, silently if there is nothing to do. A terminal shows the progress
# in one line, a log what is built.
define build
	+@if [ -t 1 ] && [ -z '$(V)$(findstring n,$(firstword -$(MAKEFLAGS)))' ]; then \
	    all=$$($(MAKE) -n $(1) 2>/dev/null | grep -cE "^(mkdir.*; )?echo '"); set -o pipefail; \
	    $(MAKE) $(quietly_parallel) $(1) | { n=0; while IFS= read -r line; do \
	        printf '\r\033[K%d/%d %s ' $$((n += 1)) $$all "$$line"; \
	    done; [ $$n -eq 0 ] || printf '\r\033[K'; }; \
	else \
	    $(MAKE) $(quietly_parallel) $(1); \
	fi
endef

# A spill, an array in local memory (a stack frame) or ptxas' C75xx (wgmma serialised, setmaxnreg
# ignored) make a rung slow or wrong in a way that nothing else shows: the build fails.
REFUSED := C75[0-9][0-9]|[1-9][0-9]* bytes (spill|stack)
# $(call nvcc,SAYS,COMMAND) makes the file $@, or no file and an error. The log is beside it; warnings
# are shown, and are errors under STRICT=1.
define nvcc
$(need_nvcc)@mkdir -p $(@D); echo 'nvcc $(1)'
$(Q)log=$(@:.o=).ptxas.log; rm -f $@; \
if ! ($(2)) >$$log 2>&1; then \
    cat $$log >&2; rm -f $@; exit 1; \
elif grep -E '$(REFUSED)$(WERROR:%=|warning)' $$log >&2; then \
    echo '$<: rejected: see the lines above (the full log is '$$log')' >&2; rm -f $@; exit 1; \
elif grep -q warning $$log; then \
    sed -E '/^ptxas info|bytes stack frame/d' $$log >&2; \
fi
endef

# Python's packages. Two tests, each with its own make, may need them at the same time.
ALONE := $(if $(shell command -v flock),flock $(BUILD)/venv.lock)
$(BUILD)/venv/%.stamp: %/requirements.txt
	@mkdir -p $(BUILD); echo 'pip install -r $<'
	$(Q)$(ALONE) sh -c '[ -x $(@D)/bin/python ] || $(PYTHON) -m venv $(@D)' || { rm -rf $(@D); \
	    echo 'no virtual environment could be made: install python3-venv' >&2; exit 1; }
	$(Q)$(ALONE) $(@D)/bin/pip install -q --disable-pip-version-check --require-hashes \
	    --retries 1 --timeout 10 -r $< >$(@:.stamp=.log) 2>&1 || { \
	    echo 'the packages of $< could not be installed: this needs the network, or an index that' \
	    'PIP_INDEX_URL names (the output of pip is in $(@:.stamp=.log))' >&2; exit 1; }
	$(Q)touch $@
