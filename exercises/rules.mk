# What readers write for an exercise: a program for the emulator, and one for a GPU. Unfinished ones
# have unused parameters and functions.
EXERCISES := $(patsubst $(BUILD)/exercises/%.cu,%,$(wildcard $(BUILD)/exercises/*.cu))
UNFINISHED := -Wno-unused-parameter -Wno-unused-variable -Wno-unused-function -Wno-unused-but-set-parameter \
    -Wno-unused-but-set-variable
EXERCISED := $(EXERCISES:%=$(BUILD)/emulated/exercises/%)
$(EXERCISED:%=%.o): $(BUILD)/emulated/exercises/%.o: $(BUILD)/exercises/%.cu
$(EXERCISED:%=%.o): KERNEL_FLAGS += $(UNFINISHED) -include exercises/watch.h
$(EXERCISED): %: %.o
$(EXERCISES:%=$(BUILD)/exercises/%.o): $(BUILD)/exercises/%.o: $(BUILD)/exercises/%.cu $(BUILD)/flags
	$(call nvcc,$<,$(NVCC) $(call arch_of,$*) $(NVCCFLAGS) $(PTXAS) -c $< -o $@ $(DEPS) -MT $@)
$(EXERCISES:%=$(BUILD)/exercises/%): $(HARNESS) $(BUILD)/commit.o
	$(call run,link $@,$(CXX) -o $@ $@.o $(HARNESS) $(BUILD)/commit.o $(LDLIBS))
$(EXERCISES:%=$(BUILD)/exercises/%): %: %.o

# make exercise, try, hint, solution: N= and E= choose the exercise.
TRIED = $(if $(filter solution,$@),--answers,$(if $(EMULATED),,--gpu) $(call option,answer,$(ANSWER)))
ask_exercise = $(PYTHON) -m exercises.exercise $(1) $(RUNG) $(if $(E),$(call quoted,$(E))) --build $(BUILD) $(TRIED)
