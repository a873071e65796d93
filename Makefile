# What a developer runs. `.ci/run` calls the same targets.

export CGO_ENABLED = 0
FUZZTIME ?= 10s
PLATFORMS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: build test race lint tidy cross fuzz e2e e2e-all docs

build:
	go build -o bin/mend ./cmd/mend

test:
	go test -shuffle=on ./...

race: # the race detector needs cgo; the program does not
	CGO_ENABLED=1 go test -race -short ./...

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

e2e: # the real OpenCode, installed from npm and cached
	go test -tags e2e -count=1 -short -timeout 10m -run 'Real|Continue|Wounds|Serve' ./internal/opencode
	go test -tags e2e -count=1 -timeout 10m -v -run 'RealProgram|Server|Writer' ./cmd/mend

e2e-all: # the same with every wound on every version
	go test -tags e2e -count=1 -timeout 20m ./internal/opencode ./sqlstore ./wire ./cmd/mend

docs: build # the picture in the README; needs asciinema, and npm for svg-term-cli
	PATH="$(CURDIR)/bin:$$PATH" TERM=xterm-256color asciinema rec --cols 110 --rows 40 -q --overwrite -c docs/demo.sh bin/demo.cast
	npx --yes svg-term-cli --in bin/demo.cast --out docs/demo.svg --window --width 110 --height 40
