package rollout

import (
	"strings"
	"time"

	"mend/internal/request"
)

// An About is what a list shows of a session.
type About struct {
	ID, Title, Directory, Version string
	Created                       int64 // milliseconds since 1970
}

// AboutOf reads the beginning of a rollout.
func AboutOf(head []byte) (a About) {
	lines, _ := parseLines(head)
	_, a.ID = (&state{lines: lines}).meta()
	for i := range lines {
		l := &lines[i]
		switch {
		case l.kind == "session_meta" && a.Version == "":
			a.Directory, a.Version = text(l.payload, "cwd"), text(l.payload, "cli_version")
		case l.kind == "turn_context" && a.Directory == "":
			a.Directory = text(l.payload, "cwd")
		case a.Title == "":
			first, _, _ := strings.Cut(l.prompt(), "\n")
			a.Title = request.Short(first, 80)
		}
		if t, err := time.Parse(time.RFC3339, text(l.value, "timestamp")); err == nil && a.Created == 0 {
			a.Created = t.UnixMilli()
		}
	}
	return a
}
