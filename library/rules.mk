# The last rung as a library.

LIBRARY := $(BUILD)/library/libgemm_ladder.a $(BUILD)/library/libgemm_ladder.so
LIBRARY_CODE := -Xcompiler -fPIC,-fno-gnu-unique
LIBRARY_LIBS := -Wl,--exclude-libs,ALL -L$(CUDA_LIB) -lcudart_static -lpthread -ldl -lrt
LIBRARY_PARTS := $(BUILD)/library/linear.o $(BUILD)/library/tune.o
$(BUILD)/library/linear.o: library/gemm_ladder.cu $(BUILD)/flags
	$(call nvcc,$<,$(NVCC) $(HOPPER) $(NVCCFLAGS) $(LIBRARY_CODE) $(PTXAS) $(DEPS) -MT $@ -c $< -o $@)
$(BUILD)/library/tune.o: common/tune.c $(BUILD)/flags
	$(call cc,-fPIC $(DEPS))
# One object, in which all but the library's own functions is local.
$(BUILD)/library/libgemm_ladder.o: $(LIBRARY_PARTS)
	$(Q)ld -r --force-group-allocation -o $@ $^ && $(OBJCOPY) -w --keep-global-symbol='gl_*' $@
$(BUILD)/library/libgemm_ladder.a: $(BUILD)/library/libgemm_ladder.o
	$(Q)rm -f $@; ar rcs $@ $<
$(BUILD)/library/libgemm_ladder.so: $(BUILD)/library/libgemm_ladder.o
	$(call run,link $@,$(CXX) -shared -o $@ $< $(LIBRARY_LIBS))
