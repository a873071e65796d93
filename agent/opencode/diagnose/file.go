package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/internal/media"
	"mend/jsonedit"
	"mend/repair"
	"mend/request"
	"mend/session"
)

// This file fixes files that cannot be sent: images that the provider refuses
// (docs/providers.md, R15, R18 to R21), and files on which the agent fails.

// fileRules are the codes of violations that are about a file.
var fileRules = []string{"R15", "R18", "R19", "R20", "R21", "O9", "C8", "G10", "B10", render.FailureMedia}

func whyFile(_ *simulation, f fault) string {
	switch f.Code {
	case "R15":
		return "The image is larger than the provider's limit of 5 MB."
	case "B10":
		return "The image is larger than the provider's limit of 3.75 MB, cannot be decoded, or has another type than that of its data."
	case "R18", "O9", "C8", "G10":
		return "The provider cannot decode the image."
	case "R19":
		return "The image has a type that the provider does not accept."
	case "R20":
		return "The image is stored with another type than that of its data, and the provider compares them."
	case "R21":
		return "The image has more pixels a side than the provider accepts."
	case "image":
		return "The provider rejected this image."
	}
	return fmt.Sprintf("OpenCode fails on a file that it cannot send: %s.", f.Text)
}

// fixFile returns the fixes of a file: correct the type of an image, else replace the
// file by a line of text that says what it was. From the result of a tool first only
// the files at fault are removed, then all.
func fixFile(c *simulation, f fault) []fix {
	m, p := c.part(f.Ref)
	switch {
	case p == nil:
		return nil
	case p.Type == record.TypeTool:
		return []fix{
			correctType(f.Ref),
			detach(f.Ref, func(raw []byte) bool { return c.refuses(m, p, raw) }),
			detach(f.Ref, func([]byte) bool { return true }),
		}
	case p.Type != record.TypeFile:
		return nil
	}
	return []fix{correctType(f.Ref), replaceByLine(f.Ref)}
}

func replaceByLine(ref session.Ref) fix {
	return fix{
		text:  "A synthetic line of text replaces the file and says what it was.",
		loses: "The file. Its bytes stay in the journal.",
		edit:  func(d *draft) error { return d.replaceFile(ref, cannotBeSent) },
	}
}

// replaceFile replaces a file by a synthetic text that says what it was, and what happened to
// it.
func (d *draft) replaceFile(ref session.Ref, happened string) error {
	return d.replaceByText(ref, func(raw []byte) string { return lineFor(raw, happened) })
}

// replaceByText replaces a part by a synthetic text, which depends on the part's JSON.
func (d *draft) replaceByText(ref session.Ref, textOf func(raw []byte) string) error {
	m, err := d.message(ref)
	if err != nil {
		return err
	}
	at := d.partIndex(m, ref)
	if at < 0 {
		return fmt.Errorf("%s: no such part", ref)
	}
	text := d.s.NewTextPart(m, m.Parts[at].ID, textOf(m.Parts[at].Data))
	m.Remove(ref)
	text.Ref.Part = ref.Part
	m.Insert(text)
	return nil
}

// correctType sets the type of images to that of their data.
func correctType(ref session.Ref) fix {
	return fix{
		text: "The type of the image becomes that of its data.",
		edit: func(d *draft) error {
			_, p, err := d.part(ref)
			if err != nil {
				return err
			}
			if p.Type == record.TypeFile {
				data, ok := withType(p.Data)
				if !ok {
					return fmt.Errorf("%s: no image with another type", ref)
				}
				raw, _ := jsonedit.Get(data, "url")
				if err := p.Set(raw, "url"); err != nil {
					return err
				}
				raw, _ = jsonedit.Get(data, "mime")
				return p.Set(raw, "mime")
			}
			files, _ := jsonedit.Get(p.Data, "state", "attachments")
			changed := false
			files = jsonedit.EditElements(files, func(raw []byte) []byte {
				to, ok := withType(raw)
				changed = changed || ok
				return to
			})
			if !changed {
				return fmt.Errorf("%s: no image with another type", ref)
			}
			return p.Set(files, "state", "attachments")
		},
	}
}

// withType returns the file with the type of its data, and whether that differs from
// the stored type.
func withType(raw []byte) ([]byte, bool) {
	mime, url := textAt(raw, "mime"), textAt(raw, "url")
	head, data, ok := strings.Cut(url, ",")
	if !ok || !strings.HasPrefix(head, "data:") {
		return raw, false
	}
	info := media.Inspect([]byte(data))
	to := "data:" + info.Type + ";base64"
	if !info.Image() || mime == info.Type && head == to {
		return raw, false
	}
	file, err := jsonedit.Set(raw, jsonedit.Quote(to+","+data), "url")
	if err == nil {
		file, err = jsonedit.Set(file, jsonedit.Quote(info.Type), "mime")
	}
	if err != nil {
		return raw, false
	}
	return file, true
}

