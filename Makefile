# A thin front of CMake, with the targets of Caffe's Makefile; `make help` lists them. A Makefile.config of Caffe is read:
# Makefile.config.example has what takes effect, and the rest is answered (make config).
CONFIG_FILE := Makefile.config
-include $(CONFIG_FILE)

BUILD ?= $(or $(BUILD_DIR),build)
DISTRIBUTE_DIR ?= distribute
CMAKE_FLAGS ?=
on_or_off = $(if $(filter 0,$(1)),OFF,ON)
define carry_over
ifneq ($$(origin $(1)),undefined)
  CMAKE_FLAGS += -D $(1)=$$(call on_or_off,$$($(1)))
endif
endef
$(foreach option,CPU_ONLY USE_OPENCV USE_LEVELDB USE_LMDB USE_HDF5,$(eval $(call carry_over,$(option))))
ifneq ($(filter-out 0,$(USE_CUDNN)),)
  CMAKE_FLAGS += -D USE_CUDNN=ON
endif
ifeq ($(DEBUG), 1)
  CMAKE_FLAGS += -D CMAKE_BUILD_TYPE=Debug
endif
ifdef BLAS
  CMAKE_FLAGS += -D BLAS=$(BLAS)
endif
ifdef CUSTOM_CXX
  CMAKE_FLAGS += -D CMAKE_CXX_COMPILER=$(CUSTOM_CXX)
endif
ifdef CUDA_DIR
  CMAKE_FLAGS += -D CUDAToolkit_ROOT=$(CUDA_DIR)
endif
ifdef CUDA_ARCH
  # -gencode arch=compute_80,code=sm_80 ..., or numbers
  CMAKE_FLAGS += -D CUDA_ARCH="$(shell echo '$(CUDA_ARCH)' | grep -oE '(sm_|\b)[0-9]+\b' | sed 's/sm_//' | sort -un | paste -sd ';')"
endif
ifdef ANACONDA_HOME
  CMAKE_FLAGS += -D Python_EXECUTABLE=$(ANACONDA_HOME)/bin/python3
endif
includes := $(strip $(BLAS_INCLUDE) $(filter-out $(PYTHON_INCLUDE),$(INCLUDE_DIRS)))
libraries := $(strip $(BLAS_LIB) $(filter-out $(PYTHON_LIB),$(LIBRARY_DIRS)))
empty :=
ifdef includes
  CMAKE_FLAGS += -D CMAKE_INCLUDE_PATH="$(subst $(empty) ,;,$(includes))"
endif
ifdef libraries
  CMAKE_FLAGS += -D CMAKE_LIBRARY_PATH="$(subst $(empty) ,;,$(libraries))"
endif
ifdef TEST_GPUID
  export LAYRUB_TEST_DEVICE ?= $(if $(filter-out 0,$(CPU_ONLY)),cpu,cuda:$(TEST_GPUID))
endif
GENERATOR := $(if $(shell command -v ninja),-G Ninja)

# build(targets): configures where that is needed, or wanted by flags, and builds these targets.
define build
	@[ -f "$(BUILD)/CMakeCache.txt" ] && [ -z '$(strip $(CMAKE_FLAGS))' ] || { \
	  [ -f "$(BUILD)/CMakeCache.txt" ] || set -- $(GENERATOR); cmake "$$@" -S . -B "$(BUILD)" $(CMAKE_FLAGS); }
	@cmake --build "$(BUILD)" --parallel $$(nproc) $(if $(1),--target $(1))
endef

.PHONY: all lib tools examples test runtest py pycaffe pytest proto lint warn everything docs linecount config help \
        mat matcaffe mattest distribute deb demo bundle format clean superclean

all: ## everything
	$(call build)

lib: ## the library
	$(call build,caffe)

tools: ## layrub, which is also called caffe, and the small programs
	$(call build,$(notdir $(basename $(wildcard tools/*.cpp))))

examples: ## the programs of the examples
	$(call build,$(notdir $(basename $(wildcard examples/*/*.cpp))))

proto: ## the messages of caffe.proto
	$(call build,caffeproto)

test: all ## the tests, which runtest runs

runtest: test ## runs all tests (TEST_FILTER='*Net*': of each program those)
	@cd "$(BUILD)" && $(if $(TEST_FILTER),GTEST_FILTER='$(TEST_FILTER)') OPENBLAS_NUM_THREADS=1 \
	  ctest --output-on-failure --parallel $$(nproc)

