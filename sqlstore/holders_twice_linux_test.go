package sqlstore

import (
	"context"
	"testing"
)

// TestHoldersTwice: a process is named only if it has the database open at two looks. A child process has the files of its
// parent open until it starts its own program.
func TestHoldersTwice(t *testing.T) {
	for _, again := range [][]string{nil, {"sh (process 7)"}} {
		looks := 0
		who, err := holders(t.Context(), "", func(context.Context, string) ([]string, error) {
			if looks++; looks == 1 {
				return []string{"sh (process 7)"}, nil
			}
			return again, nil
		})
		if err != nil || len(who) != len(again) || looks != 2 {
			t.Errorf("holders = %q, %v after %d looks, want %q after 2", who, err, looks, again)
		}
	}
}
