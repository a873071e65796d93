package repair

import (
	"bytes"

	"mend/jsonedit"
	"mend/session"
)

// Where the texts of a record's values go.
const (
	_ = iota
	atID
	atCreated
	atStart
	atEnd

	// Of messages.
	atRole
	atCompleted
	atAgent
	atAsked // the model that a prompt asks
	atAskedProvider
	atAskedModel
	atSummary
	atSystem
	atParent
	atProvider
	atModel
	atMode
	atPath
	atCost
	atTokens
	atVariant
	atFinish

	// Of parts.
	atType
	atText
	atSynthetic
	atTime
	atMetadata
	atCallID
	atTool
	atState
	atStatus
	atOutput
	atTitle
	atTold // what the tool told besides
	atError
	atSnapshot
	atReason
	atHash
	atFiles

	lastAt
)

// The members of a record are what a form takes of it.
type members struct {
	had  uint64
	text [lastAt][]byte
}

// read reports whether the object is of the form.
func (m *members) read(f jsonedit.Pattern, data []byte) (ok bool) {
	m.had, ok = f.Match(data, m.text[:])
	return ok
}

// inner is the text of a string, without its quotes and with its escapes.
// It is nil for none.
func (m *members) inner(at int) []byte {
	if m.had>>at&1 == 0 {
		return nil
	}
	return m.text[at][1 : len(m.text[at])-1]
}

// count is the number that [isCount] took, 0 for none.
func (m *members) count(at int) (n int64) {
	if m.had>>at&1 == 1 {
		for _, c := range m.text[at] {
			n = 10*n + int64(c-'0')
		}
	}
	return n
}

// A shape is what an object of a form must have, and what else it may have.
type shape struct{ must, may uint64 }

func (s shape) fits(had uint64) bool { return had&s.must == s.must && had&^(s.must|s.may) == 0 }

func (s shape) with(t shape) shape { return shape{s.must | t.must, s.may | t.may} }

func all(places ...int) (mask uint64) {
	for _, p := range places {
		mask |= 1 << p
	}
	return mask
}

func must(name string, is func([]byte) bool) jsonedit.PatternField {
	return jsonedit.PatternField{Name: name, Accept: is, Required: true}
}

func could(name string, is func([]byte) bool) jsonedit.PatternField {
	return jsonedit.PatternField{Name: name, Accept: is}
}

func kept(name string, as int, is func([]byte) bool) jsonedit.PatternField {
	return jsonedit.PatternField{Name: name, Accept: is, Capture: as}
}

func inside(name string, as int, in jsonedit.Pattern) jsonedit.PatternField {
	return jsonedit.PatternField{Name: name, Object: in, Capture: as}
}

