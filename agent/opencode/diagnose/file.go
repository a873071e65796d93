package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	"mend/agent/opencode/render"
	"mend/internal/jsonedit"
	"mend/internal/media"
)

// Fixes of files that the provider or the agent may refuse.

// withType returns the file with the type of its data, and whether the stored type is different.
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

// lineFor returns a line of text that explains what a file was, and what happened to it.
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
