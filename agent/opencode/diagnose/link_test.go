package diagnose

import (
	"strings"
	"testing"

	"mend/agent/opencode/render"
	"mend/internal/request"
)

// A file that is a link is latent, because mend loads nothing, and broken where OpenCode never loads it.
// The text that replaces it has no password and no query.
func TestWebLinks(t *testing.T) {
	const web, local = "https://me:secret@Example.com/x?key=y", "http://127.0.0.1:9/x?key=y"
	for _, c := range []struct{ version, mime, url, want string }{
		{"1.1.53", "application/pdf", web, "latent link"},
		{"1.2.27", "application/pdf", local, "latent link"},
		{"1.18.33", "application/pdf", local, "latent link"}, // the provider loads it
		{"1.18.33", "image/png", web, "latent link"},
		{"1.2.27", "audio/mpeg", web, "latent link"}, // downloaded, although a text replaces it
		{"1.18.33", "audio/mpeg", local, "broken media"},
		{"1.1.53", "image/png", "https://", "broken R18"},
		{"1.2.27", "image/png", "http://a b/", "broken R18"},
		{"1.18.33", "image/png", "http:", "broken R18"},
		{"1.2.27", "image/png", "ftp://127.0.0.1/x", "broken media"},
	} {
		s := build(user(hi, `"type":"file","mime":"`+c.mime+`","filename":"x","url":"`+c.url+`"`), answer(done))
		found := diagnosed(s, Options{Version: c.version})
		if len(found) == 0 || found[0].Severity.String()+" "+found[0].Rule != c.want {
			t.Errorf("%s, %s %s: found %s, want %s", c.version, c.mime, c.url, summary(found), c.want)
			continue
		}
		r := plan(t, s, Request{Options: Options{Version: c.version}, Latent: true})
		text := string(r.After.Messages[0].Parts[1].Data)
		if len(r.Fixed) == 0 || strings.Contains(text, "secret") || strings.Contains(text, "key") || strings.Contains(c.url, "key") != strings.Contains(text, "a link to http") {
			t.Errorf("%s, %s %s: fixed %s, the part is %s", c.version, c.mime, c.url, summary(r.Fixed), text)
		}
	}
}

// Where a provider takes no files in results, they are sent in a prompt, and links are loaded for it.
func TestWebLinkInResult(t *testing.T) {
	const linked = `{"type":"file","mime":"application/pdf","url":"https://example.com/x"}`
	s := build(user(hi), answer(stepStart, withAttachments(picture+","+linked), stepStart, done))
	chat := func(request.Model) render.Target { return render.Target{Package: render.Compatible} }
	r := plan(t, s, Request{Options: Options{Target: chat}, Latent: true})
	part := string(r.After.Messages[1].Parts[1].Data)
	if len(r.Fixed) == 0 || !strings.Contains(part, "image/png") || strings.Contains(part, `"mime":"application/pdf"`) || !strings.Contains(part, "a link to https://example.com/x") {
		t.Errorf("fixed %s, the part is %s", summary(r.Fixed), part)
	}
	for _, d := range diagnosed(s, Options{Version: "1.18.33"}) {
		if d.Rule == "link" {
			t.Errorf("Anthropic is sent no links in results; found %+v", d)
		}
	}
}

// What Anthropic stored with a text.
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