// detach returns the fix that removes files from the result of a tool and adds a line
// for each to its output.
func detach(ref session.Ref, goes func(raw []byte) bool) fix {
	return fix{
		text:  "The file is removed from the tool result, and a line in the output says what it was.",
		loses: "The file. Its bytes stay in the journal.",
		edit: func(d *draft) error {
			_, p, err := d.part(ref)
			if err != nil {
				return err
			}
			var lines []string
			if raw, ok := jsonedit.Get(p.Data, "state", "output"); ok && raw[0] == '"' && len(raw) > 2 {
				lines = append(lines, jsonedit.Unquote(raw))
			}
			said := len(lines)
			files, _ := jsonedit.Elements(p.Data, "state", "attachments")
			gone := make([]bool, len(files))
			for i, raw := range files {
				if gone[i] = goes(raw); gone[i] {
					lines = append(lines, lineFor(raw, cannotBeSent))
				}
			}
			switch len(lines) - said {
			case 0:
				return fmt.Errorf("%s: no such attachment", ref)
			case len(files):
				err = p.Unset("state", "attachments")
			default:
				at := -1
				err = p.DropElements(func([]byte) bool { at++; return gone[at] }, "state", "attachments")
			}
			if err != nil {
				return err
			}
			return p.Set(jsonedit.Quote(strings.Join(lines, "\n")), "state", "output")
		},
	}
}

// refuses reports whether the attachment is at fault: a call with it alone is refused by the
// provider, or some version of the agent fails on it. The call has nothing else of the part,
// which may be large.
func (c *simulation) refuses(m *record.Message, p *record.Part, raw []byte) bool {
	const call = `{"id":"","type":"tool","callID":"c","tool":"t","state":{"status":"completed","input":{},"output":"","title":"","metadata":{},"time":{"start":0,"end":0},"attachments":[%s]}}`
	alone := *m
	alone.Parts = []record.Part{record.NewPart(with(p.Record, fmt.Appendf(nil, call, raw)))}
	one := c.withSession(&record.Session{Head: session.Head{ID: c.s.ID}, Messages: []record.Message{alone}})
	one.renderer = &render.Renderer{}
	return slices.ContainsFunc(render.Profiles(), func(p render.Profile) bool {
		return slices.ContainsFunc(one.violations(setting{profile: p}), func(v request.Violation) bool {
			return slices.Contains(fileRules, v.Rule)
		})
	})
}

// findSentFiles finds the image that an error is about, if it is still sent. What is
// wrong with it may not be visible in the store.
func findSentFiles(c *simulation) []fault {
	isImage := func(b *request.Block) bool { return b.Type == request.Image }
	isLink := func(b *request.Block) bool { return b.URL == c.link }
	has := func(b *request.Block, is func(*request.Block) bool) bool {
		return is(b) || slices.ContainsFunc(b.Content, is)
	}
	for _, t := range c.render(c.settings[own]).Turns {
		for _, b := range t.Blocks {
			if c.file != (session.Ref{}) && b.Ref() == c.file && has(b, isImage) || c.link != "" && has(b, isLink) {
				return []fault{{Ref: b.Ref()}}
			}
		}
	}
	return nil
}

// findWebLinks finds the files in the next requests that OpenCode or the provider loads from the web.
// mend loads none, so whether that works is unknown.
func findWebLinks(c *simulation) (fs []fault) {
	seen := map[session.Ref]bool{}
	first := c.render(c.settings[own])
	for q := &first; q != nil; q = q.Next {
		for _, t := range q.Turns {
			for _, b := range t.Blocks {
				address := render.Address([]byte(b.URL))
				if address != "" && !seen[b.Ref()] {
					seen[b.Ref()] = true
					fs = append(fs, fault{Ref: b.Ref(), Text: address})
				}
			}
		}
	}
	return fs
}

func whyWebLink(_ *simulation, f fault) string {
	return fmt.Sprintf("The file is a link to %s, which OpenCode or the provider loads again for each request. While that fails, so does every prompt.", f.Text)
}

// fixWebLink returns the fix that replaces links by lines of text with their addresses.
func fixWebLink(c *simulation, f fault) []fix {
	_, p := c.part(f.Ref)
	switch {
	case p == nil:
		return nil
	case p.Type == record.TypeTool:
		return []fix{detach(f.Ref, func(raw []byte) bool { return render.Address([]byte(textAt(raw, "url"))) != "" })}
	case p.Type != record.TypeFile:
		return nil
	}
	return []fix{replaceByLine(f.Ref)}
}

// downloadPattern finds the link in OpenCode's error about a file that it cannot download.
var downloadPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)failed to download (https?://\S+?):? `) })

// linkIn returns the link that the error says OpenCode cannot download, "" if it is none.
func linkIn(e repair.APIError) string {
	if m := downloadPattern().FindStringSubmatch(e.Text + " "); m != nil {
		return m[1]
	}
	return ""
}

// cannotBeSent is what happened to a file that the provider or the agent rejects.
const cannotBeSent = "it could not be sent to the model"

// lineFor returns the line of text that says what a file was, and what happened to it.
func lineFor(raw []byte, happened string) string {
	mime, url, name := textAt(raw, "mime"), textAt(raw, "url"), textAt(raw, "filename")
	what := "file"
	if name != "" {
		what += " " + strconv.Quote(name)
	}
	if mime == "" {
		mime = "unknown type"
	}
	_, data, ok := strings.Cut(url, ",")
	if address := render.Address([]byte(url)); address != "" {
		return fmt.Sprintf("[%s (%s, a link to %s) was here; %s]", what, mime, address, happened)
	}
	if !ok {
		return fmt.Sprintf("[%s (%s) was here; %s]", what, mime, happened)
	}
	return fmt.Sprintf("[%s (%s, %d kB) was here; %s]", what, mime, (len(data)*3/4+999)/1000, happened)
}
