# What a developer runs. `.ci/run` calls the same targets.

export CGO_ENABLED = 0
FUZZTIME ?= 10s
PLATFORMS = linux/arm64 darwin/arm64 windows/amd64

.PHONY: build test race lint tidy cross fuzz faults faults-some faults-table torture e2e e2e-all bench docs

build:
	go build -o bin/mend ./cmd/mend

test:
	go test -shuffle=on ./...

PURE = mend/(session|change|wire|repair|undo|config)$$
race: # the race detector needs cgo; the program does not. The pure packages start no goroutine
	CGO_ENABLED=1 go test -race -short $$(go list ./... | grep -vE '$(PURE)')

lint:
	go vet ./... ./testdata
	go vet -tags e2e ./...
	go tool -modfile=tools.mod golangci-lint run ./...

tidy:
	go mod tidy -diff
	go fix -diff ./...

cross:
	@for p in $(PLATFORMS); do echo "build $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} go build -o /dev/null ./... || exit 1; done

fuzz: # every fuzz target, one after the other
	@go test -list '^Fuzz' ./... | awk '/^Fuzz/ {f[n++]=$$1} /^ok/ {for (i=0;i<n;i++) print $$2, f[i]; n=0}' | \
	while read pkg name; do echo "fuzz $$pkg $$name"; go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; done

faults: # every verb that writes, killed and failed at every call; as root also power cuts and full disks
	FAULTTEST=full go test -count=1 -timeout 30m ./internal/faulttest

faults-some: # the same at one call in five, for .ci/run
	FAULTTEST=full go test -short -count=1 -timeout 30m ./internal/faulttest

faults-table: # the same, and the table in the README
	FAULTTEST=full go test -count=1 -timeout 30m ./internal/faulttest -update

torture: # every error, every loss of power, every pair of cuts: for a night
	FAULTTEST=torture go test -count=1 -timeout 0 ./internal/faulttest

e2e: # the real OpenCode, installed from npm and cached
	go test -tags e2e -count=1 -short -timeout 10m -run 'Real|Continue|Wounds|Serve' ./internal/opencode
	go test -tags e2e -count=1 -timeout 20m -parallel 3 -v -run 'Matrix|RandomWounds|Server|Writer|Live' -skip 'LivePluginHarmless|LiveSoak' ./cmd/mend

e2e-all: # the same with every wound on every version, more random ones, every bad hook and the soak
	go test -tags e2e -count=1 -timeout 30m -p 1 ./internal/opencode ./sqlstore ./wire
	go test -tags e2e -count=1 -timeout 60m -parallel 3 ./cmd/mend -everything -combinations 60

bench: # mend against small C programs that only read; writes docs/performance.md. Go benchmarks: go test -bench .
	cd bench && go run .

docs: build # the picture in the README; needs asciinema, and npm for svg-term-cli
	PATH="$(CURDIR)/bin:$$PATH" TERM=xterm-256color asciinema rec --cols 110 --rows 40 -q --overwrite -c docs/demo.sh bin/demo.cast
	npx --yes svg-term-cli --in bin/demo.cast --out docs/demo.svg --window --width 110 --height 40
