package journal

import (
	"encoding/hex"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/boltfile"
)

// TestFrozenFormat pins encodings that are in journals on disks. If it fails, do not change
// it: change the code back, or give the format a new number.
func TestFrozenFormat(t *testing.T) {
	h := hash{0xab, 31: 0xcd}
	ev := &event{
		Kind: kindBegin, Sec: -5, Nsec: 7, Entry: 3, Begun: 3, Pending: 1,
		Begin: &beginEvent{
			Version: "1.0", Store: storeID{Kind: "json", Root: []byte("/\xff"), Dev: 1, Ino: 2}, Dir: []byte("d"), Session: []byte("ses_1"),
			Cause: change.CauseUndo, Of: []uint64{1, 2}, Partial: true, Text: &h, Ops: []hash{h}, Count: 1,
		},
	}
	b, sum, err := encodeEvent(258, genesis("0123456789abcdef"), ev)
	if err != nil {
		t.Fatal(err)
	}
	ev.Actor, ev.Begin.Digest = &change.Actor{User: "u", UID: 0, Host: "h", PID: 9, Channel: change.ChannelPlugin, Verb: "hook", Agent: "opencode", AgentVersion: "1.2.27"}, "d"
	later, _, err := encodeEvent(258, genesis("0123456789abcdef"), ev)
	if err != nil {
		t.Fatal(err)
	}
	ref := blobID{blobImage, h}
	ops := encodeOps([]change.OpInfo{{Ref: partRef(1), Post: &change.Digest{SHA256: h, Size: 300, Mode: 0o600}}})
	cause := encodeCause(change.Cause{Text: "\xff", Diagnoses: []string{"d"}})
	end := encodeOutcome(change.Outcome{Kept: []string{"k"}, Conflicts: []change.Conflict{{Ref: partRef(1), Why: "w"}}})
	hexed := h.String()
	for name, c := range map[string]struct{ got, want string }{
		"event head": {hex.EncodeToString(b[:41]), "010000000000000102" + "7fc9e6f8f30a935a34b6d9b275b0d9a432acf5b3d5705ac046a490f5952cace4"},
		"event":      {string(b[41 : len(b)-32]), `{"kind":"begin","sec":-5,"nsec":7,"entry":3,"begin":{"version":"1.0","store":{"kind":"json","root":"L/8=","dev":1,"ino":2},"dir":"ZA==","session":"c2VzXzE=","cause":"undo","of":[1,2],"partial":true,"text":"` + hexed + `","ops":["` + hexed + `"],"count":1},"begun":3,"pending":1}`},
		"actor":      {string(later[41 : len(later)-32]), `{"kind":"begin","sec":-5,"nsec":7,"entry":3,"actor":{"user":"u","uid":0,"host":"h","pid":9,"channel":"plugin","verb":"hook","agent":"opencode","agentVersion":"1.2.27"},"begin":{"version":"1.0","store":{"kind":"json","root":"L/8=","dev":1,"ino":2},"dir":"ZA==","session":"c2VzXzE=","cause":"undo","of":[1,2],"partial":true,"text":"` + hexed + `","ops":["` + hexed + `"],"count":1,"digest":"d"},"begun":3,"pending":1}`},
		"failure":    {string(encodeCause(change.Cause{Error: &change.Failure{Provider: "p", Model: "m", Status: 400, RequestID: "r", Whole: "w"}})), `{"error":{"provider":"cA==","model":"bQ==","status":400,"requestId":"cg==","whole":"dw=="}}`},
		"event hash": {hex.EncodeToString(b[len(b)-32:]), sum.String()},
		"ops":        {hex.EncodeToString(ops), "01010300057365735f31056d73675f310a7072745f30303030303100" + "01" + hexed + "ac028003"},
		"cause":      {string(cause), `{"text":"/w==","diagnoses":["ZA=="]}`},
		"end":        {string(end), `{"conflicts":[{"ref":"AwAFc2VzXzEFbXNnXzEKcHJ0XzAwMDAwMQ==","why":"dw=="}],"kept":["aw=="]}`},
		"ref":        {hex.EncodeToString(ref.key(5)), "69" + hexed + "0000000000000005"},
		"chunk":      {hex.EncodeToString(boltfile.ChunkKey(h, 1)), hexed + "00000001"},
		"session":    {hex.EncodeToString(boltfile.SessionKey("ses_1", 1)), "46bf2fa87b4820eabd28fa94f4fa05e6fffffffffffffffe"},
		"seal":       {hex.EncodeToString(boltfile.Seal("events", boltfile.U64(1), []byte("v"))), "76408eef9d"},
		"raw chunk":  {hex.EncodeToString(boltfile.Compress(nil, []byte("x"))), "0078"},
		"names":      {strings.Join(buckets, " "), "meta events images ops texts refs entries bysession pending"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %s, want %s", name, c.got, c.want)
		}
	}
}
