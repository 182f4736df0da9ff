# torchfx. `make help` lists what there is; nothing but Go, Python with pip and a
# C++ compiler has to be installed by hand.

GO       ?= go
FUZZTIME ?= 60s
BENCH    ?= .
COUNT    ?= 1

# libtorch, the bridge and the Python reference live in the checkout
export TORCHFX_HOME := $(CURDIR)/third_party

fixtures := $(or $(TORCHFX_FIXTURES),../shared/fixtures)
pure     := ./ir/... ./export/... ./rewriter/...
testsum  := bin/testsum

# a test run that ends half-way fails, whatever its summary says
SHELL       := bash
.SHELLFLAGS := -o pipefail -c

.DEFAULT_GOAL := help
.PHONY: help build setup demo test lint bench bench-quick bench-reference bench-go bench-ir fuzz parity reference reference-test upstream-tests cuda-test gotorch gotorch-test clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the command: bin/torchfx
	@$(GO) build -o bin/torchfx ./cmd/torchfx

setup: build ## find or download libtorch and compile the bridge, once
	@bin/torchfx setup

demo: setup ## handwritten digits: load, show, rewrite, run, compare
	@$(GO) run ./examples/digits

test: setup $(testsum) ## all tests: pure Go, vet, race detector, memory debugging
	@echo "== 1/5 the packages that need no libtorch, built without cgo"
	@CGO_ENABLED=0 $(GO) test -json $(pure) | $(testsum) "pure Go"
	@echo "== 2/5 vet"
	@$(GO) vet ./...
	@echo "== 3/5 all packages under the race detector"
	@TORCHFX_REQUIRE_LIBTORCH=1 $(GO) test -race -timeout 20m -json ./... | $(testsum) "race"
	@echo "== 4/5 what calls allocate, which the race detector would change"
	@TORCHFX_REQUIRE_LIBTORCH=1 $(GO) test -json -run Allocate ./torchops | $(testsum) "allocations"
	@echo "== 5/5 the bridge with a collection before every crossing: a missing KeepAlive fails here"
	@TORCHFX_REQUIRE_LIBTORCH=1 GOGC=1 $(GO) test -tags torchfx_debug -timeout 30m -json ./cgo/... ./torchops/... | $(testsum) "debug"

$(testsum): scripts/testsum/main.go
	@$(GO) build -o $@ ./scripts/testsum

lint: ## gofmt, vet, and the pinned golangci-lint where it can be fetched
	@bash scripts/lint.sh

bench: setup reference bench-reference ## everything against PyTorch and onnxruntime (hours): writes docs/performance.md and its tables
	@$(GO) run ./scripts/bench -chains -networks all -load mobilenet_v2,lstm -write docs/performance.md

bench-quick: setup reference ## operators and networks, this module and Python without compilers: minutes
	@$(GO) run ./scripts/bench -chains -rounds 10 -networks all -network-rounds 5 -executors quick -batch 1 -threads 1

bench-reference: reference
	@bash scripts/bench/reference.sh

bench-go: setup ## run the Go benchmarks: BENCH=regexp COUNT=n
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./...

bench-ir: reference ## graphs of 10,000 and 100,000 nodes, here and in torch.fx: writes docs/bench-ir.md
	@$(GO) run ./scripts/benchir --python third_party/reference/bin/python --out docs/bench-ir.md

fuzz: ## run every fuzz target for FUZZTIME each (60s)
	@bash scripts/fuzz.sh $(FUZZTIME)

parity: setup ## replay the recorded cases that .ci/parity.txt lists
	@bin/torchfx parity $$(sed -e '/^#/d' -e '/^$$/d' -e 's|^|$(fixtures)/|' .ci/parity.txt)

reference: ## install PyTorch and friends into third_party/reference (gigabytes)
	@bash scripts/reference.sh

reference-test: reference setup ## compare with PyTorch live, bit by bit
	@bash scripts/reference_test.sh

upstream-tests: ## list what PyTorch's own tests of torch.fx hold, with the Go test beside each
	@$(GO) run ./scripts/upstreamtests

cuda-test: ## on a machine with a GPU and a torch: device tests and figures (LIBTORCH, or python3's)
	@env -u TORCHFX_HOME bash scripts/cuda.sh

gotorch: setup ## compile the C++ of wangkuiyi/gotorch against libtorch, once, and print the flags for it
	@flags=$$($(GO) run ./scripts/gotorch) && echo "CGO_LDFLAGS=\"$$flags\""

gotorch-test: setup $(testsum) ## vet and test the package gotorch
	@export CGO_LDFLAGS="$$($(GO) run ./scripts/gotorch)" && [ -n "$$CGO_LDFLAGS" ] && \
		$(GO) vet -tags gotorch ./gotorch/... && \
		TORCHFX_REQUIRE_LIBTORCH=1 $(GO) test -tags gotorch -json ./gotorch/... | $(testsum) "gotorch"

clean: ## remove what make and setup put here: bin, libtorch, the bridge, the reference
	rm -rf bin dist
	find third_party -mindepth 1 -maxdepth 1 ! -name README.md ! -name web -exec rm -rf {} +