py pycaffe: ## the Python package, in python/caffe too
	@cmake --build "$(BUILD)" --target help 2> /dev/null | grep -q pycaffe || [ ! -f "$(BUILD)/CMakeCache.txt" ] || \
	  { echo 'make: this build has no Python: scripts/install_deps.sh installs what it needs; then remove $(BUILD)/CMakeCache.txt' >&2; exit 1; }
	$(call build,pycaffe layrub)
	@ln -sfn ../../$(BUILD)/python/caffe/proto ../../$(BUILD)/python/caffe/picture $$(cd python/caffe && ls -d ../../$(BUILD)/python/caffe/_caffe*.so) python/caffe/
	@ln -sfn ../../$(BUILD)/bin python/caffe/bin && ln -sfn ../../$$(cd "$(BUILD)" && ls -d lib*/libcaffe.so | head -1 | xargs dirname | sed "s,^,$(BUILD)/,") python/caffe/lib

pytest: pycaffe ## runs the tests of the Python package
	$(call build,pytest)

mat matcaffe mattest:
	@echo 'make: there is no MATLAB interface' >&2; exit 1

warn: ## builds with warnings as errors
	$(eval CMAKE_FLAGS += -D WERROR=ON)
	$(call build)

everything: all pycaffe warn lint ## all of it

docs: ## says where the documents are
	@echo 'The documents need no build: README.md, and docs/'

linecount: ## lines of code, by folder
	@for folder in include src tools python examples bench ci scripts; do \
	  printf '%8d  %s\n' $$(git ls-files "$$folder" | grep -E '\.(cpp|hpp|h|cu|cuh|py|sh|proto)$$' | xargs cat | wc -l) $$folder; done

config: ## says what of Makefile.config takes effect
	@echo 'cmake flags: $(strip $(CMAKE_FLAGS))'
	@$(foreach option,OPENCV_VERSION USE_PKG_CONFIG WITH_PYTHON_LAYER USE_NCCL MATLAB_DIR ALLOW_LMDB_NOLOCK PYTHON_INCLUDE PYTHON_LIB PYTHON_LIBRARIES,\
	  $(if $($(option)),echo '$(option): $(answer_$(option))';)) true
answer_OPENCV_VERSION := whatever is installed is used
answer_USE_PKG_CONFIG := CMake finds libraries by itself
answer_WITH_PYTHON_LAYER := Python layers are part of every build with Python
answer_USE_NCCL := NCCL is opened when several GPUs train together, wherever it is found
answer_MATLAB_DIR := there is no MATLAB interface
answer_ALLOW_LMDB_NOLOCK := an LMDB is read without locks where its file system has none
answer_PYTHON_INCLUDE := found by the interpreter; CMAKE_FLAGS='-D Python_EXECUTABLE=...' chooses it
answer_PYTHON_LIB := $(answer_PYTHON_INCLUDE)
answer_PYTHON_LIBRARIES := $(answer_PYTHON_INCLUDE)

distribute: all ## a folder distribute/ with bin, include, lib, proto and python
	@cmake --install "$(BUILD)" --prefix "$(DISTRIBUTE_DIR)" > /dev/null
	@mkdir -p "$(DISTRIBUTE_DIR)/proto" && cp src/caffe/proto/caffe.proto "$(DISTRIBUTE_DIR)/proto/"
	@for program in "$(DISTRIBUTE_DIR)"/bin/*; do ln -sfn "$${program##*/}" "$$program.bin"; done
	@echo 'Made $(DISTRIBUTE_DIR)/'

deb: all ## a package for Debian, in the build folder
	@cd "$(BUILD)" && cpack -G DEB

demo: ## trains on digits under two strategies, and compares
	@BUILD="$(BUILD)" scripts/demo.sh

bundle: ## a folder and an archive that run on other machines
	@tools/gpu/bundle.sh

lint: ## checks format and includes
	@scripts/lint.sh

format: ## formats
	@scripts/lint.sh --fix

clean: ## removes the build folder
	@rm -rf "$(BUILD)"

superclean: clean ## and what is linked into python/caffe and distributed
	@rm -rf "$(DISTRIBUTE_DIR)" python/caffe/proto python/caffe/picture python/caffe/bin python/caffe/lib python/caffe/_caffe*.so
	@find python -name __pycache__ -prune -exec rm -rf {} +

help: ## lists the targets
	@sed -n 's/^\([a-z ]*\):[^#]*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{ printf "  %-12s %s\n", $$1, $$2 }'
