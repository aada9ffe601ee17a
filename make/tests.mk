# What only the tests need.

tests_in = $(patsubst $(1)/%.$(2),$(BUILD)/$(1)/%,$(wildcard $(1)/test_*.$(2)))
UNIT := $(call tests_in,tests/unit,c) $(addprefix $(BUILD)/tests/unit/,wrong_rung pretended_gpu)
GPU := $(call tests_in,tests/gpu,c)
DEVICE_CPP := $(call tests_in,tests/device,cpp)
DEVICE_CU := $(addsuffix -gpu,$(call tests_in,tests/device,cu))
ENERGY_TEST := $(BUILD)/tests/energy/parts
DEVICE_EMULATED := $(addsuffix -emulated,$(call tests_in,tests/device,cu))

$(UNIT): $(BUILD)/%: %.c $(EMULATED_ASAN_OBJECTS) $(EMULATOR) $(BUILD)/commit.o $(BUILD)/emulated-flags
	$(call run,cc -fsanitize $<,$(CC) $(CFLAGS) $(SANITIZE) $(EMULATOR_INCLUDE) $(ALL_DEPS) -MT $@ -c $< -o $@.o)
	$(Q)$(CXX) $(SANITIZE) -o $@ $@.o $(filter-out $(NO_MACHINE),$(filter %.o %.a,$^)) -lm
$(BUILD)/tests/unit/pretended_gpu: NO_MACHINE := %/emulated/machine.o %/emulated/measure.o %/emulated/trials.o
$(BUILD)/tests/gpu/wrong_rung: tests/unit/wrong_rung.c $(HARNESS)
$(GPU): $(BUILD)/%: %.c $(HARNESS)
$(BUILD)/tests/gpu/wrong_rung $(GPU): $(BUILD)/commit.o $(BUILD)/flags
	$(need_nvcc)$(call run,cc $(SOURCE),$(CC) $(CFLAGS) $(INCLUDE) $(DEPS) $(SOURCE) \
	    $(filter %.o %.a,$^) -o $@ $(LDLIBS))
$(DEVICE_CPP): $(BUILD)/%: %.cpp $(BUILD)/flags
	$(call run,c++ -fsanitize $<,$(CXX) -std=c++20 -O1 -g $(WARN) $(SANITIZE) -Icommon $(DEPS) $< -o $@)
$(DEVICE_CU): $(BUILD)/%-gpu: %.cu $(BUILD)/commit.o $(BUILD)/flags
	$(call nvcc,$<,$(NVCC) $(HOPPER) $(NVCCFLAGS) $(PTXAS) $(DEPS) -MT $@ $< $(BUILD)/commit.o -o $@)

# The library's, linked to it; on the emulator its family of tiles is shorter.
LIBRARY_TEST := $(BUILD)/tests/library/test_linear
LIBRARY_EMULATED := $(LIBRARY_TEST)-emulated
$(LIBRARY_TEST)-gpu: tests/library/test_linear.cpp $(BUILD)/library/libgemm_ladder.a $(BUILD)/flags
	$(call run,c++ $<,$(CXX) -std=c++20 -O3 -g $(WARN) $(INCLUDE) $(DEPS) $< $(filter %.a,$^) -o $@ $(LIBRARY_LIBS))
$(LIBRARY_EMULATED).o: tests/library/test_linear.cpp
$(BUILD)/library/linear-emulated.o: library/gemm_ladder.cu
$(LIBRARY_EMULATED): $(LIBRARY_EMULATED).o $(BUILD)/library/linear-emulated.o

# What planted/plant.py writes: hundreds of copies of rungs, whose reports need only line numbers.
PLANTED := $(patsubst $(BUILD)/planted/programs/%.cu,planted/%,$(wildcard $(BUILD)/planted/programs/*.cu))
$(PLANTED:%=$(BUILD)/emulated/%.o): KERNEL_FLAGS += -g1 -O1
$(PLANTED:%=$(BUILD)/emulated/%.o): $(BUILD)/emulated/planted/%.o: $(BUILD)/planted/programs/%.cu
PLANTED_EXERCISES := $(filter planted/exercise-%,$(PLANTED))
$(PLANTED_EXERCISES:%=$(BUILD)/emulated/%.o): KERNEL_FLAGS += $(UNFINISHED) -include exercises/watch.h

# The parts of bench/energy on the emulator; tests/energy/energy/ has what they need and it lacks.
$(ENERGY_TEST).o: KERNEL_FLAGS += -Itests/energy -iquote emulator/src -Ibench
$(ENERGY_TEST).o: bench/energy/parts.cu

$(DEVICE_EMULATED:%=%.o): $(BUILD)/%-emulated.o: %.cu

$(ENERGY_TEST) $(DEVICE_EMULATED) $(PLANTED:%=$(BUILD)/emulated/%): %: %.o
