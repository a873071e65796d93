package repair

import (
	"bytes"

	"mend/session"
)

// A form is what a plain object has: each member once, and no other.
type form []formMember

type formMember struct {
	name string
	is   func(raw []byte) bool // of a value that was read as JSON
	may  bool                  // it may be missing
}

// fits reports whether the object is of the form.
func (f form) fits(data []byte) bool {
	var seen uint32
	ok := session.EachMember(data, func(name, value []byte) bool {
		for i := range f {
			if f[i].name == string(name) {
				again := seen>>i&1 == 1
				seen |= 1 << i
				return !again && f[i].is(value)
			}
		}
		return false
	})
	for i := range f {
		ok = ok && (f[i].may || seen>>i&1 == 1)
	}
	return ok
}

func must(name string, is func([]byte) bool) formMember  { return formMember{name, is, false} }
func could(name string, is func([]byte) bool) formMember { return formMember{name, is, true} }

func isText(raw []byte) bool    { return raw[0] == '"' }
func isSaid(raw []byte) bool    { return len(raw) > 2 && raw[0] == '"' }
func isBool(raw []byte) bool    { return raw[0] == 't' || raw[0] == 'f' }
func isFalse(raw []byte) bool   { return raw[0] == 'f' }
func isFigure(raw []byte) bool  { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }
func isNothing([]byte) bool     { return true }
func isBraced(raw []byte) bool  { return raw[0] == '{' }
func isMessage(raw []byte) bool { return bytes.HasPrefix(raw, []byte(`"msg`)) }

// isCount is a whole number that every reader takes for the same.
func isCount(raw []byte) bool {
	for _, c := range raw {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(raw) <= 15
}

// isSeen is a text with a visible character: there is one of ASCII in it.
func isSeen(raw []byte) bool {
	if raw[0] != '"' {
		return false
	}
	for i := 1; i < len(raw)-1; i++ {
		switch c := raw[i]; {
		case c == '\\' && raw[i+1] == 'u':
			i += 5
		case c == '\\':
			i++
		case c > ' ' && c < 0x7f:
			return true
		}
	}
	return false
}

// isTexts is a list of texts, isChanges one of changed files.
func isTexts(raw []byte) bool   { return session.EachElement(raw, isText) }
func isChanges(raw []byte) bool { return session.EachElement(raw, isChange) }

// isChange is a changed file; versions differ in what they tell of it.
func isChange(raw []byte) bool {
	return isBraced(raw) && form{
		could("file", isText), could("patch", isText), could("status", isText), could("before", isNothing), could("after", isNothing),
		must("additions", isFigure), must("deletions", isFigure),
	}.fits(raw)
}

// The forms of what agents write. A file has its ids inside, a row has not.
var (
	idForm = form{could("id", isText), could("sessionID", isText), could("messageID", isText)}

	modelForm  = form{must("providerID", isText), must("modelID", isText), could("variant", isText)}
	tokensForm = form{
		could("total", isFigure), must("input", isFigure), must("output", isFigure), must("reasoning", isFigure),
		must("cache", form{must("read", isFigure), must("write", isFigure)}.fits),
	}

	promptForm = append(form{
		must("role", isText), must("time", form{must("created", isCount)}.fits), must("agent", isText), must("model", modelForm.fits),
		could("summary", form{could("title", isText), could("body", isText), must("diffs", isChanges)}.fits), could("system", isText),
	}, idForm...)
	answerForm = append(form{
		must("role", isText), must("time", form{must("created", isCount), must("completed", isCount)}.fits), must("parentID", isMessage),
		must("modelID", isText), must("providerID", isText), must("mode", isText), must("agent", isText),
		must("path", form{must("cwd", isText), must("root", isText)}.fits), could("summary", isFalse), must("cost", isFigure),
		must("tokens", tokensForm.fits), could("variant", isText), must("finish", isSaid),
	}, idForm...)

	spanForm = form{must("start", isCount), could("end", isCount)}
	doneForm = form{must("start", isCount), must("end", isCount)}

	partForms = map[string]form{
		session.TypeText: append(form{must("type", isText), must("text", isSeen), could("synthetic", isBool), could("time", spanForm.fits)}, idForm...),
		session.TypeReasoning: append(form{
			must("type", isText), must("text", isSeen), must("time", spanForm.fits),
			must("metadata", form{must("anthropic", form{must("signature", isSaid)}.fits)}.fits),
		}, idForm...),
		session.TypeTool:       append(form{must("type", isText), must("callID", isText), must("tool", isText), must("state", isState)}, idForm...),
		session.TypeStepStart:  append(form{must("type", isText), could("snapshot", isText)}, idForm...),
		session.TypeStepFinish: append(form{must("type", isText), must("reason", isText), could("snapshot", isText), must("cost", isFigure), must("tokens", tokensForm.fits)}, idForm...),
		"patch":                append(form{must("type", isText), must("hash", isText), must("files", isTexts)}, idForm...),
	}

	completedForm = form{
		must("status", isCompleted), must("input", isBraced), must("output", isText), must("title", isText), must("metadata", isBraced), must("time", doneForm.fits),
	}
	failedForm = form{
		must("status", isFailed), must("input", isBraced), must("error", isText), could("metadata", isBraced), must("time", doneForm.fits),
	}
)

// isState is the state of a call that has ended.
func isState(raw []byte) bool {
	return isBraced(raw) && (completedForm.fits(raw) || failedForm.fits(raw))
}

func isCompleted(raw []byte) bool { return string(raw) == `"completed"` }
func isFailed(raw []byte) bool    { return string(raw) == `"error"` }
