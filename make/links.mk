# How sources for the emulator become objects, and objects become libraries and programs.
$(HARNESS) $(EMULATED_HARNESS):
	$(Q)rm -f $@; ar rcs $@ $^
$(PROGRAMS) $(VARIANTS) $(RIVALS) $(ENERGY): $(HARNESS) $(BUILD)/commit.o
	$(call run,link $@,$(CXX) -o $@ $(filter %.o,$^) $(HARNESS) $(LDLIBS))
KERNELS := $(EMULATED_PROGRAMS) $(OTHER_PROBES) \
    $(ENERGY_TEST) $(DEVICE_EMULATED) $(LIBRARY_EMULATED) $(PLANTED:%=$(BUILD)/emulated/%) $(EXERCISED)
# What the emulator runs. An object's source is the first of its prerequisites.
SOURCE = $(firstword $(filter %.c %.cpp %.cu,$^))
# Device headers with inline PTX (or wgmma.cuh's macros) call the emulator, unless common/device/emulated replaces them.
TRANSLATED := $(patsubst common/%,$(BUILD)/emulated/include/%,$(filter-out $(subst emulated/device/,,\
    $(wildcard common/device/emulated/device/*)),$(shell grep -lw asm common/device/*.cuh)))
$(TRANSLATED): $(BUILD)/emulated/include/%: common/% common/device/wgmma.cuh common/device/emulated/translate.py $(wildcard emulator/translate/*.*) | need-python
	$(call run,translate $<,$(PYTHON) -m common.device.emulated.translate $< >$@)
$(KERNELS:%=%.o) $(BUILD)/library/linear-emulated.o $(BUILD)/probes/bank_conflicts.o: $(BUILD)/emulated-flags \
    | $(TRANSLATED)
	$(call run,c++ $(SOURCE),$(CXX) -Icommon/device/emulated -I$(BUILD)/emulated/include $(KERNEL_FLAGS) \
	    $(ALL_DEPS) -x c++ -c $(SOURCE) -o $@)

# The emulator observes a program's loads and stores: it finds races, counts bank conflicts and bytes,
# and checks addresses.
# -no-pie: fixed addresses, so that addr2line finds the lines of a report's addresses.
$(KERNELS) $(RUNG_PROBES): $(EMULATED_HARNESS) $(EMULATOR) $(BUILD)/commit.o
	$(call run,link $@,$(CXX) -no-pie -o $@ $(filter %.o,$^) $(filter %.a,$^) -lm)

# What is not in git is someone's own: there a warning is no error, not even under STRICT=1.
OWN := $(if $(WERROR),$(foreach s,$(shell git ls-files -o --exclude-standard $(STEPS) 2>/dev/null),$(call rung_name,$s)))
$(OWN:%=$(BUILD)/emulated/%.o) $(EXERCISED:%=%.o): KERNEL_FLAGS += -Wno-error
$(OWN:%=$(BUILD)/steps/%.o) $(EXERCISES:%=$(BUILD)/exercises/%.o): NVCC_WERROR :=

# What is left of a rung that was renamed names the old file.
$(STEPS)/%.cu: ;
-include $(wildcard $(foreach d,library steps ptx energy kernels standalone emulated \
    emulated/planted emulated/exercises exercises probes rivals/steps tests/* \
    $(foreach h,harness emulated/harness emulated/harness-asan,$h $h/* $h/*/*), $(BUILD)/$d/*.d))
