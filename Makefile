# SPDX-License-Identifier: MIT OR Apache-2.0
# The front door.  meson and ninja do the work; `make help` lists what there is.

BUILD ?= build
ARCH ?= aarch64
PREFIX ?= /usr/local
DESTDIR ?=
# Debian's interpreter, not one that happens to be first in PATH.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
# CI=1: warnings are errors.
SETUP = $(if $(CI),-Dwerror=true)
export PYTHON

# A release tarball brings the built page; a checkout needs node and npm for it.
NEEDED = build $(if $(wildcard web/built),,page)

.PHONY: all build cross demo test test-arch test-quick test-long bench fuzz soak install uninstall \
	dist format tidy clean help deps

all: build ## build the programs into build/ (the default)

# The only targets that call apt-get are this one, demo and those that test or measure.
deps: ## install the Debian packages that building needs and that are missing
	@scripts/install-deps $(NEEDED)

# What was found wrong may be a package that is not there: the last line says so.
$(BUILD)/build.ninja:
	@meson setup $(BUILD) $(SETUP) || { scripts/install-deps --say $(NEEDED); exit 1; }

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet programs || { scripts/install-deps --say $(NEEDED); exit 1; }

# On a terminal it ends with the page: Ctrl-C ends the server.
demo: deps ## install what is missing, build, record the bundled example and show the result
	@$(MAKE) --no-print-directory build
	@rm -f $(BUILD)/demo.dat
	$(BUILD)/memoir run -o $(BUILD)/demo.dat -- $(BUILD)/examples/leaky
	$(BUILD)/memoir report -n 3 $(BUILD)/demo.dat
	@if [ -t 0 ] && [ -t 1 ] && [ -z "$$CI" ]; then \
		echo; echo "The page, until Ctrl-C:"; \
		$(BUILD)/memoir server $(if $(DISPLAY)$(WAYLAND_DISPLAY),--open) $(BUILD)/demo.dat; \
	else \
		echo; echo "$(BUILD)/memoir server $(BUILD)/demo.dat   shows the page at http://127.0.0.1:8080/"; \
	fi

cross: ## build for another processor into build-ARCH: make cross ARCH=aarch64
	@scripts/install-deps $(NEEDED) $(ARCH)
	@scripts/cross $(ARCH)

test: ## build and run every test
	@scripts/install-deps $(NEEDED) test aarch64
	@scripts/install-npm tests
	@$(PYTHON) scripts/test --build $(BUILD) $(if $(CI),--werror)

test-quick: ## unit and policy tests, and the end-to-end tests that take no time
	@scripts/install-deps $(NEEDED) test
	@scripts/install-npm tests
	@$(PYTHON) scripts/test --build $(BUILD) --quick

test-arch: ## everything on other processors, in full-system emulation (ARCH=aarch64)
	@scripts/install-deps $(NEEDED) test $(ARCH)
	@$(MAKE) --no-print-directory build
	@MEMOIR_BUILD=$(abspath $(BUILD)) MEMOIR_ARCH=$(ARCH) PYTHONDONTWRITEBYTECODE=1 \
		$(PYTHON) -m pytest -q -p no:cacheprovider -s -m arch tests/e2e/test_arch.py

test-long: ## other people's suites under the recorder, a million stacks; ten minutes
	@scripts/install-deps $(NEEDED) test long
	@$(PYTHON) scripts/test --build $(BUILD) --long $(if $(CI),--werror)

bench: ## plain, Memoir and heaptrack side by side; writes build/bench.json
	@scripts/install-deps $(NEEDED) bench
	@scripts/install-npm tests
	@$(MAKE) --no-print-directory build
	@ninja -C $(BUILD) --quiet
	$(PYTHON) bench/bench.py --build $(BUILD) $(BENCH)

fuzz: ## ten minutes of libFuzzer on each parser (FUZZ_SECONDS=600, FUZZ="bpf pieces": only these)
	@scripts/install-deps $(NEEDED) test
	@scripts/fuzz $(FUZZ)

soak: ## the kill and hazard tests again and again (SOAK_SECONDS=3600)
	@scripts/install-deps $(NEEDED) test
	@$(MAKE) --no-print-directory build
	@ninja -C $(BUILD) --quiet
	@$(PYTHON) scripts/soak --build $(BUILD)

install: build ## install to PREFIX (/usr/local), below DESTDIR
	@$(PYTHON) scripts/set-prefix "$(BUILD)" "$(PREFIX)"
	@ninja -C $(BUILD) --quiet programs
	DESTDIR="$(DESTDIR)" meson install --no-rebuild -C $(BUILD)

uninstall: ## remove what the last make install of this build directory has installed
	ninja -C $(BUILD) uninstall

dist: ## memoir-VERSION.tar.xz of the last commit with the built page: needs no npm to build
	@scripts/dist $(BUILD)

format: ## clang-format 14 over all C and C++ files, prettier over the page's
	@scripts/c-files | xargs clang-format-14 -i
	@scripts/install-npm tests
	@node tests/node_modules/prettier/bin/prettier.cjs --write --log-level warn web tests/web
	@scripts/reflow

tidy: build ## clang-tidy 14 over the sources; a part of make test
	@$(PYTHON) tests/policy/tidy.py . $(BUILD)

clean: ## remove the build directories
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-fuzz $(BUILD)-aarch64 $(BUILD)-mips64el

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14
