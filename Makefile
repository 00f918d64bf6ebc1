# What to type. Each target sets up what it needs first (scripts/setup): a fresh Debian or Ubuntu needs git, make, Rust.
#
#   make demo       build, make a seeded capture, read it, show the calls and one ladder
#   make test       every test of the workspace, the fuzz corpora replayed
#   make lint       the project's own rules, rustfmt, clippy, cargo deny
#   make accuracy   our figures against an oracle's, capture by capture: docs/accuracy.md
#   make bench      reading, capturing, recording and finding beside other programs: bench/*.md; as root for all of it,
#                   BENCH="read live log find search" for some
#   make fuzz       every fuzz target; SECONDS_EACH=600, FUZZ_JOBS=2 at once, TARGETS="wire_sip ..." for some
#   make build      the release binary: target/release/trunkline

SHELL := /bin/bash
export PATH := $(CURDIR)/target/tools/bin:$(HOME)/.cargo/bin:$(PATH)

SECONDS_EACH ?= 600
FUZZ_JOBS ?= 2
TARGETS ?=
BENCH ?=

.DEFAULT_GOAL := help
.PHONY: help build demo test lint accuracy bench fuzz clean

help:
	@sed -n 's/^#   //p' Makefile

build:
	scripts/setup build
	cargo build --locked --release

demo: build
	scripts/demo

test:
	scripts/setup test
	cargo test --locked --workspace --no-fail-fast

lint:
	scripts/setup lint
	cargo xtask tidy
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	scripts/deny

accuracy:
	scripts/setup build
	cargo xtask accuracy --write

bench:
	scripts/setup bench
	cargo xtask bench $(BENCH)

fuzz:
	scripts/setup fuzz
	scripts/fuzz $(SECONDS_EACH) $(FUZZ_JOBS) $(TARGETS)

clean:
	cargo clean
	rm -rf fuzz/target bench/work
