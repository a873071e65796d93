package diagnose

import (
	"errors"
	"strconv"
	"strings"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/jsonedit"
)

const partPrefix = "prt_"

// completePart returns what completes the part, or takes its place where that cannot
// be done.
func (g recordContext) completePart() []fix {
	if g.p.Type == record.TypeFile && !g.isFile(g.p.Data) {
		return append(g.replaceFileByText(g.p.Data), g.giveUpPart()...)
	}
	data, c, err := g.completedPart(g.p.Data)
	if err != nil || g.p.Type == record.TypeText && js.Blank(textAt(data, "text")) {
		return g.giveUpPart()
	}
	var fixes []fix
	text, loses := describeChanges(c)
	if !c.None() {
		fixes = append(fixes, fix{text: text, loses: loses, edit: rewrite(with(g.p.Record, data)), alike: true})
	}
	if _, marked := jsonedit.Get(data, "metadata", schema.ProviderExecuted); marked && g.p.Type == record.TypeTool {
		fixes = append(fixes, g.completeCall(data, c))
	}
	if c.None() {
		return fixes
	}
	return append(fixes, g.giveUpPart()...)
}

// completeCall returns the fix that completes a call and takes that mark away.
func (g recordContext) completeCall(data []byte, c schema.Changes) fix {
	text, loses := "", "The mark that the provider ran the call itself. Every version now sends the call with its stored result."
	if !c.None() {
		var also string
		if text, also = describeChanges(c); also != "" {
			loses += " " + also
		}
		text += " "
	}
	return fix{text: text + "The mark that the provider ran the call itself is removed from its metadata.", loses: loses, alike: true, edit: func(d *draft) error {
		data, err := jsonedit.Remove(data, "metadata", schema.ProviderExecuted)
		if err != nil {
			return err
		}
		return rewrite(with(g.p.Record, data))(d)
	}}
}

// completedPart returns the part's data with all that its kind needs.
func (g recordContext) completedPart(data []byte) ([]byte, schema.Changes, error) {
	if textAt(data, "type") == record.TypeReasoning && badlySigned(data) {
		return nil, schema.Changes{}, errors.New("its signature is none")
	}
	return g.complete(data, &schema.Part)
}

// badlySigned reports whether thinking has a signature that is no text: without
// it, it would be unsigned, and there is no other.
func badlySigned(data []byte) bool {
	for _, name := range []string{"signature", "redactedData"} {
		if raw, ok := jsonedit.Get(data, "metadata", "anthropic", name); ok && raw[0] != '"' {
			return true
		}
	}
	return false
}

// answerTokens returns a count of tokens that the answer tells, for the end of its last
// step, where the agent takes it from.
func (g recordContext) answerTokens(name string) []byte {
	ends := g.stepEnds()
	if raw, ok := jsonedit.Get(g.m.Data, append([]string{"tokens"}, strings.Split(name, ".")...)...); ok && isNumber(raw) && len(ends) > 0 && ends[len(ends)-1].Ref == g.p.Ref {
		return raw
	}
	return []byte("0")
}

// reason is why a step ended: the answer tells that of its last one; another went on
// with calls, or is not known.
func (g recordContext) reason() []byte {
	ends := g.stepEnds()
	if finish := textIn(g.m, "finish"); finish != nil && len(ends) > 0 && ends[len(ends)-1].Ref == g.p.Ref {
		return finish
	}
	return []byte(`"unknown"`)
}

// status returns that of a call that does not tell.
func (g recordContext) status() []byte {
	if out, ok := jsonedit.Get(g.p.Data, "state", "output"); ok && out[0] != 'n' {
		return jsonedit.Quote(record.StatusCompleted)
	}
	return jsonedit.Quote(record.StatusError)
}

// mime returns the type that a file's data: URL tells.
func (g recordContext) mime() []byte {
	head, isData := strings.CutPrefix(textAt(g.p.Data, "url"), "data:")
	head, _, ok := strings.Cut(head, ",")
	if mime, _, _ := strings.Cut(head, ";"); isData && ok && mime != "" {
		return jsonedit.Quote(mime)
	}
	return nil
}

// startTime returns when the part began, as far as anything tells.
func (g recordContext) startTime() int64 {
	if g.p != nil && g.p.Start > 0 {
		return g.p.Start
	}
	return g.m.Created
}

// end returns when it ended.
func (g recordContext) end() []byte {
	end := g.m.Completed
	if end == 0 {
		end = g.m.LatestTime()
	}
	return strconv.AppendInt(nil, max(end, g.startTime()), 10)
}
