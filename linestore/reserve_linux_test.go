package linestore_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mend/change"
)

// TestReserve: the bytes of an append are reserved before they are written, so that a full disk does not cut a line.
func TestReserve(t *testing.T) {
	root, _ := rootEnding(t, endings["complete"])
	const size = 1 << 20
	var info unix.Stat_t
	s, st := mustPrepare(t, root, func(call string) error {
		if strings.HasPrefix(call, "append") {
			return unix.Stat(file(root), &info)
		}
		return nil
	}, change.Plan{Ops: []change.Op{{Ref: lineRef("new"), Post: image(`{"id":"new","text":"` + strings.Repeat("x", size) + `"}`)}}})
	mustCommit(t, s, st)
	if info.Size >= size || info.Blocks*512 < size {
		t.Errorf("before the write the transcript has %d bytes in %d blocks", info.Size, info.Blocks)
	}
}
