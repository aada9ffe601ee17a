# gemm-ladder's front door: `make` alone prints the verbs. The rules for the files they need are in
# make/.
#
# Everything built goes to build/, or to the folder that BUILD= names. V=1 shows the commands.
# Variables that may be set:
#   N=7         the rung (7, 07, v7 or v07), or `make step 7`; E=, ANSWER= of exercises, FROM= of new
#   EMULATE=1   `step`, `trace` and `ladder` run on the emulator, a CPU; 0: on a GPU. Default: on a
#               GPU if this machine has one and nvcc, else on the emulator
#   TRACK, SIZES, PROTOCOL   what `ladder` measures: TRACK=v|a|t|f|all, SIZES=8192,4096x14336x4096 or
#               squares, models or all, PROTOCOL=burst|sustained|both|call
#   FILE        the CUDA program that `emulate` runs
#   OLD, NEW    the recorded files that `compare` compares
#   FAST_CU, THUNDERKITTENS, CUTLASS, DEEPGEMM, CUTE_GEMM   the clones that `rivals` builds from
#   RESULTS=... what `plots` draws: one recorded file, or two separated by a comma
#   ARGS="..."  options for the program or script that the verb runs
#   STRICT=1    a compiler's warning is an error, and so is a tool that `test` lacks, as in CI
#   CUDA_HOME   where the CUDA Toolkit is, if its nvcc is not on PATH
#   GPU_DEVICES the GPU's device file, if it is not /dev/nvidia* or /dev/dxg
#   FULL=1      `test` runs all that CI runs: CONTRIBUTING.md says what is left out without it
#   COMMIT      the commit that the programs report, if git is not available

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

# Commands contain these without quotes: each must be one word that the shell does not change.
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

include make/tools.mk

# The machine that `step`, `trace` and `ladder` run on. /dev/dxg is the GPU under WSL, Linux on Windows.
GPU_DEVICES := $(wildcard /dev/nvidia[0-9]* /dev/dxg)
EMULATE ?= $(if $(and $(NVCC),$(GPU_DEVICES)),0,1)
$(if $(filter 0 1,$(EMULATE)),,$(error EMULATE=$(EMULATE): it is 1 for the emulator or 0 for a GPU))
EMULATED := $(filter 1,$(EMULATE))

TRACKS := v a t f
SOURCES := $(foreach track,$(TRACKS),$(sort $(wildcard $(STEPS)/$(track)*.cu)))
rung_name = $(firstword $(subst _, ,$(basename $(notdir $(1)))))
RUNGS := $(foreach s,$(SOURCES),$(call rung_name,$(s)))
source_of = $(firstword $(wildcard $(STEPS)/$(1)_*.cu $(STEPS)/$(1).cu))
$(if $(filter-out $(words $(RUNGS)),$(words $(sort $(RUNGS)))),$(error two files in $(STEPS)/ have \
    the same rung number: $(RUNGS)))

