# How sources for the emulator become objects, and objects become libraries and programs.
$(HARNESS) $(EMULATOR) $(EMULATOR_RACES) $(EMULATED_HARNESS):
	$(Q)rm -f $@; ar rcs $@ $^
$(PROGRAMS) $(VARIANTS) $(RIVALS) $(TRACED_PROGRAMS) $(ENERGY): $(HARNESS) $(BUILD)/commit.o
	$(call run,link $@,$(CXX) -o $@ $(filter %.o,$^) $(HARNESS) $(LDLIBS))
KERNELS := $(EMULATED_PROGRAMS) $(EMULATED_TRACED_PROGRAMS) $(OTHER_PROBES) $(STANDALONE_EMULATED) \
    $(CHOICES) $(EMULATOR_TESTS) $(DEVICE_EMULATED) $(PLANTED:%=$(BUILD)/emulated/%) $(EXERCISED)
# What the emulator runs. The source is the first that an object depends on.
SOURCE = $(firstword $(filter %.cpp %.cu,$^))
$(KERNELS:%=%.o) $(BUILD)/probes/bank_conflicts.o $(ENERGY_TEST)-kernels.o: $(BUILD)/emulated-flags
	$(call run,c++ $(SOURCE)$(if $(findstring /trace/,$@), (traced)),$(CXX) $(KERNEL_FLAGS) $(ALL_DEPS) \
	    -x c++ -c $(SOURCE) -o $@)

# One object of a rung makes two programs. Here the emulator listens to its loads and stores itself:
# bank conflicts, bytes, addresses. In build/races/ ThreadSanitizer does.
# -no-pie: fixed addresses, so that addr2line finds the lines of the report's addresses.
$(KERNELS) $(RUNG_PROBES): $(EMULATED_HARNESS) $(EMULATOR) $(BUILD)/commit.o
	$(call run,link $@,$(CXX) -no-pie -o $@ $(filter %.o,$^) $(filter %.a,$^) -lm)
$(RACE_PROGRAMS) $(EXERCISED_RACES) $(PLANTED:%=$(BUILD)/races/%): $(BUILD)/races/%: $(BUILD)/emulated/%.o \
    $(EMULATED_HARNESS) $(EMULATOR_RACES) $(BUILD)/commit.o
	$(call run,link $@,$(CXX) -fsanitize=thread -o $@ $^ -lm)
