package journal

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"mend/internal/test/storetest"
)

// TestIDs pins the ids of numbers, which users type, and refuses texts that no number has.
func TestIDs(t *testing.T) {
	for _, c := range []struct {
		seq uint64
		id  string
	}{
		{0, "bababa"},
		{1, "qevajo"},
		{2, "goqare"},
		{3, "walazu"},
		{999_999, "kofuri"},
		{1_000_000, "zubababa"},
		{math.MaxUint64, "folurilucikicupafefa"},
	} {
		if got := IDOf(c.seq); got != c.id {
			t.Errorf("IDOf(%d) = %q, want %q", c.seq, got, c.id)
		}
		if got, ok := seqOf(c.id); !ok || got != c.seq {
			t.Errorf("seqOf(%q) = %d, %t, want %d", c.id, got, ok, c.seq)
		}
	}
	for _, id := range []string{"", "b", "baba", "bababax", "BABABA", "bababe?", "aabbaa", "babababa", "bibabababababababababababa", "zuzuzuzuzuzuzuzuzuzu"} {
		if seq, ok := seqOf(id); ok {
			t.Errorf("seqOf(%q) = %d, want none", id, seq)
		}
	}
}

// TestIDsOneToOne: each number has an id of its own, and ids of neighbours differ in their first letter.
func TestIDsOneToOne(t *testing.T) {
	seen := map[string]uint64{}
	for seq := range uint64(200_000) {
		id := IDOf(seq)
		if other, ok := seen[id]; ok {
			t.Fatalf("%d and %d are both %q", seq, other, id)
		}
		seen[id] = seq
	}
	storetest.SampleChecks(t, "100")
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(0, 64).Draw(t, "bits")
		seq := rapid.Uint64().Draw(t, "seq") >> (64 - k)
		id := IDOf(seq)
		if got, ok := seqOf(id); !ok || got != seq {
			t.Fatalf("seqOf(IDOf(%d) = %q) = %d, %v", seq, id, got, ok)
		}
		if next := IDOf(seq + 1); next[0] == id[0] && len(next) == len(id) && len(id) < 20 {
			t.Fatalf("%d and the next number have ids with the same first letter: %q, %q", seq, id, next)
		}
	})
}

func FuzzSeqOf(f *testing.F) {
	f.Add("bababa")
	f.Fuzz(func(t *testing.T, id string) {
		if seq, ok := seqOf(id); ok && IDOf(seq) != id {
			t.Errorf("seqOf(%q) = %d, which is %q", id, seq, IDOf(seq))
		}
	})
}
