package claude

import (
	"bytes"
	"embed"
)

// The shapes are real transcripts of 2.1.330, with ten minutes between two prompts: Baseline
// has calls, thinking and an image; then one with a compaction that preserves messages and a
// subagent, a fork of it, and one with interrupted calls.
//
//go:embed shapes/*.jsonl
var shapes embed.FS

// Shapes are the names of the healthy transcripts that tests break.
var Shapes = []string{"baseline", "compaction", "fork", "interrupted"}

// Shape returns a healthy transcript. It panics for an unknown name.
func Shape(name string) *Transcript {
	if name == "baseline" {
		return New()
	}
	data, err := shapes.ReadFile("shapes/" + name + ".jsonl")
	if err != nil {
		panic(err)
	}
	return &Transcript{Lines: bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))}
}
