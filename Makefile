# What a developer runs. `.ci/run` calls the same targets.

export CGO_ENABLED = 0
FUZZTIME ?= 10s
FAULTS ?= full
MUTANTS ?= 8h
CROWD ?= 10m
PLATFORMS = linux/arm64 darwin/arm64 windows/amd64

.PHONY: e2e-claude e2e-codex e2e-providers-old build test night real race lint tidy cross fuzz fuzz-keep faults faults-table torture e2e e2e-providers e2e-live e2e-all mutants docs dist dist-test dist-check size rename-module wine

build:
	go build -o bin/mend ./cmd/mend

test: # everything that is fast; slow sweeps and large tables run a fixed set of their cases, make night runs all
	go test -shuffle=on ./...

# Everything. SEED is the seed of random cases, by default today's date.
night: SEED ?= $(shell date +%Y%m%d)
night:
	@echo "make night SEED=$(SEED)"
	MEND_SWEEP=all go test -timeout 180m ./...
	go test -timeout 60m -run Propert ./agent/opencode/diagnose ./agent/opencode/render ./internal/mend -rapid.seed $(SEED) -rapid.checks 1000
	$(MAKE) race faults real dist-test e2e-all e2e-claude e2e-codex e2e-kilo e2e-live e2e-providers mutants

mutants: # one operator changed at a time in the core, with gremlins: at least 85 % are noticed by the tests of its package. Takes a night
	go run ./internal/test/mutants -time $(MUTANTS)

real: # 139 real conversations, scanned, repaired and undone: prints the verdicts that differ from the golden file
	go test -count=1 -v ./internal/test/real

race: # the packages that start goroutines, without long tests; of the command only the tests that do. The agents start none, and internal/mend calls them from several. The race detector needs cgo, the program does not
	CGO_ENABLED=1 go test -race -short ./internal/mend ./internal/live ./internal/hooks ./internal/watch ./fsstore ./sqlstore ./journal
	CGO_ENABLED=1 go test -race -short -run 'UI|Watch|Hook|Plugin|Ask|Signal|Slow|Pager|Picker|Terminal|Keep' ./cmd/mend ./cmd/mend/internal/inspect

lint:
	go vet -tags e2e,man ./... ./testdata
	go tool -modfile=tools.mod golangci-lint run ./...
	go test -count=1 ./internal/test/layout

tidy:
	go mod tidy -diff
	go fix -diff ./...

cross: # only the types: compiling everything takes minutes with an empty cache
	go run ./internal/test/crosscheck $(PLATFORMS)

WINE ?= wine
wine: # the Windows build under Wine 10 or later: the demo, and the tests of packages that write to stores
	GOOS=windows go build -o bin/mend.exe ./cmd/mend
	$(WINE) bin/mend.exe demo
	GOOS=windows go test -count=1 -short -exec "$(WINE)" ./linestore ./txn ./agent/codex ./agent/sessionfile

# A line for each fuzz target in the folders FUZZ: its folder and its name.
FUZZ ?= .
FUZZERS = grep -rHo '^func Fuzz[A-Za-z0-9]*' --include='*_test.go' $(FUZZ) | sed -E 's,/[^/]*:func , ,'

# Without a limit the fuzzer spends all its time on making inputs smaller. Until Go 1.27 a
# target may fail with nothing but a deadline when its time is over (go.dev/issue/75804).
fuzz: # every fuzz target, one on each core
	@$(FUZZERS) | xargs -P $$(getconf _NPROCESSORS_ONLN) -L 1 sh -c 'out=$$(go test -run "^$$" \
		-fuzz "^$$1\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x -parallel 1 $$0 2>&1) || \
		echo "$$out" | grep -qx "    context deadline exceeded" || { echo "$$out"; exit 255; }; \
		echo "fuzz $$0 $$1: $$(echo "$$out" | grep -o "elapsed: .*" | tail -1)"'

fuzz-keep: # adds the newest inputs that this machine found, which are the hardest to find again, to the seeds
	@$(FUZZERS) | while read dir name; do found=$$(go env GOCACHE)/fuzz/$$(go list -m)/$$dir/$$name; keep=$$dir/testdata/fuzz/$$name; \
		for f in $$(find $$found -type f -size -5 2>/dev/null | xargs -r ls -t | sed -n 1,16p); do mkdir -p $$keep; cp $$f $$keep; done; done

faults: # every verb that writes, killed and failed at every call; as root also power cuts and full disks. FAULTS=sample: at every sixtieth, and on disks of a fourth of the sizes
	FAULTTEST=$(FAULTS) go test -count=1 -timeout 30m -parallel 4 ./internal/test/faulttest

faults-table: # the same, and the table in testdata/found.md
	FAULTTEST=full go test -count=1 -timeout 30m -parallel 4 ./internal/test/faulttest -update

