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

// completePart returns the fixes that complete the part, or replace it if that is
// impossible.
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

// completeCall returns the fix that completes a call and removes the mark that the
// provider ran it.
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

// completedPart returns the data of the part with every member that its type needs.
func (g recordContext) completedPart(data []byte) ([]byte, schema.Changes, error) {
	if textAt(data, "type") == record.TypeReasoning && badlySigned(data) {
		return nil, schema.Changes{}, errors.New("its signature is none")
	}
	return g.complete(data, &schema.Part)
}

// badlySigned reports whether thinking has a signature that is not a text. Without it
// the thinking would be unsigned, and mend cannot make another.
func badlySigned(data []byte) bool {
	for _, key := range []string{"anthropic", "bedrock"} {
		for _, name := range []string{"signature", "redactedData"} {
			if raw, ok := jsonedit.Get(data, "metadata", key, name); ok && raw[0] != '"' {
				return true
			}
		}
	}
	return false
}

// answerTokens returns a count of tokens for the end of the last step, where the
// message has it from; 0 for another step.
func (g recordContext) answerTokens(name string) []byte {
	ends := g.stepEnds()
	if raw, ok := jsonedit.Get(g.m.Data, append([]string{"tokens"}, strings.Split(name, ".")...)...); ok && isNumber(raw) && len(ends) > 0 && ends[len(ends)-1].Ref == g.p.Ref {
		return raw
	}
	return []byte("0")
}

// reason returns why a step ended. The message has the reason of its last step; that of
// others is "unknown".
func (g recordContext) reason() []byte {
	ends := g.stepEnds()
	if finish := textIn(g.m, "finish"); finish != nil && len(ends) > 0 && ends[len(ends)-1].Ref == g.p.Ref {
		return finish
	}
	return []byte(`"unknown"`)
}

// status returns the status of a call without one.
func (g recordContext) status() []byte {
	if out, ok := jsonedit.Get(g.p.Data, "state", "output"); ok && out[0] != 'n' {
		return jsonedit.Quote(record.StatusCompleted)
	}
	return jsonedit.Quote(record.StatusError)
}

// mime returns the type in the data: URL of a file, nil if there is none.
func (g recordContext) mime() []byte {
	head, isData := strings.CutPrefix(textAt(g.p.Data, "url"), "data:")
	head, _, ok := strings.Cut(head, ",")
	if mime, _, _ := strings.Cut(head, ";"); isData && ok && mime != "" {
		return jsonedit.Quote(mime)
	}
	return nil
}

// startTime returns when the part began: its own time, or else that of the message.
func (g recordContext) startTime() int64 {
	if g.p != nil && g.p.Start > 0 {
		return g.p.Start
	}
	return g.m.Created
}

// end returns when the part ended.
func (g recordContext) end() []byte {
	end := g.m.Completed
	if end == 0 {
		end = g.m.LatestTime()
	}
	return strconv.AppendInt(nil, max(end, g.startTime()), 10)
}
