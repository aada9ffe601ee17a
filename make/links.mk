# How sources for the emulator become objects, and objects become libraries and programs.
$(HARNESS) $(EMULATED_HARNESS):
	$(Q)rm -f $@; ar rcs $@ $^
$(PROGRAMS) $(VARIANTS) $(RIVALS) $(TRACED_PROGRAMS) $(ENERGY) $(FIT): $(HARNESS) $(BUILD)/commit.o
	$(call run,link $@,$(CXX) -o $@ $(filter %.o,$^) $(HARNESS) $(LDLIBS))
KERNELS := $(EMULATED_PROGRAMS) $(EMULATED_TRACED_PROGRAMS) $(OTHER_PROBES) $(STANDALONE_EMULATED) \
    $(CHOICES) $(ENERGY_TEST) $(DEVICE_EMULATED) $(PLANTED:%=$(BUILD)/emulated/%) $(EXERCISED)
# What the emulator runs. An object's source is the first of its prerequisites.
SOURCE = $(firstword $(filter %.cpp %.cu,$^))
$(KERNELS:%=%.o) $(BUILD)/probes/bank_conflicts.o $(ENERGY_TEST)-kernels.o: $(BUILD)/emulated-flags
	$(call run,c++ $(SOURCE)$(if $(findstring /trace/,$@), (traced)),$(CXX) $(KERNEL_FLAGS) $(ALL_DEPS) \
	    -x c++ -c $(SOURCE) -o $@)

# One object of a rung makes two programs. In this one the emulator observes the loads and stores: it
# counts bank conflicts and bytes and checks addresses. In build/races/ ThreadSanitizer observes them.
# -no-pie: fixed addresses, so that addr2line finds the lines of a report's addresses.
$(KERNELS) $(RUNG_PROBES): $(EMULATED_HARNESS) $(EMULATOR) $(BUILD)/commit.o
	$(call run,link $@,$(CXX) -no-pie -o $@ $(filter %.o,$^) $(filter %.a,$^) -lm)
$(RACE_PROGRAMS) $(EXERCISED_RACES) $(PLANTED:%=$(BUILD)/races/%): $(BUILD)/races/%: $(BUILD)/emulated/%.o \
    $(EMULATED_HARNESS) $(EMULATOR_RACES) $(BUILD)/commit.o
	$(call run,link $@,$(CXX) -fsanitize=thread -o $@ $^ -lm)
