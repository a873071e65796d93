package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/media"
	"mend/internal/request"
	"mend/repair"
)

// This file finds files that the provider or the agent may refuse.

func replaceByLine(ref change.Ref) repair.Fix {
	return repair.Fix{
		Text:  "A synthetic line of text replaces the file and says what it was.",
		Loses: "The file. Its bytes stay in the journal.",
		Edit:  draftEdit(func(d *draft) error { return d.ReplaceFiles(&request.Block{Source: &ref}, nil, cannotBeSent) }),
	}
}

// replaceByText replaces a part by a synthetic text, which depends on the part's JSON.
func (d *draft) replaceByText(ref change.Ref, textOf func(raw []byte) string) error {
	m, err := d.message(ref)
	if err != nil {
		return err
	}
	at := searchPart(m.Parts, ref)
	if at < 0 {
		return fmt.Errorf("%s: no such part", ref)
	}
	text := d.s.NewTextPart(m, m.Parts[at].ID, textOf(m.Parts[at].Data))
	m.Remove(ref)
	text.Ref.Part = ref.Part
	m.Insert(text)
	return nil
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

// findWebLinks finds the files in the next requests that OpenCode or the provider loads from the web.
// mend loads none, so whether that works is unknown.
func findWebLinks(c *simulation) (fs []finding) {
	seen := map[change.Ref]bool{}
	first := c.render(c.settings[own])
	for q := &first; q != nil; q = q.Next {
		for _, t := range q.Turns {
			for _, b := range t.Blocks {
				address := render.Address([]byte(b.URL))
				if address != "" && !seen[b.Ref()] {
					seen[b.Ref()] = true
					fs = append(fs, finding{Ref: b.Ref(), Text: address})
				}
			}
		}
	}
	return fs
}

func whyWebLink(_ *simulation, f finding) string {
	return fmt.Sprintf("The file is a link to %s, which OpenCode or the provider loads again for each request. While that fails, so does every prompt.", f.Text)
}

// fixWebLink returns the fix that replaces links by lines of text with their addresses.
func fixWebLink(c *simulation, f finding) []repair.Fix {
	_, p := c.part(f.Ref)
	switch {
	case p == nil:
		return nil
	case p.Type == record.TypeTool:
		return []repair.Fix{{
			Text: "The file is removed from the tool result, and a line in the output says what it was.", Loses: "The file. Its bytes stay in the journal.",
			Edit: draftEdit(func(d *draft) error {
				_, p, err := d.part(f.Ref)
				if err != nil {
					return err
				}
				return detach(p, func(raw []byte) bool { return render.Address([]byte(textAt(raw, "url"))) != "" }, cannotBeSent)
			}),
		}}
	case p.Type != record.TypeFile:
		return nil
	}
	return []repair.Fix{replaceByLine(f.Ref)}
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
