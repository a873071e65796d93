package record

import (
	"testing"
	"time"

	"mend/change"
)

// TestClock checks ids at the wraps of the clock and near them.
func TestClock(t *testing.T) {
	start := time.Date(2026, 8, 14, 11, 19, 55, 136_000_000, time.UTC).UnixMilli()
	for _, c := range []struct {
		ms int64
		id string
	}{
		{start - 1, "msg_fffffffff000"},
		{start, "msg_000000000000"},
		{start + 1, "msg_000000001000"},
		{1795224835873, "msg_1fbbd1721000"}, // as in the fixture of 1.1.53
		{time.Date(2028, 10, 17, 20, 4, 31, 872_000_000, time.UTC).UnixMilli(), "msg_000000000000"},
	} {
		if got := ClockID(change.KindMessage, c.ms); got != c.id {
			t.Errorf("ClockID(%d) = %s, want %s", c.ms, got, c.id)
		}
	}
}

func TestRenumber(t *testing.T) {
	for _, c := range []struct {
		kind     change.Kind
		id, want string
	}{
		{change.KindMessage, "msg_fbbd1721000101NykoXJRH3ylIms", "msg_00000000200001NykoXJRH3ylIms"},
		{change.KindPart, "prt_fbbd1722000101IlJ1ZOOWAv5cjN", "prt_00000000200001IlJ1ZOOWAv5cjN"},
		{change.KindPart, "prt_fbbd1722000101IlJ1ZOOWAv5cjN_x", "prt_00000000200001IlJ1ZOOWAv5cjN_x"},
		{change.KindPart, "prt_0000000000_fbbd17220001", "prt_0000000020000000000000_fbbd17220001"},
		{change.KindPart, "bad_fbbd17220001", "prt_000000002000bad_fbbd17220001"},
		{change.KindPart, "prt_12", "prt_00000000200012"},
	} {
		if got := Renumber(c.kind, c.id, 2); got != c.want {
			t.Errorf("Renumber(%s) = %s, want %s", c.id, got, c.want)
		}
	}
}
