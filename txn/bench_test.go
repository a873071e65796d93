//go:build unix

package txn_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/renameio/v2"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/journal"
	"mend/txn"
)

// BenchmarkRewrite rewrites 1,000 files of 2.5 KB in 250 folders: in one repair, journaled and
// durable as a whole, and for comparison one by one with renameio, which makes the contents
// durable but not the names.
func BenchmarkRewrite(b *testing.B) {
	dir := b.TempDir()
	root := filepath.Join(dir, "storage")
	ops := rewriteOps(b, root)
	b.Run("mend", func(b *testing.B) {
		j, err := journal.Open(filepath.Join(dir, "journal"), journal.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = j.Close() })
		st, err := tree.Open(root, false, tree.Options{Owner: j.ID()})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			p := change.Plan{Session: "ses_1", Cause: change.Cause{Kind: change.CauseScan}, Ops: ops}
			if _, err := txn.Run(context.Background(), j, st, p); err != nil {
				b.Fatal(err)
			}
			ops = change.Inverse(ops)
		}
	})
	b.Run("renameio", func(b *testing.B) {
		for b.Loop() {
			for _, o := range ops {
				name := filepath.Join(root, "part", o.Ref.Message, o.Ref.Part+".json")
				if err := renameio.WriteFile(name, o.Post.Data, 0o644, renameio.WithTempDir(filepath.Dir(name))); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// rewriteOps creates the files, and returns ops that change all of them.
func rewriteOps(b *testing.B, root string) []change.Op {
	b.Helper()
	var ops []change.Op
	for i := range 1000 {
		msg, prt := fmt.Sprintf("msg_%03d", i/4), fmt.Sprintf("prt_%04d", i)
		data := fmt.Appendf(nil, "{\n  \"id\": %q,\n  \"sessionID\": \"ses_1\",\n  \"messageID\": %q,\n  \"type\": \"text\",\n  \"text\": \"%02300d\"\n}", prt, msg, i)
		name := filepath.Join(root, "part", msg, prt+".json")
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = os.WriteFile(name, data, 0o644)
		}
		if err == nil {
			err = os.Chmod(name, 0o644)
		}
		if err != nil {
			b.Fatal(err)
		}
		ops = append(ops, change.Op{
			Ref:  change.Ref{Kind: change.KindPart, Session: "ses_1", Message: msg, Part: prt},
			Pre:  &change.Image{Data: data, Mode: 0o644},
			Post: &change.Image{Data: append(data[:len(data)-2:len(data)-2], ",\n  \"synthetic\": true\n}"...), Mode: 0o644},
		})
	}
	return ops
}