PROGRAMS := $(RUNGS:%=$(BUILD)/steps/%)
PTX := $(RUNGS:%=$(BUILD)/ptx/%.ptx)
EMULATED_PROGRAMS := $(RUNGS:%=$(BUILD)/emulated/%)
TRACED_PROGRAMS := $(RUNGS:%=$(BUILD)/trace/steps/%)
EMULATED_TRACED_PROGRAMS := $(RUNGS:%=$(BUILD)/trace/emulated/%)
VARIANTS := $(patsubst bench/variants/%.patch,$(BUILD)/variants/steps/%,$(wildcard bench/variants/*.patch))

# The word after one of these verbs is the rung, unless N= names it: `make step 7`.
VERBS_ON_A_RUNG := step trace diff standalone sass resources sanitize exercise try hint solution
VERBS := help $(VERBS_ON_A_RUNG) diffstat list ladder energy record compare emulate emulated \
    variants rivals plots notes book test check format clean new
VERB := $(firstword $(filter $(VERBS_ON_A_RUNG),$(MAKECMDGOALS)))
ifneq ($(VERB),)
  WORD := $(filter-out $(VERBS),$(word 2,$(MAKECMDGOALS)))
  ifneq ($(WORD),)
    N := $(WORD)
    .PHONY: $(WORD)
    $(WORD): ; @:
  endif
  $(if $(strip $(N)),,$(error which rung? Say for example `make $(VERB) N=7`; the rungs are $(RUNGS)))
  # 7, 07, v7 and v07 are one rung. A % would match anything in filter: it is no rung.
  pad = $(foreach t,$(TRACKS),$(patsubst $(t)%,$(t)0%,$(filter $(t)%,$(1))))
  ifeq ($(words $(N))$(findstring %,$(N)),1)
    RUNG := $(strip $(if $(filter standalone-all,$(VERB)-$(strip $(N))),$(RUNGS),\
        $(firstword $(filter $(N) v$(N) v0$(N) $(call pad,$(N)),$(RUNGS)))))
  endif
  $(if $(RUNG),,$(error there is no rung "$(N)"; the rungs are $(RUNGS)))
  # The rung below: the one that its step record names, or the one before it on its own track.
  SAME_TRACK := $(foreach t,$(TRACKS),$(if $(filter $(t)%,$(RUNG)),$(filter $(t)%,$(RUNGS))))
  NUMBERED_BELOW := $(shell printf '%s\n' $(SAME_TRACK) | sed '/^$(RUNG)$$/,$$d' | tail -n 1)
  NAMED_BELOW := $(shell sed -n 's/^ *\.below = "\(.*\)",$$/\1/p' $(foreach r,$(RUNG),$(call source_of,$(r))))
  BELOW := $(or $(firstword $(NAMED_BELOW)),$(NUMBERED_BELOW))
endif

# ---------------------------------------------------------------- what the verbs need

option = $(if $(2),--$(1) $(call quoted,$(2)))
LADDER = $(PYTHON) -m bench.ladder $(if $(EMULATED),--emulate) $(call option,track,$(TRACK)) \
    $(call option,sizes,$(SIZES)) $(call option,protocol,$(PROTOCOL)) \
    $(call option,build,$(filter-out build,$(BUILD))) $(ARGS)
# Missing tools are reported before anything is built.
LISTED := $(findstring --list,$(ARGS))
COUNTED := $(filter counts,$(subst =, ,$(ARGS)))# `make record ARGS="--only counts"` needs no GPU
ON_GPU := sanitize $(if $(LISTED),,energy $(if $(COUNTED),,record)) $(if $(EMULATED),,step trace ladder)
ON_EMULATOR := emulate emulated test $(if $(LISTED),,record) $(if $(RESULTS),,plots) $(if $(EMULATED),step trace ladder)
IN_PYTHON := trace standalone diffstat ladder energy record compare emulate plots notes book test format
requested = $(filter $(1),$(MAKECMDGOALS))
CUOBJDUMP := $(if $(call requested,sass),$(call need,cuobjdump))
COMPUTE_SANITIZER := $(if $(call requested,sanitize),$(call need,compute-sanitizer))
$(if $(call requested,$(IN_PYTHON)),$(need_python))
$(if $(call requested,$(ON_EMULATOR)),$(need_gcc)$(need_gxx))
$(if $(and $(call requested,compare),$(if $(and $(OLD),$(NEW)),,no)),\
    $(error which two files? Say `make compare OLD=a.jsonl NEW=b.jsonl`))
MISUSE := $(if $(call requested,ladder),$(shell said=$$($(LADDER) --validate 2>&1) || tail -n 1 <<<"$$said"))
$(if $(MISUSE),$(error $(MISUSE)))
$(if $(call requested,$(ON_GPU) variants resources),$(need_nvcc))
$(if $(call requested,$(ON_GPU)),$(need_gpu))
ifneq ($(filter-out help list diffstat compare notes clean,$(or $(MAKECMDGOALS),help)),)
  ifeq ($(shell mkdir -p $(BUILD) 2>/dev/null && [ -w $(BUILD) ] && echo writable),)
    $(error $(abspath $(BUILD)) cannot be written: name a directory that can be, with BUILD=)
  endif
endif

include make/rungs.mk make/emulator.mk make/exercises.mk make/tests.mk make/links.mk

# ---------------------------------------------------------------- verbs

nothing: ;
.PHONY: $(VERBS) nothing rungs probes choices

help:
	@printf '%s\n' \
	  'make step N=7        build rung 7, check it and time it (ARGS="--size 4096" for more);' \
	  '                     without a GPU, or with EMULATE=1: check it on the emulator' \
	  'make trace N=7       record what the warps of one CTA do, and when: for Perfetto or' \
	  '                     chrome://tracing, and as a picture (ARGS="--cta 5 --k 512" for more)' \
	  'make diff N=7        show what rung 7 changes from the rung that it grows from' \
	  'make diffstat        count the changed lines, rung by rung' \
	  'make exercise N=7    give a bug to find or a gap to fill (E=1); then make try, hint, solution' \
	  'make new N=30 FROM=16   copy a rung under a new number' \
	  'make standalone N=7  write rung 7 as one file that nvcc compiles alone, in build/standalone/;' \
	  '                     N=all writes every rung' \
	  'make list            list the rungs, and the idea of each' \
	  'make ladder          run all rungs, show and record the results; on the emulator, check them' \
	  '                     and count. TRACK=v|a|t|f|all SIZES=8192,4096x14336x4096 (or squares,' \
	  '                     models, all) PROTOCOL=burst|sustained|both|call' \
	  'make energy          run $(ENERGY_RUNG) in parts, and record the energy that each part takes' \
	  'make record          record everything that the pages quote (ARGS=--list shows what)' \
	  'make compare OLD=a.jsonl NEW=b.jsonl   compare two recorded runs and name the regressions' \
	  'make emulate FILE=kernel.cu   run a CUDA program that is not of this project on the emulator' \
	  '                     (ARGS=--help shows the options)' \
	  'make emulated        build all rungs for the emulator' \
	  'make variants        build the experiments in bench/variants' \
	  'make rivals CUTLASS=folder   build the kernels of other projects that bench/rivals has' \
	  '                     adapters for; also FAST_CU= THUNDERKITTENS= DEEPGEMM= CUTE_GEMM=' \
	  'make plots           draw the recorded results into plots/, and memory layouts into plots/ideas/;' \
	  '                     RESULTS=a.jsonl,b.jsonl compares two runs, in build/plots/' \
	  'make notes           fill the tables of notes/ and the README from the recorded results' \
	  'make book            make static web pages of it all: build/book/index.html' \
	  'make test            run every test that this machine can run; with FULL=1 at length, as CI does' \
	  'make sass N=7        show the machine code (SASS) of rung 7' \
	  'make resources N=7   show its registers, shared memory, stack and spills' \
	  'make sanitize N=7    run it under compute-sanitizer' \
	  'make format          format the sources in place' \
	  'make clean           remove build/'

ifeq ($(EMULATED),)
step: $(BUILD)/steps/$(RUNG)
	@$< $(ARGS)
else
step:
	$(call build,$(EMULATOR) $(BUILD)/emulated/$(RUNG))
	@$(BUILD)/emulated/$(RUNG) $(ARGS)
endif

# Tracing needs a program of its own; the script that runs it needs only Python.
TRACED := $(BUILD)/trace/$(if $(EMULATED),emulated,steps)/$(RUNG)
trace:
	$(call build,$(TRACED))
	@$(PYTHON) -m bench.trace $(TRACED) --out $(BUILD)/trace $(ARGS)

# The rung's opening comment, whole, and then what changed after it: word by word in colour on a
# terminal; elsewhere, and with NO_COLOR=1, line by line, since marks around words are hard to read.
DIFF_WORD := [A-Za-z0-9_.]+|[^[:space:]]
DIFF_FILES = $(BELOW)/$(notdir $(call source_of,$(BELOW))) $(RUNG)/$(notdir $(call source_of,$(RUNG)))
diff:
ifeq ($(BELOW),)
	@echo 'There is nothing below $(RUNG): it is the first rung.'
else
	@echo '$(BELOW) -> $(RUNG)'
	@$(PYTHON) -m book.pages.changes $(RUNG) 2>/dev/null || : # without Python there is no count
	@sed '/^#include/,$$d' $(call source_of,$(RUNG))
	@rm -rf $(BUILD)/diff; for file in $(DIFF_FILES); do \
	    mkdir -p $(BUILD)/diff/$${file%/*}; \
	    sed '/^#include/,$$!d' steps/$${file#*/} >$(BUILD)/diff/$$file; \
	done
	@cd $(BUILD)/diff; how=--no-color; \
	[ -t 1 ] && how=$(if $(NO_COLOR),--no-color,'--word-diff=color --word-diff-regex=$(DIFF_WORD)'); \
	if command -v git >/dev/null; then \
	    git --no-pager diff --no-index --no-ext-diff --no-prefix $$how $(ARGS) $(DIFF_FILES); \
	else \
	    diff -u --color=$(if $(NO_COLOR),never,auto) $(ARGS) $(DIFF_FILES); \
	fi; [ $$? -le 1 ]
endif

standalone: $(RUNG:%=$(BUILD)/standalone/%.cu)
	@for file in $^; do sed -n "s|^//     nvcc|$$file: nvcc|p" $$file; done

diffstat:
	@$(PYTHON) -m book.pages.changes

# The idea is the string after the rung's own name in its step record.
list:
	@for source in $(SOURCES); do \
	    rung=$${source##*/}; rung=$${rung%%[_.]*}; \
	    idea=$$(tr '\n' ' ' <"$$source" | sed -nE "s/.*\"$$rung\",[^\"]*\"([^\"]*)\".*/\1/p"); \
	    printf '%s  %s\n' "$$rung" "$${idea:-(no idea in its step record)}"; \
	done

ladder:
	$(call build,$(if $(EMULATED),emulated,rungs))
	@$(LADDER)

rungs: $(PROGRAMS)
emulated: $(EMULATED_PROGRAMS)
variants: $(VARIANTS)
rivals: $(RIVALS)
probes: $(PROBES)
choices: $(CHOICES)

emulate:
	$(if $(FILE)$(ARGS),,$(error which program? Say for example `make emulate FILE=kernel.cu`))
	@EMULATE_BUILD=$(abspath $(BUILD)) $(PYTHON) -m emulator.translate $(if $(FILE),$(call quoted,$(FILE))) $(ARGS)

energy: $(ENERGY)
	@$(PYTHON) -m bench.energy.measure $(call option,build,$(filter-out build,$(BUILD))) $(ARGS)

record:
	$(if $(LISTED),,$(call build,emulated $(if $(COUNTED),,rungs variants $(ENERGY))))
	@$(PYTHON) -m bench.record $(ARGS)

compare:
	@$(PYTHON) -m bench.compare $(call quoted,$(OLD)) $(call quoted,$(NEW)) $(ARGS)

# Pictures of memory layouts are drawn from the code, not from records: only if no results are named.
PLOTS_OUT = $(if $(RESULTS)$(shell [ -w plots ] || echo read-only),--out $(BUILD)/plots)
plots: $(BUILD)/venv/plots.stamp
	@$(BUILD)/venv/bin/python -m plots.plot $(call option,results,$(RESULTS)) $(PLOTS_OUT) $(ARGS)
ifeq ($(RESULTS)$(findstring --results,$(ARGS)),)
	$(call build,probes)
	@BUILD=$(BUILD) $(BUILD)/venv/bin/python -m plots.plot --ideas $(PLOTS_OUT) $(ARGS)
endif

notes:
	@$(PYTHON) -m notes.tools.fill $(ARGS)

book: $(BUILD)/venv/book.stamp
	@$(BUILD)/venv/bin/python -m book.make_book --out $(BUILD)/book $(ARGS)

# pytest says what the chosen tests need, make builds it, pytest runs them: even if something does not
# build, whose test then fails. Without PyPI Debian's python3-pytest does.
WORDS = $(if $(ARGS),$(if $(findstring ::,$(ARGS)),$(ARGS),--words=$(call quoted,$(ARGS))))
test check:
	+@$(MAKE) --no-print-directory -s $(BUILD)/venv/tests.stamp || $(PYTHON) -c 'import pytest' || { \
	    echo 'pytest is missing: install python3-pytest and python3-pytest-xdist' >&2; exit 1; }
	+@mkdir -p $(BUILD)/tests; \
	python=$(PYTHON); [ ! -e $(BUILD)/venv/tests.stamp ] || python=$(BUILD)/venv/bin/python; \
	pytest=("$$python" -m pytest $(if $(filter check,$@),--check) $(WORDS)); \
	"$${pytest[@]}" --needs=$(BUILD)/tests/needs || exit; \
	$(MAKE) --no-print-directory -k $(parallel) $$(<$(BUILD)/tests/needs) nothing || \
	    echo 'make: not everything was built; the tests below name what is missing' >&2; \
	"$${pytest[@]}" $$("$$python" -c 'import xdist' 2>/dev/null && echo --numprocesses=auto)

sass: $(BUILD)/steps/$(RUNG).o
	@$(CUOBJDUMP) -sass $(ARGS) $< | c++filt

resources: $(BUILD)/steps/$(RUNG).o
	@c++filt <$(BUILD)/steps/$(RUNG).ptxas.log | sed -nE "s/.*entry function '(.*)' for '(.*)'/\1 for \2/p; \
	    s/^ +([0-9]+ bytes stack .*)/    \1/p; s/.*Used ([0-9]+ registers.*)/    \1/p"
	@echo '(smem is static shared memory; dynamic shared memory is requested at launch)'

# One tool after the other; all three run even if the first finds something.
SANITIZE_ARGS := --m 256 --n 512 $(if $(filter t%,$(RUNG)),,--k 256)
sanitize: $(BUILD)/steps/$(RUNG)
	@status=0; for tool in memcheck racecheck synccheck; do \
	    echo "compute-sanitizer --tool $$tool"; \
	    $(COMPUTE_SANITIZER) --tool $$tool --error-exitcode 1 \
	        $< $(or $(ARGS),$(SANITIZE_ARGS)) --protocol none || status=1; \
	done; exit $$status

format: $(BUILD)/venv/tests.stamp
	$(Q)find $(wildcard steps common emulator bench plots standalone tests) -name '*.[ch]' -o -name '*.cu' -o \
	    -name '*.cuh' -o -name '*.cpp' | xargs $(BUILD)/venv/bin/clang-format -i
	$(Q)$(BUILD)/venv/bin/ruff format -q .
	$(Q)$(BUILD)/venv/bin/ruff check --fix .

clean:
	rm -rf $(BUILD)
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

-include $(wildcard $(foreach d,steps ptx energy kernels standalone standalone/emulated emulated \
    emulated/planted emulated/exercises emulated/exercises/watch exercises probes rivals/steps trace/* tests/* \
    $(foreach h,harness harness-asan emulated/harness emulated/harness-asan,$h $h/* $h/*/*), \
    $(BUILD)/$d/*.d))
