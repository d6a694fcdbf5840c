JOBS ?= $(shell scripts/jobs.sh)
PYTHON_ENV ?= build/python-env
export PATH := $(CURDIR)/build/prefix/bin:$(PATH)
.PHONY: build everything test test-all fresh-check test-python wheel check-wheel cli-wheel demo bench asan tsan fuzz lint format docs site install-check bootstrap clean

# The program; make test compiles the tests beside it.
build: bootstrap
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS) --target debias

# The quick tests of everything; test-all: also what trains long, starts and kills processes, injects faults, needs MuJoCo or reads data
# sets. QUICK=no leaves out what make test runs.
test: everything
	@scripts/run_tests.sh release -LE '^(slow|data)$$'

test-all: everything
	@scripts/run_tests.sh release $(if $(filter no,$(QUICK)),-L '^(slow|data)$$')

# What the README says to type, on a bare Debian 12, as root; RELEASE=noble: on Ubuntu 24.04. CLEAN=1: with nothing lent, in a stranger's time.
CACHES = $${XDG_CACHE_HOME:-$$HOME/.cache}
LENT = --ccache "$${CCACHE_DIR:-$(CACHES)/ccache}" --torch "$(CACHES)/debias"
fresh-check:
	@mkdir -p "$${CCACHE_DIR:-$(CACHES)/ccache}" "$(CACHES)/debias"
	@scripts/fresh_machine.sh $(if $(RELEASE),--release $(RELEASE)) $(if $(CLEAN),,$(LENT)) . 'make demo' 'make test'

everything: build
	@cmake --build --preset release -j $(JOBS)

test-python: build
	@scripts/bootstrap.sh --python
	@JOBS=$(JOBS) scripts/build_wheel.sh
	@scripts/test_python.sh "$(PYTHON_ENV)"

wheel:
	@scripts/bootstrap.sh --python
	@cmake --preset release
	@JOBS=$(JOBS) scripts/build_wheel.sh

# TORCHES: versions of torch that the losses are tested with besides, each in an environment of its own; 0.6 GB are downloaded for each.
check-wheel:
	@scripts/check_wheel.sh "$(PYTHON_ENV)" dist/debias_learn-*-manylinux*.whl
	@scripts/check_wheel.sh "$(PYTHON_ENV)" dist/debias_learn-*-py3-none-any.whl
	@[ -z "$(TORCHES)" ] || scripts/check_torch.sh $(TORCHES)

# The program as a wheel, for the torch that it is linked with, tried in a fresh environment.
cli-wheel: build
	@scripts/bootstrap.sh --python
	@scripts/build_program_wheel.sh
	@if [ -x "$(PYTHON_ENV)/bin/python" ]; then scripts/check_program_wheel.sh "$(PYTHON_ENV)" dist/debias_learn_cli-*.whl; \
	  else echo "cli-wheel: not tried, there is no torch in $(PYTHON_ENV); make test-python makes it"; fi

# SEEDS=3 gives intervals over seeds.
demo:
	@scripts/demo.sh --check
	@$(MAKE) --no-print-directory build
	@scripts/demo.sh

bench: build
	@cmake --build --preset release -j $(JOBS) --target benchmarks
	@scripts/run_benchmarks.sh

asan: bootstrap
	@cmake --preset asan
	@cmake --build --preset asan -j $(JOBS) --target core_test data_test image_test text_test fuzzers
	@scripts/run_tests.sh asan -R '^(core_test|data_test|image_test|text_test|FuzzCorpus)[.]'

tsan: bootstrap
	@JOBS=$(JOBS) scripts/run_thread_sanitizer.sh

fuzz: bootstrap
	@fuzz/run.sh

lint:
	@scripts/bootstrap.sh --lint
	@scripts/lint.sh

format:
	@scripts/bootstrap.sh --lint
	@git ls-files -z '*.h' '*.cpp' | xargs -0 clang-format-14 -i

docs: build
	@python3 -B scripts/result_pages.py --check
	@python3 -B scripts/check_docs.py
	@python3 -B scripts/reference.py --check

# The site, in build/site, with its links checked; make demo before it adds an example report.
site:
	@scripts/bootstrap.sh --site
	@scripts/build_site.sh

install-check: build
	@scripts/check_install.sh

bootstrap:
	@scripts/bootstrap.sh

clean:
	rm -rf build/release build/asan build/tsan build/fuzz build/lint
