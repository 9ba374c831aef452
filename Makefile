# Everything that people and CI do with this repository; `make help` lists it.
# Building, running and testing need Go alone. Tools that lint needs are pinned here and built into .tools.

SHELL := /bin/sh
.DEFAULT_GOAL := help

GOLANGCI_VERSION := v2.15.0
GOVULNCHECK_VERSION := v1.8.0

# The version is part of the file's name, so that raising it here is enough to have the new one built.
GOLANGCI := .tools/golangci-lint-$(GOLANGCI_VERSION)
GOVULNCHECK := .tools/govulncheck-$(GOVULNCHECK_VERSION)

# Tests that need more than Go stand behind a tag each.
TAGS := dynamodb,faults,kill,localstack

# localstack/install pins the tools that deploy.
SAM := .tools/sam/bin/sam
export SAM_CLI_TELEMETRY := 0

# Where the server of make run keeps its log.
DATA := $(or $(REPRISE_DATA),.reprise)

# What is deployed, and where to; each can be given on the command line. PARAMETERS are the template's, as Name=value; those
# that are not named keep the value of the deployment before.
STACK := reprise
TEMPLATE := template.yaml
ARCHITECTURE := arm64
PARAMETERS :=
# The bucket that functions are uploaded to. Without one, SAM makes its own, once for the account and region.
BUCKET :=
BUILD := .aws-sam/build

# How long make soak keeps the load up.
DURATION := 30m

# Functions are static, and small: no symbols, no paths, no package net/rpc. They do not name the commit either, so that the
# same code is the same file, and has the same version.
FUNCTION_FLAGS := -trimpath -buildvcs=false -tags=lambda.norpc '-ldflags=-s -w'

.PHONY: help build run test test-race test-kill test-kms test-faults sim mutations sim-mutations mutants spec soak fuzz bench bench-once bench-peers lint vulncheck fmt clean \
	test-dynamodb test-localstack bench-cost build-functions deploy validate localstack localstack-down dynamodb-local

help: ## List the targets, with the time each takes on 2 cores
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## Build bin/reprise [1 min; seconds once compiled]
	CGO_ENABLED=0 go build -trimpath -o bin/reprise ./cmd/reprise

# The server runs in the background and is stopped by its process id, however this ends.
# A server already there is refused: its answers would be taken for those of the one started here.
run: build ## Start a server, run the example audit on it, stay until Ctrl-C (RUN_ONCE=1: stop after the audit) [seconds]
	@if bin/reprise list >/dev/null 2>&1; then \
		echo "make run: a server already answers at the default address; stop it first" >&2; exit 1; \
	fi; \
	bin/reprise dev --data "$(DATA)" & server=$$!; \
	trap 'kill $$server 2>/dev/null; wait $$server 2>/dev/null' EXIT; \
	trap 'exit 129' HUP; trap 'exit 130' INT; trap 'exit 143' TERM; \
	deadline=$$(($$(date +%s) + 10)); \
	until bin/reprise list >/dev/null 2>&1; do \
		kill -0 $$server 2>/dev/null || { echo "make run: the server stopped while starting; its output is above" >&2; exit 1; }; \
		[ $$(date +%s) -lt $$deadline ] || { echo "make run: the server did not answer within 10 s" >&2; exit 1; }; \
		sleep 0.1; \
	done; \
	code=0; bin/reprise start audit --input '{"path":"go.mod"}' --wait || code=$$?; \
	if [ -n "$$RUN_ONCE" ]; then exit $$code; fi; \
	[ $$code -eq 0 ] || echo "make run: the audit ended with exit code $$code" >&2; \
	printf '%s\n' "" "The server is up. In another terminal, type:" \
		"  bin/reprise list              every run, newest first" \
		"  bin/reprise get RUN           one run: its status and result" \
		"  bin/reprise history RUN       what happened to it, record by record" \
		"  bin/reprise start order ...   another of the workflows that ship" \
		"Ctrl-C stops the server; what it knows stays in $(DATA)."; \
	wait $$server

