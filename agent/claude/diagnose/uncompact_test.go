package diagnose_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"mend/agent/claude/diagnose"
	"mend/internal/test/claude"
	"mend/repair"
)

// compacted returns Baseline followed by a compaction, a prompt and an answer.
// preserved are the ids of records that it keeps, as JSON.
func compacted(preserved string) []byte {
	const id = "cccccccc-0000-4000-8000-00000000000"
	common := `"isSidechain":false,"sessionId":"` + claude.Session + `","version":"2.1.330","timestamp":"2026-11-22T16:0%d:00.000Z","uuid":"` + id + `%d"`
	line := func(n int, format string, args ...any) string {
		return fmt.Sprintf(`{%s,`+fmt.Sprintf(common, n, n)+"}\n", fmt.Sprintf(format, args...))
	}
	meta := `{"trigger":"manual","preservedMessages":{"anchorUuid":"` + id + `2","uuids":` + preserved + `,"allUuids":` + preserved + `}}`
	if preserved == "" {
		meta = `{"trigger":"manual"}`
	}
	return append(bytes.Clone(claude.Baseline),
		line(1, `"parentUuid":null,"logicalParentUuid":"1e2cd0ea-54c6-4bb8-9de7-85c5dec19c3c","type":"system","subtype":"compact_boundary","compactMetadata":%s`, meta)+
			line(2, `"parentUuid":%q,"type":"user","isCompactSummary":true,"message":{"role":"user","content":"the summary"}`, id+"1")+
			line(3, `"parentUuid":%q,"type":"user","message":{"role":"user","content":"after it"}`, id+"2")+
			line(4, `"parentUuid":%q,"type":"assistant","message":{"id":"msg_last","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"yes"}]}`, id+"3")...)
}

// TestUncompact: after a compaction the request has the summary, the preserved records and the later ones. Uncompact
// appends one line, and the request has all records again.
func TestUncompact(t *testing.T) {
	for preserved, sent := range map[string]int{
		"": 3,
		`["d37d0059-d461-4e2b-aadc-fe717a9dd198","1e2cd0ea-54c6-4bb8-9de7-85c5dec19c3c"]`: 5,
		`["00000000-0000-4000-8000-000000000000"]`:                                        3,
	} {
		data := compacted(preserved)
		c := newCase(data)
		if got := blocks(c); got != sent || len(c.Findings().All()) > 0 {
			t.Errorf("preserved %s: %d blocks are sent, %d findings, want %d and none", preserved, got, len(c.Findings().All()), sent)
		}
		u, err := uncompact(diagnose.Source{Ref: ref, Data: data}, repair.UncompactRequest{})
		if err != nil {
			t.Errorf("preserved %s: Uncompact = %v", preserved, err)
			continue
		}
		now := transcriptAfter(t, data, repair.Result{Plan: u.Plan})
		if got := blocks(newCase(now)); got != claude.Blocks+3 || !bytes.HasPrefix(now, data) {
			t.Errorf("preserved %s: %d blocks are sent then, want %d", preserved, got, claude.Blocks+3)
		}
	}
	if _, err := uncompact(diagnose.Source{Ref: ref, Data: claude.Baseline}, repair.UncompactRequest{}); !errors.Is(err, repair.ErrNotCompacted) {
		t.Errorf("Uncompact without a compaction = %v, want %v", err, repair.ErrNotCompacted)
	}
	if _, err := uncompact(diagnose.Source{Ref: ref, Data: compacted(""), Busy: "process 7"}, repair.UncompactRequest{}); !errors.Is(err, repair.ErrBusy) {
		t.Errorf("Uncompact of a busy session = %v, want %v", err, repair.ErrBusy)
	}
}
