# A thin front of CMake. CPU_ONLY=1 and DEBUG=1 as in Caffe.
BUILD ?= build
CMAKE_FLAGS ?=
ifdef CPU_ONLY
  CMAKE_FLAGS += -D CPU_ONLY=$(if $(filter 0,$(CPU_ONLY)),OFF,ON)
endif
ifeq ($(DEBUG), 1)
  CMAKE_FLAGS += -D CMAKE_BUILD_TYPE=Debug
endif
GENERATOR := $(if $(shell command -v ninja),-G Ninja)

.PHONY: all test runtest demo bundle lint format clean

all:
	@[ -f "$(BUILD)/CMakeCache.txt" ] || set -- $(GENERATOR); cmake "$$@" -S . -B "$(BUILD)" $(CMAKE_FLAGS)
	@cmake --build "$(BUILD)" --parallel $$(nproc)

# As in Caffe, `test` builds the tests and `runtest` runs them.
test: all

runtest: test
	@cd "$(BUILD)" && ctest --output-on-failure --parallel $$(nproc)

demo:
	@BUILD="$(BUILD)" scripts/demo.sh

# A folder and an archive that run on other machines.
bundle:
	@scripts/bundle.sh

lint:
	@scripts/lint.sh

format:
	@scripts/lint.sh --fix

clean:
	@rm -rf "$(BUILD)"
