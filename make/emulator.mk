# What a C++ compiler builds for any CPU: the rungs on the emulator.

EMULATED_PROGRAMS := $(RUNGS:%=$(BUILD)/emulated/%)
EMULATED_TRACED_PROGRAMS := $(RUNGS:%=$(BUILD)/trace/emulated/%)
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

# These objects take the place of the harness' measure.o.
$(EMULATED_TRACED_PROGRAMS): $(EMULATED_TRACE_MEASURE)
$(EMULATED_PROGRAMS) $(EMULATED_TRACED_PROGRAMS): %: %.o
