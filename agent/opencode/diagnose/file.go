package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/jsonedit"
	"mend/request"
	"mend/session"
)

// Files that the model cannot be sent: images over the limit (docs/providers.md,
// R15), and those at which the agent ends.

func whyFile(_ *simulation, f fault) string {
	switch f.Code {
	case "R15":
		return "The image is larger than the provider's limit of 5 MB."
	case "image":
		return "The provider rejected this image."
	}
	return fmt.Sprintf("OpenCode fails on a file that it cannot send: %s.", f.Says)
}

// fixFile puts a line of text in the place of the file, which says what was
// there. In the result of a tool only the files at fault go, or else all.
func fixFile(c *simulation, f fault) []fix {
	m, p := c.part(f.Ref)
	switch {
	case p == nil:
		return nil
	case p.Type == record.TypeTool:
		return []fix{
			detach(f.Ref, func(raw []byte) bool { return c.refuses(m, p, raw) }),
			detach(f.Ref, func([]byte) bool { return true }),
		}
	case p.Type != record.TypeFile:
		return nil
	}
	return []fix{{
		text:  "A synthetic line of text replaces the file and says what it was.",
		loses: "The file. Its bytes stay in the journal.",
		edit: func(d *draft) error {
			m, err := d.message(f.Ref)
			if err != nil {
				return err
			}
			at := d.partIndex(m, f.Ref)
			if at < 0 {
				return fmt.Errorf("%s: no such part", f.Ref)
			}
			text := d.s.NewTextPart(m, m.Parts[at].ID, lineFor(m.Parts[at].Data))
			m.Remove(f.Ref)
			text.Ref.Part = f.Ref.Part
			m.Insert(text)
			return nil
		},
	}}
}

// detach takes files out of the result of a tool and says so in its output.
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
			for _, raw := range files {
				if goes(raw) {
					lines = append(lines, lineFor(raw))
				}
			}
			switch len(lines) - said {
			case 0:
				return fmt.Errorf("%s: no such attachment", ref)
			case len(files):
				err = p.Unset("state", "attachments")
			default:
				err = p.DropElements(goes, "state", "attachments")
			}
			if err != nil {
				return err
			}
			return p.Set(jsonedit.Quote(strings.Join(lines, "\n")), "state", "output")
		},
	}
}

// refuses reports whether some version of the agent ends at the attachment, or the
// provider refuses it: whether the call with nothing else attached is at fault.
func (c *simulation) refuses(m *record.Message, p *record.Part, raw []byte) bool {
	data, err := jsonedit.Set(p.Data, slices.Concat([]byte("["), raw, []byte("]")), "state", "attachments")
	if err != nil {
		return false
	}
	alone := *m
	alone.Parts = []record.Part{record.NewPart(with(p.Record, data))}
	one := c.withSession(&record.Session{Head: session.Head{ID: c.s.ID}, Messages: []record.Message{alone}})
	one.renderer = &render.Renderer{}
	return slices.ContainsFunc(render.Profiles(), func(p render.Profile) bool {
		return slices.ContainsFunc(one.violations(setting{p, false}), func(v request.Violation) bool {
			return v.Rule == "R15" || v.Rule == render.FailureMedia
		})
	})
}

// findSentFiles finds the image that an error blames, while it goes out. What is
// wrong with it does not show: it may be no image, or one of too many pixels.
func findSentFiles(c *simulation) []fault {
	if c.file == (session.Ref{}) {
		return nil
	}
	isImage := func(b *request.Block) bool { return b.Type == request.Image }
	for _, t := range c.render(c.settings[own].profile).Turns {
		for _, b := range t.Blocks {
			if b.Source == c.file && (isImage(b) || slices.ContainsFunc(b.Content, isImage)) {
				return []fault{{Ref: c.file}}
			}
		}
	}
	return nil
}

// lineFor says what a file was.
func lineFor(raw []byte) string {
	mime, url, name := textAt(raw, "mime"), textAt(raw, "url"), textAt(raw, "filename")
	what := "file"
	if name != "" {
		what += " " + strconv.Quote(name)
	}
	if mime == "" {
		mime = "unknown type"
	}
	_, data, ok := strings.Cut(url, ",")
	if !ok {
		return fmt.Sprintf("[%s (%s) was here; it could not be sent to the model]", what, mime)
	}
	return fmt.Sprintf("[%s (%s, %d kB) was here; it could not be sent to the model]", what, mime, (len(data)*3/4+999)/1000)
}
