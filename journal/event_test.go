package journal

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mend/change"
)

// TestDecodeEvent: an event with a correct hash is damage if it has numbers that mend does not write.
func TestDecodeEvent(t *testing.T) {
	begin := func(change func(ev *event, b *beginEvent)) *event {
		ev := &event{Kind: kindBegin, Entry: 3, Begun: 3, Pending: 1, Begin: &beginEvent{Count: 1, Ops: []hash{{1}}, Cause: "undo", Of: []uint64{1, 2}, Operation: 2}}
		change(ev, ev.Begin)
		return ev
	}
	finish := &finishEvent{State: change.Committed}
	for name, c := range map[string]struct {
		ev    *event
		valid bool
	}{
		"begin":                    {begin(func(*event, *beginEvent) {}), true},
		"latest nanosecond":        {begin(func(ev *event, _ *beginEvent) { ev.Nsec = int64(time.Second) - 1 }), true},
		"a whole second":           {begin(func(ev *event, _ *beginEvent) { ev.Nsec = int64(time.Second) }), false},
		"negative nanoseconds":     {begin(func(ev *event, _ *beginEvent) { ev.Nsec = -1 }), false},
		"all pending":              {begin(func(ev *event, _ *beginEvent) { ev.Pending = 3 }), true},
		"more are pending":         {begin(func(ev *event, _ *beginEvent) { ev.Pending = 4 }), false},
		"fewer are begun":          {begin(func(ev *event, _ *beginEvent) { ev.Begun = 2 }), false},
		"no entry":                 {begin(func(ev *event, b *beginEvent) { ev.Entry, b.Of, b.Operation = 0, nil, 0 }), false},
		"it reverts itself":        {begin(func(_ *event, b *beginEvent) { b.Of = []uint64{3} }), false},
		"it reverts entry 0":       {begin(func(_ *event, b *beginEvent) { b.Of = []uint64{0} }), false},
		"it joins itself":          {begin(func(_ *event, b *beginEvent) { b.Operation = 3 }), false},
		"it counts no op":          {begin(func(_ *event, b *beginEvent) { b.Count = 0 }), false},
		"no ops":                   {begin(func(_ *event, b *beginEvent) { b.Ops = nil }), false},
		"finish":                   {&event{Kind: kindFinish, Entry: 1, Begun: 1, Finish: finish}, true},
		"finish without an entry":  {&event{Kind: kindFinish, Begun: 1, Finish: finish}, false},
		"resolve by newest":        {&event{Kind: kindResolve, Entry: 1, Begun: 2, Resolve: &resolveEvent{By: 2}}, true},
		"resolve by a later one":   {&event{Kind: kindResolve, Entry: 1, Begun: 2, Resolve: &resolveEvent{By: 3}}, false},
		"resolve without an entry": {&event{Kind: kindResolve, Begun: 2, Resolve: &resolveEvent{}}, false},
		"gc":                       {&event{Kind: kindGC, Begun: 9, Entries: []span{{1, 1}, {2, 9}}}, true},
		"gc of a later one":        {&event{Kind: kindGC, Begun: 9, Entries: []span{{1, 10}}}, false},
		"gc without entries":       {&event{Kind: kindGC, Begun: 9}, false},
		"gc twice":                 {&event{Kind: kindGC, Begun: 9, Entries: []span{{1, 2}, {2, 3}}}, false},
		"gc of entry 0":            {&event{Kind: kindGC, Begun: 9, Entries: []span{{0, 1}}}, false},
		"gc backwards":             {&event{Kind: kindGC, Begun: 9, Entries: []span{{2, 1}}}, false},
	} {
		b, _, err := encodeEvent(7, hash{}, c.ev)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err = decodeEvent(7, b); err == nil != c.valid || err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: decodeEvent = %v, want valid %t", name, err, c.valid)
		}
	}
}

// TestSpans: numbers that follow each other, in any order, are one span.
func TestSpans(t *testing.T) {
	for _, c := range []struct {
		all  []uint64
		want []span
	}{
		{[]uint64{3, 1, 2, 2, 5, 7, 8}, []span{{1, 3}, {5, 5}, {7, 8}}},
		{[]uint64{math.MaxUint64, math.MaxUint64 - 1}, []span{{math.MaxUint64 - 1, math.MaxUint64}}},
		{nil, nil},
	} {
		if diff := cmp.Diff(c.want, spans(c.all)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}
