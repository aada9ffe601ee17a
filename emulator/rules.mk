# How the emulator, its tests and the programs that it runs are built, by g++ alone. Included by the
# Makefile beside this file and by the one of the tree; paths are from the folder above this one.

CXX := g++
OBJCOPY := objcopy
# A new compiler's new warning must not stop a reader: warnings are errors only under STRICT=1.
WERROR := $(if $(filter 1,$(STRICT)),-Werror)
WARN := -Wall -Wextra $(WERROR)
# A rung names the fields of its step record that it needs; the others are 0.
RUNG_WARN := -Wno-missing-field-initializers
# The programs that the emulator runs are compiled with -fsanitize=thread, so that the compiler calls
# a function at every load and store; without libtsan the emulator defines these functions. No
# compiler pass may join neighbouring accesses or split a 16-byte one: bank conflicts are counted by
# access. Volatile reads have functions of their own: loops that read a flag are made of them. The
# emulator's own cuda_runtime.h and the like are in include/toolkit. No code needs floating-point
# exceptions: -fno-trapping-math lets loops that convert numbers be vectorised. Some compilers define
# _FORTIFY_SOURCE by themselves: fiber.cpp.
EMULATOR_INCLUDE := -Icommon -Iemulator/include -isystem emulator/include/toolkit
EMULATOR_FLAGS := -std=c++20 -O3 -g1 $(WARN) -fno-strict-aliasing -fno-trapping-math \
    -fno-tree-loop-distribute-patterns -U_FORTIFY_SOURCE $(EMULATOR_INCLUDE)
KERNEL_FLAGS = -std=c++20 -O2 -g $(WARN) $(RUNG_WARN) -Wno-unknown-pragmas -Wno-psabi \
    -fsanitize=thread -fno-tree-vectorize -fno-tree-slp-vectorize -fno-store-merging -fno-tree-sra \
    --param=tsan-distinguish-volatile=1 --param=tsan-instrument-func-entry-exit=0 \
    -fno-strict-aliasing $(EMULATOR_INCLUDE)
# Lists an object's headers beside it, those of -isystem too, so that a changed header rebuilds what
# includes it.
ALL_DEPS = -MD -MP -MF $@.d

# $(call run,SAYS,COMMAND): every recipe that builds prints one line.
define run
@mkdir -p $(@D); echo '$(1)'
$(Q)$(2)
endef
# $(call host,MORE FLAGS) compiles $< to $@: parts of the emulator.
host = $(call run,c++ $<,$(CXX) $(EMULATOR_FLAGS) $(1) $(ALL_DEPS) -c $< -o $@)
# $(call keep,FILE,TEXT) writes the file only if its text has changed, so that what depends on it is
# rebuilt only then. At some lengths make 4.3 reads a file's last newline as well: hence strip.
keep = $(if $(call differ,$(strip $(file <$(1))),$(strip $(2))),$(shell mkdir -p $(dir $(1)))$(file >$(1),$(2)))
differ = $(if $(subst x$(1),,x$(2))$(subst x$(2),,x$(1)),differ)
keep_emulator_flags = $(call keep,$(BUILD)/emulator/flags,$(CXX) $(EMULATOR_FLAGS) $(KERNEL_FLAGS))

# The sources are compiled in two groups, one for each of two processors: most of the time goes into
# headers that they share. The sources of a group also share their anonymous namespaces. `often` is
# what runs for each access, product or switch of threads; -O1 halves the time that the rest takes to
# compile, and costs a run 2 to 4 %.
EMULATOR_OFTEN := accesses barriers blas cells clocks copies fiber mbarrier multiply \
    operations order scheduler warp wgmma
EMULATOR_SOURCES_often := $(EMULATOR_OFTEN:%=emulator/src/%.cpp)
EMULATOR_SOURCES_rest := $(filter-out $(EMULATOR_SOURCES_often),$(wildcard emulator/src/*.cpp))
EMULATOR := $(BUILD)/emulator/libemulator.a
EMULATOR_OBJECTS := $(BUILD)/emulator/src/often.o $(BUILD)/emulator/src/rest.o
$(EMULATOR_OBJECTS): $(BUILD)/emulator/src/%.o: $$(EMULATOR_SOURCES_$$*) $(BUILD)/emulator/flags
	$(call host,$(if $(findstring rest,$*),-O1) \
	    -fno-gnu-unique $(patsubst %,-include %,$(wordlist 2,99,$(EMULATOR_SOURCES_$*))))
# Inline functions of the standard library become local: a program has them instrumented, and the
# linker would take those for the emulator's, too.
$(EMULATOR): $(EMULATOR_OBJECTS)
	$(Q)ld -r --force-group-allocation -o $@.o $^
	$(Q)$(OBJCOPY) -w -L '_ZNSt*' -L '_ZNKSt*' -L '_ZSt*' -L '_ZZNSt*' $@.o && rm -f $@ && ar rcs $@ $@.o

# What translate/ builds a program with: it reads these lines. @ is the folder above this one. What
# calls a helper is known where it is inlined, as on a GPU.
PARTS = 'CXX=$(CXX)' 'VERSION=$(VERSION)' 'FLAGS=$(patsubst \
    emulator/%,@/emulator/%,$(patsubst -I%,-I@/%,$(KERNEL_FLAGS))) -finline-functions -fno-partial-inlining \
    --param=max-inline-insns-auto=500 --param=max-inline-insns-single=500 --param=early-inlining-insns=100'
VERSION = $(or $(shell git log -1 --date=format:%Y.%m.%d --format=%cd-%h -- emulator common/formats 2>/dev/null),unknown)
.PHONY: emulate-parts emulate-version
emulate-parts: $(EMULATOR)
emulate-parts emulate-version:
	@printf '%s\n' $(PARTS) 'EMULATOR=$(abspath $(EMULATOR))'

-include $(wildcard $(BUILD)/emulator/*/*.d)
