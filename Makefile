# Everything here needs Go, git, make, bash and curl. Tools of Go are built from the module
# proxy, and scripts/postgres finds or fetches a PostgreSQL. A target that needs more says so.

GO       ?= go
CRASHES  ?= 1000
FUZZTIME ?= 10m
# Flags for go test, such as -count=1 or -run.
TESTFLAGS ?=
# The race detector needs a C compiler. RACE=-race insists on it, RACE= leaves it out.
#
# SQLite is C that was translated: the checks of pointers that come with the detector make
# it three times slower, and find nothing in it. Races are found as ever.
RACE     ?= $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)

RACED    := $(if $(strip $(RACE)),$(RACE) -gcflags=modernc.org/...=-d=checkptr=0)

# The linters have a module of their own, so that nobody who imports Weft ever
# sees them.
LINT := $(GO) tool -modfile=$(CURDIR)/internal/tools/go.mod golangci-lint
# The tools of releases: vulnerabilities, list of modules, workflows.
SECURITY := $(GO) tool -modfile=$(CURDIR)/internal/tools/security.mod
BENCHMARKS := $(GO) -C benchmarks
TEMPORAL   := $(GO) -C temporal

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: ## run every test of every package, with the race detector where it can be built
ifeq ($(strip $(RACE)),)
	@echo 'test: WITHOUT the race detector: it needs a C compiler'
endif
	scripts/need curl bash
	scripts/postgres >/dev/null
	$(BENCHMARKS) test $(RACED) $(TESTFLAGS) ./...
	$(TEMPORAL) test $(RACED) $(TESTFLAGS) ./...
	$(GO) test $(RACED) -timeout=20m $(TESTFLAGS) ./...
	@echo 'test: all packages of the three modules passed'

# Packages whose tests need no PostgreSQL, no signals and no rights of Unix. A new store or backend
# that builds on macOS and Windows belongs here.
PORTABLE := ./state/... ./checkpoint ./checkpoint/memcheckpoint ./checkpoint/sqlitecheckpoint ./internal/engine \
	./internal/jsonform ./internal/statecore ./graph/node ./graph/agent ./llm ./tools ./memory ./memory/inmemory \
	./memory/sqlitememory ./server/runs/memruns ./server/runs/sqliteruns ./examples/hello ./examples/quickstart/internal/textfile

.PHONY: test-portable
test-portable: ## the tests that need no PostgreSQL, for macOS and Windows
	$(GO) build ./...
	$(GO) test -timeout=20m $(TESTFLAGS) $(PORTABLE)

.PHONY: test-pooled
test-pooled: ## the tests on PostgreSQL once more, through PgBouncer in transaction mode
	WEFT_POSTGRES_POOLED=1 $(GO) test $(RACED) -timeout=20m $(TESTFLAGS) ./internal/pgtest ./internal/pgdb ./checkpoint/pgcheckpoint/... ./memory/pgmemory ./server/runs/pgruns ./server/runs/riverqueue

.PHONY: check
check: ## all that a change has to pass; a check that fails does not hide the others
	@$(MAKE) --no-print-directory --keep-going static test

.PHONY: static
static: format-check vet lint tidy-check docs-check ## a part of check: all but the tests

.PHONY: format-check
format-check: ## a part of check: fail if make fmt would change the format
	$(LINT) fmt --diff
	cd benchmarks && $(LINT) fmt --diff --config=../.golangci.yml
	cd temporal && $(LINT) fmt --diff --config=../.golangci.yml

.PHONY: vet
vet: ## a part of check: go vet, of the three modules
	$(GO) vet -tags=poppler,phoenix ./...
	$(BENCHMARKS) vet ./...
	$(TEMPORAL) vet ./...

.PHONY: lint
lint: ## a part of check: the linters, of the three modules
	$(LINT) run ./...
	cd benchmarks && $(LINT) run --config=../.golangci.yml ./...
	cd temporal && $(LINT) run --config=../.golangci.yml ./...

.PHONY: tidy-check
tidy-check: ## a part of check: fail if make fmt would change go.mod or go.sum
	$(GO) mod tidy -diff
	$(BENCHMARKS) mod tidy -diff
	$(TEMPORAL) mod tidy -diff

.PHONY: docs-check
docs-check: ## a part of check: fail if make docs would change a file
	$(GO) run ./internal/docgen -check
	$(GO) run ./internal/proof -check

.PHONY: docs
docs: ## write internal/api, docs/deps.txt and the code in the documents again
	$(GO) run ./internal/docgen
	$(GO) run ./internal/proof -write

.PHONY: site
site: ## build the documentation site, site/public (needs python3; downloads 15 MB once)
	scripts/need python3
	scripts/site

