# gemm-ladder's front door: the verbs. `make` alone prints their `#?` lines. make/ and the folders'
# rules.mk say how things are built: in build/, or the folder that BUILD= names. V=1 shows commands.
# make/request.mk says which variables a verb takes, and rejects the others.

SHELL := bash
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SECONDEXPANSION:
.SUFFIXES:
BUILD := build
STEPS := steps
Q := $(if $(V),,@)

help:
	@sed -n 's/^#? //p' Makefile

#? make step N=7        build rung 7, check it and time it (ARGS="--size 4096" for more);
#?                      without a GPU, or with EMULATE=1: check it on the emulator
step: | need-machine
	$(call build,$(PROGRAM))
	@$(PROGRAM) $(ARGS)

#? make trace N=7       record what the warps of one CTA do on the emulator, in which order: for
#?                      Perfetto or chrome://tracing, and as a picture (ARGS="--cta 5 --k 512")
trace: | need-gxx need-python
	$(call build,$(BUILD)/emulated/$(RUNG))
	@$(PYTHON) -m bench.trace $(BUILD)/emulated/$(RUNG) --out $(BUILD)/trace $(ARGS)

#? make diff N=7        show what rung 7 changes from the rung that it grows from
diff: | need-python
	@$(PYTHON) -m book.pages.changes $(RUNG)
#? make diffstat        count the changed lines, rung by rung
diffstat: | need-python
	@$(PYTHON) -m book.pages.changes

#? make exercise N=7    give a bug to find or a gap to fill (E=1); then make try, hint, solution
exercise hint: | need-python
	@$(call ask_exercise,$@)
try solution: | need-python need-machine
	@$(call ask_exercise,ready)
	$(call build,$(EMULATOR) $$($(call ask_exercise,targets)))
	@$(call ask_exercise,$@)

#? make new N=30 FROM=16   copy a rung under a new number
new: | need-python
	@$(PYTHON) -m exercises.new $(call quoted,$(N)) $(call quoted,$(FROM))

#? make standalone N=7  write rung 7 as one file that nvcc compiles alone, in build/standalone/;
#?                      N=all writes every rung
standalone: | need-python
	$(call build,$(RUNG:%=$(BUILD)/standalone/%.cu))
	@for file in $(RUNG:%=$(BUILD)/standalone/%.cu); do sed -n "s|^//     nvcc|$$file: nvcc|p;2q" $$file; done

#? make list            list the rungs, and the idea of each
list:
	@make/list.sh $(SOURCES)

#? make ladder          run all rungs, show and record the results; on the emulator, check them
#?                      and count. TRACK=v|s|a|t|f|all SIZES=8192,4096x14336x4096 (or squares,
#?                      models, all) PROTOCOL=burst|sustained|both|call
ladder: | need-python need-machine
	$(misuse)$(call build,$(if $(EMULATED),$(EMULATED_PROGRAMS),$(PROGRAMS)))
	@$(LADDER)

#? make energy          run v16 in parts, and record the energy that each part takes
energy: | need-python need-nvcc need-gpu
	$(call build,$(ENERGY))
	@$(PYTHON) -m bench.energy.measure $(BUILT) $(ARGS)

#? make doctor          say why this machine is slower than the records, or what it lacks
doctor: | need-python
	$(if $(EMULATED),,$(call build,$(BUILD)/steps/v16))
	@$(PYTHON) -m bench.doctor $(if $(EMULATED),,$(BUILD)/steps/v16)

#? make record          record everything that the pages quote (ARGS=--list shows what)
record: | need-python $$(RECORD_NEEDS)
	$(if $(LISTED),,$(call build,$(EMULATED_PROGRAMS) $(if $(COUNTED),,$(PROGRAMS) $(VARIANTS) $(ENERGY))))
	@$(PYTHON) -m bench.record $(ARGS)


