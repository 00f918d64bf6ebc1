# What to type. Each target sets up what it needs first (scripts/setup): a fresh Debian or Ubuntu needs git, make, Rust
# and Node.
#
#   make demo       build, make a seeded capture, read it, show the calls and one ladder; then a simulated network in
#                   the browser
#   make test       every test of the workspace, the fuzz corpora replayed, what threads meet at tried in every order
#   make tests      builds all tests and runs none
#   make lint       the project's own rules, rustfmt, clippy, cargo deny
#   make accuracy   our figures against an oracle's, capture by capture: docs/accuracy.md
#   make bench      reading, capturing, recording, finding, the web, the cache beside other programs: bench/*.md; as
#                   root for all of it, BENCH="read live log find search web cache graph" for some
#   make fuzz       every fuzz target; SECONDS_EACH=600, FUZZ_JOBS=2 at once, TARGETS="wire_sip ..." for some
#   make peers      tests against programs that others wrote and that are too heavy for make test; PEERS="kamailio" for
#                   some. Each is set up once, in ~/.cache/trunkline/peers or TRUNKLINE_PEERS
#   make build      the release binary with its pages: target/release/trunkline
#   make ui         the pages alone: ui/dist

SHELL := /bin/bash
export PATH := $(CURDIR)/target/tools/bin:$(HOME)/.cargo/bin:$(PATH)

SECONDS_EACH ?= 600
FUZZ_JOBS ?= 2
TARGETS ?=
BENCH ?=
PEERS ?=

.DEFAULT_GOAL := help
# What the pages are made from.
UI_SOURCES = $(shell find ui -type f -not -path 'ui/node_modules/*' -not -path 'ui/dist/*' -not -path 'ui/e2e/*')

.PHONY: help ui build demo tests test peers lint accuracy bench fuzz clean

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

demo: build
	scripts/setup demo
	scripts/demo

tests: ui
	scripts/setup test
	cargo test --locked --workspace --no-run

test: tests
	scripts/beside cargo xtask loom -- cargo test --locked --workspace --no-fail-fast
	cd ui && npm test --silent
	cd ui && TRUNKLINE_BIN=$(abspath $(or $(CARGO_TARGET_DIR),target))/debug/trunkline npm run --silent e2e

peers: $(if $(TRUNKLINE),,ui)
	scripts/setup test
	$(if $(TRUNKLINE),,cargo build --locked)
	cargo xtask peers $(PEERS)

lint:
	scripts/setup lint
	cargo xtask tidy
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	scripts/deny

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