.PHONY: vuln
vuln: ## look for known vulnerabilities in the code that is linked (needs https://vuln.go.dev, and fails without it)
	$(SECURITY) govulncheck ./...
	cd benchmarks && $(SECURITY) govulncheck ./...
	cd temporal && $(SECURITY) govulncheck ./...

.PHONY: sbom
sbom: ## write the modules that Weft compiles, with licences, to weft.cdx.json and weft-temporal.cdx.json (CycloneDX)
	$(SECURITY) cyclonedx-gomod mod -json -licenses -output weft.cdx.json
	cd temporal && $(SECURITY) cyclonedx-gomod mod -json -licenses -output ../weft-temporal.cdx.json
	@echo 'sbom: weft.cdx.json weft-temporal.cdx.json'

.PHONY: workflows
workflows: ## check the files of .github/workflows
	$(SECURITY) actionlint

.PHONY: cross
cross: ## compile and vet everything for macOS and Windows
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) vet ./...
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 $(GO) vet ./...

.PHONY: fmt
fmt: ## format the code and tidy the modules
	$(LINT) fmt
	cd benchmarks && $(LINT) fmt --config=../.golangci.yml
	cd temporal && $(LINT) fmt --config=../.golangci.yml
	$(GO) mod tidy
	$(BENCHMARKS) mod tidy
	$(TEMPORAL) mod tidy

.PHONY: bench
bench: ## measure against the floors and a peer, and check the targets (BENCHFLAGS="-run W1")
	$(BENCHMARKS) run . $(BENCHFLAGS)

# The server of its own waits for the disk, unlike the server of the tests.
.PHONY: bench-stores
bench-stores: ## the same on PostgreSQL with fsync, and fan-out on SQLite (BENCHFLAGS="-run W8")
	DATABASE_URL=$$(WEFT_POSTGRES_CLUSTER=durable WEFT_POSTGRES_DURABLE=1 scripts/postgres) && export DATABASE_URL && \
		$(BENCHMARKS) run . -stores $(BENCHFLAGS)

.PHONY: bench-server
bench-server: ## the server beside LangGraph's server and a bare writer of streams (needs python3; BENCHFLAGS="-streams 10m")
	CGO_ENABLED=0 $(BENCHMARKS) run ./server $(BENCHFLAGS)

.PHONY: bench-large
bench-large: ## what an index finds, and how fast, among 300,000 vectors in PostgreSQL (seven minutes)
	scripts/postgres >/dev/null
	WEFT_LARGE=1 WEFT_VECTORS=300000 $(GO) test ./memory/pgmemory -run='^TestRecallOfIndex$$' -count=1 -v -timeout=90m

# The server of its own waits for the disk. The data takes up to 6 GB, and is deleted at the end.
.PHONY: scale
scale: ## a million threads in PostgreSQL: sizes, lists, and pruning beside runs (15 minutes; SCALEFLAGS="-threads 100000")
	DATABASE_URL=$$(WEFT_POSTGRES_CLUSTER=scale WEFT_POSTGRES_DURABLE=1 scripts/postgres) && export DATABASE_URL && \
		$(BENCHMARKS) run ./scale $(SCALEFLAGS); status=$$?; WEFT_POSTGRES_CLUSTER=scale scripts/postgres stop; exit $$status

.PHONY: crash
crash: ## kill a run CRASHES times at random points and resume it
	scripts/postgres >/dev/null
	WEFT_CRASHES=$(CRASHES) $(GO) test ./graph -run='^TestCrash' -count=1 -v -timeout=120m
	WEFT_CRASHES=$(CRASHES) $(GO) test ./graph/agent/internal/durable -run='^TestKilled' -count=1 -v -timeout=120m
	WEFT_CRASHES=$(CRASHES) $(GO) test ./graph/flow -run='^TestKilled' -count=1 -v -timeout=120m
	WEFT_CRASHES=$$(($(CRASHES) / 10)) $(GO) test ./server -run='^TestKilledServer' -count=1 -v -timeout=120m

# In the first two rounds the database is stopped and started, too. REPLICARUNS is the number of runs of a round.
REPLICARUNS ?= 10000
.PHONY: replicas
replicas: ## execute REPLICARUNS runs on two and four replicas that are killed, stopped and drained (half an hour)
	scripts/postgres >/dev/null
	WEFT_REPLICA_RUNS=$(REPLICARUNS) $(GO) test ./server/runs/riverqueue -run='^(TestKilledReplicas|TestThroughput|TestFlood)' -count=1 -v -timeout=180m $(TESTFLAGS)

