# What a C++ compiler builds for any CPU: the rungs on the emulator, and the probes of plots/.

EMULATED_C := $(HARNESS_BOTH) $(wildcard common/harness/emulated/*.c)
EMULATED_OBJECTS := $(EMULATED_C:common/harness/%.c=$(BUILD)/emulated/harness/%.o)
EMULATED_ASAN_OBJECTS := $(EMULATED_C:common/harness/%.c=$(BUILD)/emulated/harness-asan/%.o)
EMULATED_HARNESS := $(BUILD)/emulated/harness/libharness.a
EMULATED_TRACE_MEASURE := $(BUILD)/emulated/harness/trace/measure.o
$(EMULATED_OBJECTS) $(EMULATED_TRACE_MEASURE): $(BUILD)/emulated/harness/%.o: common/harness/%.c \
    $(BUILD)/emulated-flags
	$(call cc,$(EMULATOR_INCLUDE) $(ALL_DEPS))
$(EMULATED_ASAN_OBJECTS): $(BUILD)/emulated/harness-asan/%.o: common/harness/%.c $(BUILD)/emulated-flags
	$(call cc,$(SANITIZE) $(EMULATOR_INCLUDE) $(ALL_DEPS))
$(EMULATED_HARNESS): $(EMULATED_OBJECTS)
$(EMULATED_PROGRAMS:%=%.o): $(BUILD)/emulated/%.o: $$(call source_of,$$*)
$(EMULATED_TRACED_PROGRAMS:%=%.o): $(BUILD)/trace/emulated/%.o: $$(call source_of,$$*)
$(EMULATED_TRACED_PROGRAMS:%=%.o): KERNEL_FLAGS += $(TRACE_FLAGS)

# Programs for the emulator that print where the project's code places data; plots/ draws it.
# bank_conflicts is linked with rungs and has a step_main of its own.
PROBED_RUNGS := a03 a04 t02 t03
RUNG_PROBES := $(PROBED_RUNGS:%=$(BUILD)/probes/bank_conflicts-%)
OTHER_PROBES := $(patsubst plots/probes/%.cu,$(BUILD)/probes/%,$(wildcard plots/probes/*.cu))
PROBES := $(RUNG_PROBES) $(OTHER_PROBES)
$(OTHER_PROBES:%=%.o) $(BUILD)/probes/bank_conflicts.o: $(BUILD)/probes/%.o: $$(wildcard plots/probes/$$*.c*)
$(BUILD)/probes/bank_conflicts.o $(BUILD)/probes/happens_before.o: KERNEL_FLAGS += -iquote emulator/src
$(RUNG_PROBES): $(BUILD)/probes/bank_conflicts-%: $(BUILD)/emulated/%.o $(BUILD)/probes/bank_conflicts.o
# These objects take the place of the harness' measure.o.
$(EMULATED_TRACED_PROGRAMS): $(EMULATED_TRACE_MEASURE)
$(EMULATED_PROGRAMS) $(EMULATED_TRACED_PROGRAMS) $(OTHER_PROBES): %: %.o
