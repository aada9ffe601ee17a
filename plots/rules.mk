# Programs for the emulator that print where the project's code places data. `make probes` builds
# and asks them, and writes plots/probes/answers.json.
# bank_conflicts is linked with rungs and has a step_main of its own.
PROBED_RUNGS := a03 a04 t02 t03
.PHONY: probes
RUNG_PROBES := $(PROBED_RUNGS:%=$(BUILD)/probes/bank_conflicts-%)
OTHER_PROBES := $(patsubst plots/probes/%.cu,$(BUILD)/probes/%,$(wildcard plots/probes/*.cu))
PROBES := $(RUNG_PROBES) $(OTHER_PROBES)
probes: $(PROBES)
	BUILD=$(BUILD) $(PYTHON) -m plots.draw.records
$(OTHER_PROBES:%=%.o) $(BUILD)/probes/bank_conflicts.o: $(BUILD)/probes/%.o: $$(wildcard plots/probes/$$*.c*)
$(BUILD)/probes/bank_conflicts.o: KERNEL_FLAGS += -iquote emulator/src
$(RUNG_PROBES): $(BUILD)/probes/bank_conflicts-%: $(BUILD)/emulated/%.o $(BUILD)/probes/bank_conflicts.o
$(OTHER_PROBES): %: %.o