test: ## Run all tests (needs Go alone, no network) [4 min at most, compilation included]
	go test ./...

test-race: ## Run all tests under the race detector (needs a C compiler), and without it those that it is too slow for [8 min]
	go test -race ./...
	go test ./core/script

# As below, tests that wait do so together.
test-dynamodb: ## Test the store and the functions over DynamoDB Local (needs a JDK and Maven) [3 min]
	@localstack/install dynamodb-local
	DYNAMODB_LOCAL="$(CURDIR)/.tools/dynamodb-local" go test -count=1 -tags dynamodb ./infra/aws/dynamo ./tests/cloud -parallel 4

# Tests that only wait do so together, however few processors there are.
test-localstack: ## Deploy a module of somebody else's to LocalStack and drive it (starts LocalStack if none answers) [8 min]
	go test -count=1 -tags localstack ./tests/localstack -v -timeout 40m -parallel 8

test-kms: ## Test the sealing of values with the KMS of a LocalStack that is up (localstack/up) [1 min]
	go test -count=1 -tags localstack ./infra/aws/kms

test-kill: ## Kill the server at random again and again, and check that nothing is lost [2 min]
	go test -count=1 -tags kill ./tests/kill/... -v -timeout 20m

test-faults: ## Stop the server, fill its disk, damage its files, have thousands of runs due at once [2 min]
	go test -count=1 -tags faults ./tests/faults -v -timeout 20m

SEEDS := 10000
FROM := 1

sim: ## Simulate the engine among faults, SEEDS=10000 cases FROM=1; CASE=... repeats one that failed [1 min]
	go test -count=1 ./tests/simulation -v -timeout 0 -run '^TestSeeds$$' -seeds $(SEEDS) -from $(FROM) -case '$(CASE)'

mutations: ## Take each rule out of the engine, one build each: a test, and the simulation, must notice [6 min]
	go test -count=1 -timeout 30m ./core/engine ./core/flow ./tests/simulation -run '^TestMutations$$' -mutations

sim-mutations: ## Find the seeds that catch the engine without each of its rules [10 min]
	go test -count=1 ./tests/simulation -v -timeout 0 -run '^TestMutations$$' -mutations -hunt

# Which package is changed, in how many ways, and what draws them; which of its files, and which
# changes: regular expressions. Its own tests run, and those of ALSO: PACKAGE [EXPRESSION [FLAGS]],...
PKG := ./core/engine
N := 100
SEED := 1
FILES := .
ONLY := .
ALSO := ./infra/local,./tests/simulation ^TestSeeds$$ -seeds=300 -quick

mutants: ## Change PKG in N=100 small ways; list those that no test notices (SEED, FILES, ONLY, ALSO) [3 min]
	@go run ./tests/mutants -pkg '$(PKG)' -n $(N) -seed $(SEED) -files '$(FILES)' -only '$(ONLY)' -also '$(ALSO)'

spec: ## Visit every state of the protocol's model (tests/spec); go test visits a part of them [20 s]
	go run ./tests/spec

soak: ## Keep the server at its limit for DURATION (30m): memory, latency and disk must stay flat (2m is the least, to try it out)
	go run ./tests/soak -duration $(DURATION)

# How long each target is fuzzed; and which: a regular expression. What is found is kept in testdata/fuzz of its package.
FUZZTIME := 30s
FUZZ := .

fuzz: ## Fuzz every target there is, one after the other (FUZZTIME=30s each, FUZZ=regexp) [30 s for each target]
	@grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' cmd core functions infra tests workflows | \
	sed 's|/[^/]*:func | |' | sort | grep -E -e '$(FUZZ)' | while read -r folder target; do \
		said=$$(go test "./$$folder" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x 2>&1 </dev/null) || { printf '%s\n' "$$said" >&2; exit 1; }; \
		printf '%-14s %10s executions in %s\n' "$$target" "$$(printf '%s\n' "$$said" | sed -n 's/.*execs: \([0-9]*\).*/\1/p' | tail -1)" "$$folder"; \
	done

