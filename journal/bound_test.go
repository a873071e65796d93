package journal

import (
	"encoding/json"
	"reflect"
	"testing"

	"mend/change"
)

// TestBoundThinkingIsKept: an entry has the effect of its change on bound thinking.
func TestBoundThinkingIsKept(t *testing.T) {
	want := change.Cause{Bound: &change.BoundThinking{Spoiled: 3, Removed: true}}
	var text causeText
	if err := json.Unmarshal(encodeCause(want), &text); err != nil {
		t.Fatal(err)
	}
	var got change.Cause
	if text.addTo(&got); !reflect.DeepEqual(got.Bound, want.Bound) {
		t.Errorf("got %+v, want %+v", got.Bound, want.Bound)
	}
}