.PHONY: faults
faults: ## the faults of docs/reliability.md in full: about 15 minutes (WEFT_SEED=N plays one again)
	scripts/postgres >/dev/null
	WEFT_FAULTS=1 $(GO) test ./internal/fault -count=1 -v -timeout=30m $(TESTFLAGS)
	WEFT_FAULTS=1 WEFT_ROUNDS=300 WEFT_STEALS=10000 $(GO) test ./checkpoint/pgcheckpoint -count=1 -v -timeout=10m \
		-run='^(TestEveryFlippedBitOfAValueIsFound|TestEveryBitOfARowIsChecked|TestOneOfManyConcurrentWritersSucceeds|TestLostLeaseStoresNothing|TestConcurrentProcessesMigrateOnce)$$'
	WEFT_FAULTS=1 $(GO) test ./checkpoint/sqlitecheckpoint -count=1 -v -timeout=10m -run='^TestEveryFlippedBitIsFound$$'
	WEFT_FAULTS=1 $(GO) test ./memory/drivertest -count=1 -v -timeout=10m -run='^TestImportNamesTheMissingLine$$'
	WEFT_CONDITIONS=5000 $(GO) test ./memory/pgmemory -count=1 -v -timeout=10m -run='^TestConditionsMatch$$'

.PHONY: seeds
seeds: ## run the tests that prove what the examples promise, and print which passed
	scripts/need curl bash
	scripts/postgres >/dev/null
	$(GO) run ./internal/proof

# The server of Temporal takes minutes to compile, so its tests are not part of make test.
.PHONY: temporal
temporal: ## threads on a server of Temporal, with kills and lost connections (WEFT_E2E_THREADS=2000, WEFT_E2E_SENDS=10000)
	scripts/postgres >/dev/null
	$(GO) -C temporal/e2e mod tidy -diff
	$(GO) -C temporal/e2e test -vet=off -count=1 -v -timeout=60m $(TESTFLAGS) .

.PHONY: studio
studio: ## build the pages of the server, server/ui/dist (needs node >= 20.19 and npm >= 11)
	scripts/need node npm
	cd server/ui && npm ci --no-audit --no-fund && node scripts/build.mjs

.PHONY: studio-check
studio-check: ## fail if server/ui/dist is not what its source builds (needs node >= 20.19 and npm >= 11)
	scripts/need node npm
	cd server/ui && npm ci --no-audit --no-fund && node scripts/check.mjs

.PHONY: pages
pages: ## use the pages of the server and of the examples in headless Chromium, with axe-core (needs node, npm and chromium)
	scripts/need node npm chromium
	cd server/ui && npm ci --no-audit --no-fund && node --test --test-concurrency=1 tests/*.test.mjs

.PHONY: pictures
pictures: ## take the pictures of the chat in docs/images (needs node, npm, chromium and pngquant)
	scripts/need node npm chromium pngquant
	cd server/ui && npm ci --no-audit --no-fund && node tests/pictures.mjs

.PHONY: interop
interop: ## exchange messages with the real LangChain of npm and PyPI (needs node, npm and python3)
	WEFT_INTEROP=1 $(GO) test ./internal/interop -count=1 -v -timeout=15m

.PHONY: clients
clients: ## run the field's clients against the server (needs node, npm, python3, chromium, bash, curl, jq; CLIENTSFLAGS="-run sdk")
	$(GO) run ./internal/clients $(CLIENTSFLAGS)

.PHONY: deployment
deployment: ## check the files of docs/deployment.md (needs nginx, caddy, openssl, systemd-analyze and promtool)
	scripts/deployment

.PHONY: pdf
pdf: ## read real PDF files (needs pdftotext of Poppler, and fails without it)
	$(GO) test -race -tags=poppler ./memory/knowledge/pdf -count=1

.PHONY: transfer
transfer: ## copy a memory of 500,000 rows from SQLite to PostgreSQL and back (3 minutes)
	WEFT_TRANSFER=1 $(GO) test ./memory/drivertest -run='^TestLarge' -count=1 -v -timeout=60m

.PHONY: recall
recall: ## measure what memory finds among texts of Debian, in three stores (downloads 38 MB once; needs xz)
	DATABASE_URL=$$(scripts/postgres) && export DATABASE_URL && $(BENCHMARKS) run ./recall $(RECALLFLAGS)

.PHONY: live
live: ## ask the model that OPENAI_BASE_URL (or a provider's key) names, and report what it gets wrong
	$(GO) run ./internal/live

.PHONY: live-memory
live-memory: ## ask the same model to verify 120 facts in six languages, and count its errors (fails without a model)
	$(GO) run ./internal/liveextract

.PHONY: fuzz
fuzz: ## fuzz for FUZZTIME, divided over all fuzz targets
	$(GO) run ./internal/fuzzrun -time=$(FUZZTIME) ./...

.PHONY: phoenix
phoenix: ## send traces to a real Phoenix and read them back (needs python3; WEFT_PHOENIX_PORT=6006)
	PHOENIX_URL=$$(scripts/phoenix) && export PHOENIX_URL && \
		$(GO) test -tags=phoenix ./examples/observability -run='^TestPhoenix' -count=1 -v
