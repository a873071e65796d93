package record

import (
	"strings"
	"testing"

	"mend/change"
	"mend/internal/jsonedit"
)

// nest returns a value inside that many lists, or objects.
func nest(open, end, value string, levels int) string {
	return strings.Repeat(open, levels) + value + strings.Repeat(end, levels)
}

func TestDepthOfRecords(t *testing.T) {
	for _, escaped := range []string{"a", `\u0061`} { // with an escape in a name the library reads it
		for extra, want := range map[int]bool{0: false, 1: true} {
			data := `{"id":"prt_1","type":"tool","` + escaped + `":` + nest("[", "]", "1", jsonedit.MaxDepth-1+extra) + `}`
			p := NewPart(change.Record{Ref: change.Ref{Kind: change.KindPart, Session: "ses_1", Message: "msg_1", Part: "prt_1"}, Data: []byte(data)})
			if p.Unreadable() != want || p.IsMalformed() != want {
				t.Errorf("a part of %d levels, %q: %+v, want it unreadable: %v", jsonedit.MaxDepth+extra, escaped, p.Defect, want)
			}
			s := Session{Head: change.Head{ID: "ses_1"}, Messages: []Message{{Parts: []Part{p}}}}
			if got := s.CheckDepth() != nil; got != want {
				t.Errorf("a part of %d levels: CheckDepth reports it: %v, want %v", jsonedit.MaxDepth+extra, got, want)
			}
		}
	}
	column := Session{Info: change.Record{Ref: change.Ref{Kind: change.KindSession, Session: "ses_1"}, Cols: change.NewCols(change.TextCol("revert", nest("[", "]", "1", jsonedit.MaxDepth+1)))}}
	if column.CheckDepth() == nil {
		t.Error("CheckDepth reports no column that nests too deep")
	}
}
