package record

import (
	"strings"
	"testing"

	"mend/change"
	"mend/internal/jsonedit"
)

// nest returns a number inside nested lists.
func nest(levels int) string { return strings.Repeat("[", levels) + "1" + strings.Repeat("]", levels) }

// TestDepthOfRecords: a part or a column that nests deeper than the maximum is not read, and CheckDepth reports it.
func TestDepthOfRecords(t *testing.T) {
	for _, escaped := range []string{"a", `\u0061`} {
		for extra, want := range map[int]bool{0: false, 1: true} {
			data := `{"id":"prt_1","type":"tool","` + escaped + `":` + nest(jsonedit.MaxDepth-1+extra) + `}`
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
	column := Session{Info: change.Record{Ref: change.Ref{Kind: change.KindSession, Session: "ses_1"}, Cols: change.NewCols(change.TextCol("revert", nest(jsonedit.MaxDepth+1)))}}
	if column.CheckDepth() == nil {
		t.Error("CheckDepth does not report a column that nests too deep")
	}
}