#? make emulate FILE=kernel.cu   run a CUDA program that is not of this project on the emulator
#?                      (ARGS=--help shows the options)
emulate: | need-python need-gxx
	$(if $(FILE)$(ARGS),,$(error which program? Say for example `make emulate FILE=kernel.cu`))
	@EMULATE_BUILD=$(abspath $(BUILD)) $(PYTHON) -m emulator.translate $(if $(FILE),$(call quoted,$(FILE))) $(ARGS)

#? make rungs           build all rungs for a GPU; make emulated: for the emulator
rungs: $$(PROGRAMS)
emulated: $$(EMULATED_PROGRAMS)
#? make variants        build the experiments in bench/variants
variants: $$(VARIANTS)
#? make library         build the last rung as a library: build/library/libgemm_ladder.a and .so
library: $$(LIBRARY)
#? make rivals CUTLASS=folder   build the kernels of other projects that bench/rivals has
#?                      adapters for; also FAST_CU= THUNDERKITTENS= DEEPGEMM=
rivals: $$(RIVALS)

#? make plots           draw the recorded results into plots/, and memory layouts into plots/ideas/;
#?                      RESULTS=a.jsonl draws that run, into build/plots/
plots: $(BUILD)/venv/plots.stamp
	@$(BUILD)/venv/bin/python -m plots.plot $(call option,results,$(RESULTS)) $(PLOTS_OUT) $(ARGS)

#? make notes           fill the tables of notes/ and the README from the recorded results
notes: | need-python
	@$(PYTHON) -m notes.tools.fill $(ARGS)

#? make book            make static web pages of it all: build/book/index.html
book: $(BUILD)/venv/book.stamp
	@$(BUILD)/venv/bin/python -m book.make_book --out $(BUILD)/book $(ARGS)

#? make test            run every test that this machine can run; with FULL=1 at length, as CI does
#? make check           run what is quick: tests of what was touched, host units, style
test check: | need-python need-gxx
	$(if $(DRY),,+)@make/test.sh $(SELF) '$(parallel)' $(PYTHON) $(BUILD) $(if $(filter check,$@),--check) $(WORDS)

#? make sass N=7        show the machine code (SASS) of rung 7
sass: | need-cuobjdump
	$(call build,$(BUILD)/steps/$(RUNG).o)
	@$(call tool,cuobjdump) -sass $(ARGS) $(BUILD)/steps/$(RUNG).o | c++filt

#? make resources N=7   show its registers, shared memory, stack and spills
resources: | need-nvcc
	$(call build,$(BUILD)/steps/$(RUNG).o)
	@make/resources.sh $(BUILD)/steps/$(RUNG).ptxas.log

#? make sanitize N=7    run it under compute-sanitizer
sanitize: | need-compute-sanitizer need-gpu
	$(call build,$(BUILD)/steps/$(RUNG))
	@for tool in memcheck racecheck synccheck; do \
	    echo "compute-sanitizer --tool $$tool"; \
	    $(call tool,compute-sanitizer) --tool $$tool --error-exitcode 1 $(BUILD)/steps/$(RUNG) \
	        $(or $(ARGS),--m 256 --n 512 $(if $(filter t%,$(RUNG)),,--k 256)) --protocol none || failed=1; \
	done; [ -z "$$failed" ]

#? make format          format the sources in place
format: $(BUILD)/venv/tests.stamp
	$(Q)git ls-files -co --exclude-standard '*.[ch]' '*.cu' '*.cuh' '*.cpp' | xargs $(BUILD)/venv/bin/clang-format -i
	$(Q)$(BUILD)/venv/bin/ruff format -q .
	$(Q)$(BUILD)/venv/bin/ruff check --fix .

#? make clean           remove build/
clean:
	rm -rf $(BUILD)
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

include $(dir $(firstword $(MAKEFILE_LIST)))make/request.mk
include make/tools.mk bench/rules.mk library/rules.mk make/rungs.mk make/emulator.mk plots/rules.mk exercises/rules.mk \
    make/tests.mk make/links.mk
