# What to type. Each target sets up what it needs first (scripts/setup): a fresh Debian or Ubuntu needs git, make, Rust
# and Node.
#
#   make demo       build, make a seeded capture, read it, show the calls and one ladder; then a simulated network in
#                   the browser
#   make test       every test of the workspace, the fuzz corpora replayed, what threads meet at tried in every order
#   make check      before a commit: format, tidy, clippy and tests of the crates that changed, what depends on them
#                   compiled; ALL=1 runs the tests of what depends on them, too
#   make tests      builds all tests and runs none
#   make lint       the project's own rules, rustfmt, clippy, cargo deny
#   make accuracy   our figures against an oracle's, capture by capture: docs/accuracy.md
#   make bench      reading, capturing, recording, finding, the web, the cache beside other programs: bench/*.md; as
#                   root for all of it, BENCH="read live log find search web cache graph" for some
#   make fuzz       every fuzz target; SECONDS_EACH=600, FUZZ_JOBS=2 at once, TARGETS="wire_sip ..." for some
#   make peers      tests against programs that others wrote and that are too heavy for make test; PEERS="kamailio" for
#                   some. Each is set up once, in ~/.cache/trunkline/peers or TRUNKLINE_PEERS
#   make build      the release binary with its pages: target/release/trunkline; its symbols: trunkline.debug beside it
#   make ui         the pages alone: ui/dist

SHELL := /bin/bash
export PATH := $(CURDIR)/target/tools/bin:$(HOME)/.cargo/bin:$(PATH)

SECONDS_EACH ?= 600
FUZZ_JOBS ?= 2
TARGETS ?=
BENCH ?=
ALL ?=
PEERS ?=

.DEFAULT_GOAL := help
# What the pages are made from.
UI_SOURCES = $(shell find ui -type f -not -path 'ui/node_modules/*' -not -path 'ui/dist/*' -not -path 'ui/e2e/*')

TARGET = $(abspath $(or $(CARGO_TARGET_DIR),target))
# The program that the tests have built: built by itself it would be compiled once more.
PROGRAM = $(TARGET)/debug/trunkline
# What builds the tests; `make test TESTS=` takes those that were built before.
TESTS = tests
# Lists of the tests that were built. Run from these lists they do not wait for cargo, which has clippy beside them.
BUILT = --binaries-metadata $(TARGET)/tests.json --cargo-metadata $(TARGET)/workspace.json

.PHONY: help setup ui build demo check tests test test-programs test-pages lint tidy fmt clippy deny
.PHONY: peers accuracy bench fuzz clean

help:
	@sed -n 's/^#   //p' Makefile

ui: ui/dist/index.html

ui/node_modules/.package-lock.json: ui/package.json ui/package-lock.json
	scripts/setup ui
	cd ui && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

ui/dist/index.html: ui/node_modules/.package-lock.json $(UI_SOURCES)
	scripts/setup ui
	cd ui && npm run --silent build
	@touch $@

build: ui
	scripts/setup build
	cargo build --locked --release
	scripts/strip $(or $(CARGO_TARGET_DIR),target)/release/trunkline

demo: build
	scripts/setup demo
	scripts/demo

# All that is installed for building, testing and checking.
setup:
	scripts/setup test
	scripts/setup lint
	scripts/setup ui

# The pages are built if they are not there; otherwise the ones that are there do.
check: ui/node_modules/.package-lock.json
	scripts/setup test
	@[ -e ui/dist/index.html ] || $(MAKE) ui
	cargo xtask check $(if $(ALL),--all)

tests: ui
	scripts/setup test
	rm -f $(TARGET)/tests.json $(TARGET)/workspace.json
	scripts/step build cargo nextest run --locked --workspace --tests --no-run --timings
	cargo nextest list --locked --workspace --tests --list-type binaries-only --message-format json >$(TARGET)/tests.json
	cargo metadata --locked --format-version 1 >$(TARGET)/workspace.json

# Loom's models want nothing but a processor, and get what tests leave of it.
test-programs: $(TESTS)
	scripts/beside scripts/step loom cargo xtask loom -- scripts/step tests cargo nextest run $(BUILT)

# The pages in a browser, and beside that what of them needs none.
test-pages: $(TESTS) ui
	cd ui && ../scripts/beside ../scripts/step pages npm test --silent -- \
		env TRUNKLINE_BIN=$(PROGRAM) ../scripts/step browser npm run --silent e2e

test: test-programs test-pages

# Beside the program that was named by TRUNKLINE, if it was.
peers: $(if $(TRUNKLINE),,ui)
	scripts/setup test
	$(if $(TRUNKLINE),,cargo build --locked)
	cargo xtask peers $(PEERS)

lint: tidy fmt clippy deny

tidy:
	scripts/setup build
	scripts/step tidy cargo xtask tidy

fmt:
	scripts/setup lint
	scripts/step fmt cargo fmt --all --check

clippy:
	scripts/setup lint
	scripts/step clippy cargo clippy --locked --workspace --all-targets -- -D warnings

deny:
	scripts/setup lint
	scripts/step deny scripts/deny

accuracy:
	scripts/setup build
	cargo xtask accuracy --write

bench: $(if $(BENCH),$(if $(filter web,$(BENCH)),ui),ui)
	scripts/setup bench
	cargo xtask bench $(BENCH)

fuzz:
	scripts/setup fuzz
	scripts/fuzz $(SECONDS_EACH) $(FUZZ_JOBS) $(TARGETS)

clean:
	cargo clean
	rm -rf fuzz/target bench/work ui/dist ui/node_modules