bench: ## Run every benchmark, then the workloads of tests/bench [10 min]
	go test -run '^$$' -bench . -benchmem ./...
	go run ./tests/bench

bench-once: ## Run every Go benchmark once, only to see that it still works [1 min]
	go test -run '^$$' -bench . -benchtime 1x ./...

bench-cost: ## Count what activities cost on AWS, beside others (needs a JDK and Maven, for DynamoDB Local) [3 min]
	@localstack/install dynamodb-local
	DYNAMODB_LOCAL="$(CURDIR)/.tools/dynamodb-local" go run ./tests/bench/cost

bench-peers: ## Run the same workloads on other engines (downloads them) [5 min]
	tests/bench/peers/run

build-functions: ## Build the Lambda functions into BUILD [1 min]
	@localstack/install sam
	CGO_ENABLED=0 GOFLAGS="$$GOFLAGS $(FUNCTION_FLAGS)" $(SAM) build --template-file "$(TEMPLATE)" \
		--build-dir "$(BUILD)" --parameter-overrides Architecture=$(ARCHITECTURE)

# The version is a hash of the functions: a deployment of the same code unblocks nothing, and replaces nothing.
deploy: build-functions ## Deploy to AWS, in the account and region of your environment (STACK=reprise PARAMETERS="Name=value ...") [3 min]
	$(SAM) deploy --template-file "$(BUILD)/template.yaml" --stack-name $(STACK) --s3-prefix $(STACK) \
		$(if $(BUCKET),--s3-bucket $(BUCKET),--resolve-s3) \
		--capabilities CAPABILITY_IAM --no-confirm-changeset --no-fail-on-empty-changeset --no-progressbar \
		--parameter-overrides Architecture=$(ARCHITECTURE) \
		Version=$$(cat "$(BUILD)"/*/bootstrap | git hash-object --stdin | cut -c 1-12) $(PARAMETERS)

validate: ## Check the template [10 s]
	@localstack/install sam
	$(SAM) validate --lint --region us-east-1 --template-file "$(TEMPLATE)"

localstack: build ## Run the whole system on LocalStack here, and two workflows on it (RUN_ONCE=1: stop it afterwards) [1 min]
	@localstack/try

localstack-down: ## Stop the LocalStack of make localstack
	localstack/down

dynamodb-local: ## Install DynamoDB Local for the tests that need it (a JDK and Maven do it); prints its folder [1 min at first]
	@localstack/install dynamodb-local
	@echo "$(CURDIR)/.tools/dynamodb-local"

lint: $(GOLANGCI) ## Check format, go vet and the rules of .golangci.yaml [1 min]
	@unformatted=$$(gofmt -s -l .) && [ -z "$$unformatted" ] || \
		{ printf 'not formatted (make fmt does it):\n%s\n' "$$unformatted" >&2; exit 1; }
	go vet -tags $(TAGS) ./...
	$(GOLANGCI) run --build-tags $(TAGS) ./...

# What is in the module cache must be what go.sum says; that needs nobody else.
# govulncheck exits with 3 for a finding. Only a database out of reach is forgiven: that says nothing about the code.
vulncheck: $(GOVULNCHECK) ## Check modules against go.sum, look for known vulnerabilities (skipped where their database cannot be reached) [10 s]
	go mod verify
	@code=0; report=$$($(GOVULNCHECK) ./... 2>&1) || code=$$?; printf '%s\n' "$$report"; \
	case "$$code $$report" in \
		1*"fetching vulnerabilities:"*) echo "vulncheck: SKIPPED, the vulnerability database cannot be reached" ;; \
		*) exit $$code ;; \
	esac

fmt: ## Format all Go code
	gofmt -s -w .

clean: ## Remove what make built; .tools and data stay
	rm -rf bin

$(GOLANGCI):
	GOBIN="$(CURDIR)/.tools" go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv .tools/golangci-lint $@

$(GOVULNCHECK):
	GOBIN="$(CURDIR)/.tools" go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
	mv .tools/govulncheck $@
