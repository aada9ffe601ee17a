# What was asked for: which verb, by which variables, on which rung.

HERE := $(realpath $(dir $(firstword $(MAKEFILE_LIST))))
ifneq ($(HERE),$(realpath .))
  $(error run make in the Makefile's own directory: say make -C $(HERE) $(MAKECMDGOALS) $(MAKEOVERRIDES))
endif

PEERS := FAST_CU THUNDERKITTENS CUTLASS DEEPGEMM
ON_A_RUNG := step trace diff exercise try hint solution standalone sass resources sanitize
VERBS := help $(ON_A_RUNG) new diffstat list ladder energy doctor record emulate rungs emulated variants \
    library rivals plots notes book test check format clean
.PHONY: $(VERBS) always nothing

# Commands contain these without quotes: each must be one word that the shell does not change.
UNSAFE := ' " ` ; & | < > ( ) { } [ ] * ? ! \ $$ \#
define NEWLINE


endef
# A newline would end the recipe's line, quotes or not.
quoted = '$(subst ','\'',$(subst $(NEWLINE), ,$(1)))'
option = $(if $(2),--$(1) $(call quoted,$(2)))
unsafe = $(strip $(foreach c,$(UNSAFE),$(findstring $c,$(1))))$(filter-out 0 1,$(words $(1)))
plain = $(if $(call unsafe,$(subst $(NEWLINE),;,$($(1)))),$(error $(1)=$(strip $($(1))): it must be one word \
    without quotes and other characters of the shell's))
$(foreach v,BUILD STEPS CUDA_HOME $(PEERS),$(call plain,$v))

# The variables that verbs take: all, or those that are named.
TAKEN_BY_ALL := BUILD STEPS RIVALS_IN V STRICT COMMIT GPU_DEVICES CUDA_HOME NVCC CC CXX OBJCOPY PYTHON MAKE SHELL \
    NO_COLOR CFLAGS NVCCFLAGS KERNEL_FLAGS EMULATOR_FLAGS PTXAS LDLIBS
takes.N := $(ON_A_RUNG) new
takes.FROM := new
takes.E := exercise try hint solution
takes.ANSWER := try
takes.EMULATE := step exercise try hint solution ladder
takes.FILE := emulate
takes.RESULTS := plots
takes.FULL := test check
takes.ARGS := step trace ladder energy record emulate plots notes book test check sass sanitize
$(foreach v,TRACK SIZES PROTOCOL,$(eval takes.$v := ladder))
$(foreach v,$(PEERS),$(eval takes.$v := rivals))

# Command-line variables that no verb of this command takes. A make that a verb calls is given all.
ASKED := $(filter $(VERBS),$(MAKECMDGOALS))
requested = $(filter $(1),$(MAKECMDGOALS))
given = $(foreach v,$(filter-out -%,$(.VARIABLES)),$(if $(filter command,$(firstword $(origin $v))),$v))
taken = $(foreach v,$(patsubst takes.%,%,$(filter takes.%,$(.VARIABLES))),$(if $(filter $(ASKED),$(takes.$v)),$v))
lower = $(shell tr A-Z a-z <<<$(call quoted,$(1)))
as_option = $(if $(filter N,$(taken)),; options of its program go into ARGS: \
    ARGS="--$(patsubst %s,%,$(call lower,$(1))) $($(1))")
ifeq ($(if $(ASKED),$(MAKELEVEL)),0)
  STRAY := $(firstword $(filter-out $(taken) $(TAKEN_BY_ALL),$(given)))
  $(if $(STRAY),$(error make $(firstword $(ASKED)) takes no $(STRAY)=; it takes $(or \
      $(addsuffix =,$(sort $(taken))),no variable)$(call as_option,$(STRAY))))
endif

# The rungs: those of the v track first. 7, 07, v7, V7 and v07 are one rung.
SOURCES := $(sort $(wildcard $(STEPS)/v*.cu)) $(filter-out $(STEPS)/v%,$(sort $(wildcard $(STEPS)/*.cu)))
rung_name = $(firstword $(subst _, ,$(basename $(notdir $(1)))))
RUNGS := $(foreach s,$(SOURCES),$(call rung_name,$(s)))
source_of = $(firstword $(wildcard $(STEPS)/$(1)_*.cu $(STEPS)/$(1).cu))
$(if $(filter-out $(words $(RUNGS)),$(words $(sort $(RUNGS)))),$(error two files in $(STEPS)/ have \
    the same rung number: $(RUNGS)))
VERB := $(firstword $(filter $(ON_A_RUNG),$(ASKED)))
ifneq ($(VERB),)
  # The word after the verb is the rung, unless N= names it: `make step 7`.
  WORD := $(filter-out $(VERBS),$(word 2,$(MAKECMDGOALS)))
  ifneq ($(WORD),)
    N := $(WORD)
    .PHONY: $(WORD)
    $(WORD): ; @:
  endif
  $(if $(strip $(N)),,$(error which rung? Say for example `make $(VERB) N=7`; the rungs are $(RUNGS)))
  NAMED := $(call lower,$(N))
  TRACKS := $(shell printf '%.1s\n' $(RUNGS) | uniq)
  pad = $(foreach t,$(TRACKS),$(patsubst $(t)%,$(t)0%,$(filter $(t)%,$(1))))
  # A % would match anything in filter: it is no rung.
  ifeq ($(words $(NAMED))$(findstring %,$(NAMED)),1)
    RUNG := $(if $(filter standalone-all,$(VERB)-$(NAMED)),$(RUNGS),$(firstword \
        $(filter $(NAMED) v$(NAMED) v0$(NAMED) $(call pad,$(NAMED)),$(RUNGS))))
  endif
  $(if $(RUNG),,$(error there is no rung "$(N)"; the rungs are $(RUNGS)))
endif