torture: # every error, every power cut, every pair of cuts, several processes at once, damaged journals, fuzzing. Takes a night
	FAULTTEST=torture go test -count=1 -timeout 0 ./internal/test/faulttest -crowd $(CROWD)
	MEND_TORTURE=1 go test -count=1 -timeout 0 -run Case ./cmd/mend
	$(MAKE) fuzz FUZZTIME=5m

e2e: # the real programs, installed from npm and cached; TestMatrix covers what TestDamages does. Only the damages that damage.Everyday names; make night runs all
	go test -tags e2e -count=1 -short -timeout 20m -parallel 3 -v -run 'Real|Move|Continue|Damages|Serve|Matrix|Writer|Live|Providers' \
		-skip 'LivePluginHarmless|LiveSoak|^TestDamages' ./internal/test/opencode ./cmd/mend ./agent/claude ./agent/codex ./agent/opencode

# The real Claude Code VERSION, by default the newest known: every damage of internal/test/claude, kills, two processes, a full disk,
# subagents, a fork, a compaction, an upgrade and back.
e2e-claude:
	go test -tags e2e -count=1 -timeout 120m -parallel 3 -v -run Real ./agent/claude -claude $(or $(VERSION),2.1.332)

# Kilo VERSION: every damage of the matrix that its database can have, and the plugin.
e2e-kilo:
	go test -tags e2e -count=1 -timeout 60m -parallel 3 -v -run 'RealKilo|LivePlugin$$/$(or $(VERSION),7.7.9)' ./cmd/mend -kilo $(or $(VERSION),7.7.9)

# The real Codex VERSION: every damage of internal/test/codex, predicted, repaired and undone; the picker; the hooks.
e2e-codex:
	go test -tags e2e -count=1 -timeout 60m -v -run Real ./agent/codex -codex $(or $(VERSION),0.171.0)
	go test -tags e2e -count=1 -timeout 10m -v -run RealCodex ./cmd/mend -codex $(or $(VERSION),0.171.0)

e2e-providers: # every damage with every provider: mend and the real OpenCode; writes cmd/mend/testdata/providers.md
	go test -tags e2e -count=1 -timeout 60m -run Providers ./internal/test/opencode
	go test -tags e2e -count=1 -timeout 180m -v -run TestProviders ./cmd/mend -update

e2e-providers-old: # the damages of damage.ProviderTable with the real OpenCode 1.2.27; docs/providers.md has what differs
	go test -tags e2e -count=1 -timeout 60m -v -run 'TestProviders$$' ./cmd/mend -opencode 1.2.27

e2e-live: # live repair of the real OpenCode: plugin and watch, every version, and the soak
	go test -tags e2e -count=1 -timeout 300m -parallel 3 -v -run Live ./cmd/mend -soak 1000 -sessions 50

e2e-all: # the same with every damage on every version, and every bad hook; Kilo and the providers have targets of their own
	MEND_SWEEP=all go test -tags e2e -count=1 -timeout 180m -p 1 ./internal/test/opencode ./agent/opencode/database ./agent/opencode/render
	MEND_SWEEP=all go test -tags e2e -count=1 -timeout 300m -parallel 3 -skip 'RealKilo|^TestProviders$$' ./cmd/mend

docs: build # the pictures and docs/configuration.md; needs asciinema, npm for svg-term-cli, and Chromium
	go test -count=1 ./internal/config -run TestDocs -update
	go test -count=1 ./internal/ui -run TestPictures -update
	go test -tags e2e -count=1 ./cmd/mend -run TestRealReport -update
	PATH="$(CURDIR)/bin:$$PATH" TERM=xterm-256color asciinema rec --cols 100 --rows 46 -q --overwrite -c docs/demo.sh bin/demo.cast
	node docs/cast.mjs bin/demo.cast
	npx --yes svg-term-cli --in bin/demo.cast --out docs/demo.svg --window --width 100 --height 46

dist: # the files of a release, into bin/dist; see CONTRIBUTING.md
	cd tools/dist && go run .

# A package that uses text/template costs 2.7 MB: it calls methods by name, so the linker keeps all methods.
size: # the program as it is released has at most 23.5 MB
	go build -ldflags='-s -w' -o bin/mend ./cmd/mend && test $$(wc -c <bin/mend) -le 23500000

dist-test: size # the packages of this machine's platform, built twice, installed and run
	go -C tools/dist vet .
	cd tools/dist && go test -count=1 -short -timeout 20m .

dist-check: # the same for all platforms, the second time with an empty build cache; a quarter of an hour
	cd tools/dist && go test -count=1 -timeout 60m . -full

rename-module: # the module path becomes MODULE of tools/dist/project.env
	to=$$(sed -n 's/^MODULE=//p' tools/dist/project.env) && \
	go mod edit -module "$$to" && go mod edit -module "$$to/tools/dist" tools/dist/go.mod && \
	git ls-files -z --cached --others --exclude-standard '*.go' .golangci.yml | TO="$$to" xargs -0 perl -pi -e 's#"mend/#"$$ENV{TO}/#g; s#(module-path:) mend\b#$$1 $$ENV{TO}#'
