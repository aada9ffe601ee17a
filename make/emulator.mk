# What a C++ compiler builds for any CPU: the emulator, the rungs on it, and plots/ideas.py's probes.

# The emulator's sources are compiled in groups, by their first letters: most of the time goes into
# headers that they share. The sources of a group also share their anonymous namespaces.
EMULATOR_GROUPS := a-f g-n o-z
emulator_group = $(wildcard common/emulator/[$(1)]*.cpp)
EMULATOR_OBJECTS := $(EMULATOR_GROUPS:%=$(BUILD)/emulator/%.o)
EMULATOR := $(BUILD)/emulator/libemulator.a
EMULATED_C := $(HARNESS_BOTH) $(wildcard common/harness/emulated/*.c)
EMULATED_OBJECTS := $(EMULATED_C:common/harness/%.c=$(BUILD)/emulated/harness/%.o)
EMULATED_ASAN_OBJECTS := $(EMULATED_C:common/harness/%.c=$(BUILD)/emulated/harness-asan/%.o)
EMULATED_HARNESS := $(BUILD)/emulated/harness/libharness.a
EMULATED_TRACE_MEASURE := $(addprefix $(BUILD)/emulated/harness/trace/,measure.o emulated/listen.o)
$(EMULATOR_OBJECTS): $(BUILD)/emulator/%.o: $$(call emulator_group,$$*) \
    $(BUILD)/emulated-flags
	$(call host,$(patsubst %,-include %,$(wordlist 2,99,$(call emulator_group,$*))))
$(EMULATED_OBJECTS) $(EMULATED_TRACE_MEASURE): $(BUILD)/emulated/harness/%.o: common/harness/%.c \
    $(BUILD)/emulated-flags
	$(call cc,$(EMULATOR_INCLUDE) $(ALL_DEPS))
$(EMULATED_ASAN_OBJECTS): $(BUILD)/emulated/harness-asan/%.o: common/harness/%.c $(BUILD)/emulated-flags
	$(call cc,$(SANITIZE) $(EMULATOR_INCLUDE) $(ALL_DEPS))
$(EMULATOR): $(EMULATOR_OBJECTS)
$(EMULATED_HARNESS): $(EMULATED_OBJECTS)
$(EMULATED_PROGRAMS:%=%.o): $(BUILD)/emulated/%.o: $$(call source_of,$$*)
$(EMULATED_TRACED_PROGRAMS:%=%.o): $(BUILD)/trace/emulated/%.o: $$(call source_of,$$*)
$(EMULATED_TRACED_PROGRAMS:%=%.o): KERNEL_FLAGS += $(TRACE_FLAGS)

# Programs for the emulator that print where the project's code places data; plots/ideas.py draws it.
# bank_conflicts is linked with rungs and has a step_main of its own.
PROBED_RUNGS := a03 a04 t02 t03
RUNG_PROBES := $(PROBED_RUNGS:%=$(BUILD)/probes/bank_conflicts-%)
OTHER_PROBES := $(patsubst plots/probes/%.cu,$(BUILD)/probes/%,$(wildcard plots/probes/*.cu))
PROBES := $(RUNG_PROBES) $(OTHER_PROBES)
$(OTHER_PROBES:%=%.o) $(BUILD)/probes/bank_conflicts.o: $(BUILD)/probes/%.o: $$(wildcard plots/probes/$$*.c*)
$(RUNG_PROBES): $(BUILD)/probes/bank_conflicts-%: $(BUILD)/emulated/%.o $(BUILD)/probes/bank_conflicts.o
# These objects take the place of the harness' measure.o.
$(EMULATED_TRACED_PROGRAMS): $(EMULATED_TRACE_MEASURE)
$(EMULATED_PROGRAMS) $(EMULATED_TRACED_PROGRAMS) $(OTHER_PROBES): %: %.o

# What emulate/ builds a program with: it reads these lines.
.PHONY: emulate-parts
emulate-parts: $(EMULATOR)
	@printf '%s\n' 'CXX=$(CXX)' 'EMULATOR=$(abspath $(EMULATOR))' \
	    'FLAGS=$(subst common,$(abspath common),$(KERNEL_FLAGS))'
