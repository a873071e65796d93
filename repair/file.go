package repair

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"mend/session"
)

// Files that the model cannot be sent: images over the limit (provider-rules.md,
// R15), and those at which the agent ends.

// largestImage is the most that the provider takes of an image's base64 text.
const largestImage = 5 << 20

func whyFile(_ *chart, f fault) string {
	if f.code == "R15" {
		return "The image is larger than the 5 MB that the provider takes."
	}
	return fmt.Sprintf("The agent stops at a file that it cannot send: %s.", f.says)
}

// fixFile puts a line of text in the place of the file, which says what was
// there. In the result of a tool only the files at fault go, or else all.
func fixFile(c *chart, f fault) []fix {
	_, p := c.part(f.ref)
	switch {
	case p == nil:
		return nil
	case p.Type == session.TypeTool:
		return []fix{
			detach(f.ref, func(raw []byte) bool { return !sendable(raw) }),
			detach(f.ref, func([]byte) bool { return true }),
		}
	case p.Type != session.TypeFile:
		return nil
	}
	return []fix{{
		cure:  "A synthetic line of text that says what was there takes its place.",
		loses: "The file; its bytes stay in the journal.",
		edit: func(d *draft) error {
			m, p, err := d.part(f.ref)
			if err != nil {
				return err
			}
			text := d.s.NewTextPart(m, p.ID, lineFor(p.Data))
			m.Remove(f.ref)
			text.Ref.Part = f.ref.Part
			m.Insert(text)
			return nil
		},
	}}
}

// detach takes files out of the result of a tool and says so in its output.
func detach(ref session.Ref, goes func(raw []byte) bool) fix {
	return fix{
		cure:  "It is taken out of the result of the tool, and a line in the output says what was there.",
		loses: "The file; its bytes stay in the journal.",
		edit: func(d *draft) error {
			_, p, err := d.part(ref)
			if err != nil {
				return err
			}
			var lines []string
			if raw, ok := session.Field(p.Data, "state", "output"); ok && raw[0] == '"' && len(raw) > 2 {
				lines = append(lines, session.Unquote(raw))
			}
			said := len(lines)
			files, _ := session.Elements(p.Data, "state", "attachments")
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
			return p.Set(session.Quote(strings.Join(lines, "\n")), "state", "output")
		},
	}
}

// sendable reports whether every version of the agent sends the file, and the
// provider takes it.
func sendable(raw []byte) bool {
	mime, url := fieldText(raw, "mime"), fieldText(raw, "url")
	_, data, ok := strings.Cut(url, ";base64,")
	if !strings.HasPrefix(url, "data:") || !ok {
		return false
	}
	if _, err := base64.StdEncoding.DecodeString(data); err != nil {
		return false
	}
	return mime == "application/pdf" || strings.HasPrefix(mime, "image/") && len(data) <= largestImage
}

// lineFor says what a file was.
func lineFor(raw []byte) string {
	mime, url, name := fieldText(raw, "mime"), fieldText(raw, "url"), fieldText(raw, "filename")
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

// fieldText is the string in a field of an object, "" for none.
func fieldText(data []byte, name string) string {
	if raw, ok := session.Field(data, name); ok && raw[0] == '"' {
		return session.Unquote(raw)
	}
	return ""
}
