package diagnose

import (
	"strings"
	"testing"

	"mend/internal/jsonedit"
	"mend/internal/provider/anthropic"
	"mend/repair"
)

// TestAttachments: of the files in a tool's result only those that the provider rejects are removed or corrected.
func TestAttachments(t *testing.T) {
	const (
		table  = `{"type":"file","mime":"text/csv","url":"data:text/csv;base64,AAAA"}`
		inURLs = `{"type":"file","mime":"image/png","url":"data:image/png;base64,` + pngOfURL + `"}`
		linked = `{"type":"file","mime":"image/png","url":"https://example.com/y.png"}`
	)
	huge := `{"type":"file","mime":"image/gif","url":"data:image/gif;base64,` + strings.TrimRight(gif, "=") + strings.Repeat("A", anthropic.LargestImage) + `"}`
	jpeg := strings.NewReplacer("image/png", "image/jpeg").Replace(picture)
	words := `{"type":"file","mime":"image/png","url":"data:image/png;base64,bm8gaW1hZ2U="}`
	for _, c := range []struct {
		name, files, want string
	}{
		{"a kind that is not sent", table + "," + inURLs + "," + linked, "[" + inURLs + "," + linked + "]"},
		{"too large", picture + "," + huge + "," + inURLs, "[" + picture + "," + inURLs + "]"},
		{"no image", words + "," + picture, "[" + picture + "]"},
		{"of another type than its data", jpeg + "," + picture, "[" + picture + "," + picture + "]"},
		{"alone", table, ""},
	} {
		s := build(user(hi), answer(stepStart, withAttachments(c.files), stepStart, done))
		r := plan(t, s, Request{Options: Options{Version: "1.1.53"}})
		got, _ := jsonedit.Get(r.After.Messages[1].Parts[1].Data, "state", "attachments")
		if string(got) != c.want || len(r.Fixed) == 0 || (r.Fixed[0].Loses == "") != (r.Fixed[0].Rule == "R20") || len(r.Unfixable) > 0 {
			t.Errorf("%s: Plan leaves the attachments %.200s, want %.200s; fixed %+v, unfixable %+v", c.name, got, c.want, r.Fixed, r.Unfixable)
		}
	}
}

// pngOfURL is an image in the base64 alphabet of URLs.
const (
	pngOfURL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACXRFWHRhAP_v-__v-wBqDTclAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
	gif      = "R0lGODdhAQABAIAAAAAAAAAAACwAAAAAAQABAAACAkQBADs="
)

// TestSentFilesByClass: a repair of the class, without an error, removes no image that the provider accepts.
func TestSentFilesByClass(t *testing.T) {
	r := plan(t, build(user(hi, file), answer(done)), Request{Classes: []repair.Class{repair.InvalidFile}})
	if len(r.Plan.Ops) > 0 {
		t.Errorf("Plan for %s has ops on a healthy image: %v", repair.InvalidFile, r.Plan.Ops)
	}
}
