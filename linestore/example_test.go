package linestore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mend/change"
	"mend/linestore"
)

// logLayout has one file; the key of a line is its first word.
type logLayout struct{}

func (logLayout) Path(ref change.Ref) (string, change.Ref, error) { return "log", ref, nil }

func (logLayout) Key(line []byte) string {
	key, _, _ := strings.Cut(string(line), " ")
	return key
}

// A record is the last line with its key: it is replaced by a line that is appended.
func Example() {
	root, err := os.MkdirTemp("", "log")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	if err := os.WriteFile(filepath.Join(root, "log"), []byte("a 1\nb 1\n"), 0o600); err != nil {
		panic(err)
	}
	s, err := linestore.New(root, logLayout{}, linestore.Options{Owner: "me"})
	if err != nil {
		panic(err)
	}
	ctx, line := context.Background(), func(s string) *change.Image { return &change.Image{Data: []byte(s), Mode: linestore.Mode} }
	st, err := s.Prepare(ctx, change.Plan{Session: "log", Ops: []change.Op{
		{Ref: change.Ref{Kind: change.KindMessage, Session: "log", Message: "a"}, Pre: line("a 1"), Post: line("a 2")},
	}})
	if err != nil {
		panic(err)
	}
	out, err := s.Commit(ctx, st)
	if err != nil {
		panic(err)
	}
	data, _ := os.ReadFile(filepath.Join(root, "log"))
	fmt.Printf("%s\n%s", out.State, data)
	// Output:
	// committed
	// a 1
	// b 1
	// a 2
}