// The forms of what agents write. A file has its ids inside, a row has not. That
// of a message or a part is all that one may have of any kind; the shapes tell
// what a kind has.
var (
	modelForm     = jsonedit.Pattern{kept("providerID", atAskedProvider, isText), kept("modelID", atAskedModel, isText), could("variant", isText)}
	infoModelForm = jsonedit.Pattern{kept("id", atAskedModel, isText), kept("providerID", atAskedProvider, isText), could("variant", isText)}
	cacheForm     = jsonedit.Pattern{must("read", isNumber), must("write", isNumber)}
	tokensForm    = jsonedit.Pattern{
		could("total", isNumber), must("input", isNumber), must("output", isNumber), must("reasoning", isNumber),
		{Name: "cache", Object: cacheForm, Required: true},
	}
	changeForm = jsonedit.Pattern{
		could("file", isText), could("patch", isText), could("status", isText), could("before", isNothing), could("after", isNothing),
		must("additions", isNumber), must("deletions", isNumber),
	}
	summaryForm = jsonedit.Pattern{could("title", isText), could("body", isText), must("diffs", isChanges)}

	messageForm = jsonedit.Pattern{
		kept("id", atID, isText), could("sessionID", isText), could("messageID", isText), kept("role", atRole, isText),
		inside("time", 0, jsonedit.Pattern{kept("created", atCreated, isCount), kept("completed", atCompleted, isCount)}),
		kept("parentID", atParent, isMessage), kept("modelID", atModel, isText), kept("providerID", atProvider, isText), kept("mode", atMode, isText),
		{Name: "summary", Object: summaryForm, Accept: isFalse, Capture: atSummary},
		kept("agent", atAgent, isText), inside("model", atAsked, modelForm), kept("system", atSystem, isText),
		inside("path", atPath, jsonedit.Pattern{must("cwd", isText), must("root", isText)}), kept("cost", atCost, isNumber),
		inside("tokens", atTokens, tokensForm), kept("variant", atVariant, isText), kept("finish", atFinish, isSaid),
	}
	promptShape = shape{all(atRole, atCreated, atAgent, atAsked, atAskedProvider, atAskedModel), all(atID, atSummary, atSystem)}
	answerShape = shape{
		all(atRole, atCreated, atCompleted, atParent, atModel, atProvider, atMode, atAgent, atPath, atCost, atTokens, atFinish),
		all(atID, atSummary, atVariant),
	}

	spanForm = jsonedit.Pattern{{Name: "start", Accept: isCount, Required: true, Capture: atStart}, kept("end", atEnd, isCount)}
	partForm = jsonedit.Pattern{
		kept("id", atID, isText), could("sessionID", isText), could("messageID", isText), kept("type", atType, isText),
		kept("text", atText, isSeen), kept("synthetic", atSynthetic, isBool), inside("time", atTime, spanForm),
		inside("metadata", atMetadata, jsonedit.Pattern{
			{Name: "anthropic", Object: jsonedit.Pattern{must("signature", isSaid)}, Required: true},
		}),
		kept("callID", atCallID, isText), kept("tool", atTool, isText), inside("state", atState, stateForm),
		kept("reason", atReason, isText), kept("snapshot", atSnapshot, isText), kept("cost", atCost, isNumber), inside("tokens", atTokens, tokensForm),
		kept("hash", atHash, isText), kept("files", atFiles, isTexts),
	}
	stateForm = jsonedit.Pattern{
		kept("status", atStatus, isText), must("input", isObject), kept("output", atOutput, isText), kept("error", atError, isText),
		kept("title", atTitle, isText), kept("metadata", atTold, isObject),
		{Name: "time", Object: spanForm, Required: true},
	}
	partShapes = map[string]shape{
		session.TypeText:       {all(atType, atText), all(atID, atSynthetic, atTime, atStart, atEnd)},
		session.TypeReasoning:  {all(atType, atText, atMetadata, atTime, atStart), all(atID, atEnd)},
		session.TypeTool:       {all(atType, atCallID, atTool, atState, atStatus, atStart, atEnd), all(atID)}, /* and of [stateShapes] */
		session.TypeStepStart:  {all(atType), all(atID, atSnapshot)},
		session.TypeStepFinish: {all(atType, atReason, atCost, atTokens), all(atID, atSnapshot)},
		"patch":                {all(atType, atHash, atFiles), all(atID)},
	}
	stateShapes = map[string]shape{
		session.StatusCompleted: {all(atOutput, atTitle, atTold), 0},
		session.StatusError:     {all(atError), all(atTold)},
	}
)

func isText(raw []byte) bool    { return raw[0] == '"' }
func isSaid(raw []byte) bool    { return len(raw) > 2 && raw[0] == '"' }
func isBool(raw []byte) bool    { return raw[0] == 't' || raw[0] == 'f' }
func isFalse(raw []byte) bool   { return len(raw) > 0 && raw[0] == 'f' }
func isNothing([]byte) bool     { return true }
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
func isTexts(raw []byte) bool   { return jsonedit.EachElement(raw, isText) }
func isChanges(raw []byte) bool { return jsonedit.EachElement(raw, isChange) }

// isChange is a changed file; versions differ in what they tell of it.
func isChange(raw []byte) bool {
	_, ok := changeForm.Match(raw, nil)
	return ok
}
