# What a C++ compiler builds for any CPU: the rungs on the emulator.

EMULATED_PROGRAMS := $(RUNGS:%=$(BUILD)/emulated/%)
EMULATED_C := $(HARNESS_BOTH) $(wildcard common/harness/emulated/*.c)
EMULATED_OBJECTS := $(EMULATED_C:common/harness/%.c=$(BUILD)/emulated/harness/%.o)
EMULATED_ASAN_OBJECTS := $(EMULATED_C:common/harness/%.c=$(BUILD)/emulated/harness-asan/%.o)
EMULATED_HARNESS := $(BUILD)/emulated/harness/libharness.a
$(EMULATED_OBJECTS): $(BUILD)/emulated/harness/%.o: common/harness/%.c $(BUILD)/emulated-flags
	$(call cc,$(EMULATOR_INCLUDE) $(ALL_DEPS))
$(EMULATED_ASAN_OBJECTS): $(BUILD)/emulated/harness-asan/%.o: common/harness/%.c $(BUILD)/emulated-flags
	$(call cc,$(SANITIZE) $(EMULATOR_INCLUDE) $(ALL_DEPS))
$(EMULATED_HARNESS): $(EMULATED_OBJECTS)
$(EMULATED_PROGRAMS:%=%.o): $(BUILD)/emulated/%.o: $$(call source_of,$$*)
$(EMULATED_PROGRAMS): %: %.o
