package diagnose

import (
	"strings"
	"testing"
)

// TestWebLinks: a file that is a link is a finding only if OpenCode never loads it, or if an error reports that loading
// it failed. The text that replaces the file has no password and no query of the link.
func TestWebLinks(t *testing.T) {
	const web, local = "https://me:secret@Example.com/x?key=y", "http://127.0.0.1:9/x?key=y"
	for _, c := range []struct{ version, mime, url, want string }{
		{"1.1.53", "application/pdf", web, ""},
		{"1.2.27", "application/pdf", local, ""},
		{"1.18.33", "application/pdf", local, ""}, // the provider loads it
		{"1.18.33", "image/png", web, ""},
		{"1.2.27", "audio/mpeg", web, ""}, // downloaded, although a text replaces it
		{"1.18.33", "audio/mpeg", local, ""},
		{"1.1.53", "image/png", "https://", "broken R18"},
		{"1.2.27", "image/png", "http://a b/", "broken R18"},
		{"1.18.33", "image/png", "http:", "broken R18"},
		{"1.2.27", "image/png", "ftp://127.0.0.1/x", "broken media"},
	} {
		s := build(user(hi, `"type":"file","mime":"`+c.mime+`","filename":"x","url":"`+c.url+`"`), answer(done))
		found, got := diagnosed(s, Options{Version: c.version}), ""
		if len(found) > 0 {
			got = found[0].Severity.String() + " " + found[0].Rule
		}
		if got != c.want {
			t.Errorf("%s, %s %s: found %s, want %s", c.version, c.mime, c.url, summary(found), c.want)
			continue
		}
		q := Request{Options: Options{Version: c.version}}
		if got == "" {
			e := ParseAPIError([]byte("AI_DownloadError: Failed to download " + strings.ToLower(c.url) + ": 404 Not Found"))
			q.Error = &e
		}
		r := plan(t, s, q)
		text := string(r.After.Messages[0].Parts[1].Data)
		if len(r.Fixed) == 0 || strings.Contains(text, "secret") || strings.Contains(text, "key") || strings.Contains(c.url, "key") != strings.Contains(text, "a link to http") {
			t.Errorf("%s, %s %s: fixed %s, the part is %s", c.version, c.mime, c.url, summary(r.Fixed), text)
		}
	}
}

// TestSpecialMetadata: metadata of Anthropic at a text, such as a compaction, is not broken.
func TestSpecialMetadata(t *testing.T) {
	for _, c := range []struct{ version, text, metadata, want string }{
		{"1.18.33", "", `{"anthropic":{"type":"compaction"}}`, ""}, // a space is sent, but not as a text
		{"1.18.33", "x", `{"anthropic":{"citations":"x"}}`, ""},
	} {
		s := build(user(hi), answer(stepStart, signed, `"type":"text","text":"`+c.text+`","metadata":`+c.metadata, stepStart, done))
		got := ""
		for _, d := range diagnosed(s, Options{Version: c.version}) {
			if got == "" && d.Severity.String() == "broken" {
				got = "broken " + d.Rule
			}
		}
		if got != c.want {
			t.Errorf("%s, %q with metadata %s: found %q, want %q", c.version, c.text, c.metadata, got, c.want)
		}
	}
}
