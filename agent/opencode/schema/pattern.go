package schema

import (
	"bytes"
	"slices"

	"mend/jsonedit"
)

// The indexes under which [jsonedit.Pattern.Match] returns the texts of a record's values,
// for a pattern of [Type.Pattern].
const (
	_ = iota
	CaptureID
	CaptureRole
	CaptureType
	CaptureCreated
	CaptureCompleted
	CaptureProvider
	CaptureModel
	CaptureParent
	CaptureSummary
	CaptureFinish
	CaptureError
	CaptureErrorName
	CaptureStart
	CaptureEnd
	CaptureMetadata
	CaptureCallID
	CaptureTool
	CaptureStatus
	CaptureMIME
	CaptureURL
	CaptureFiles

	Captures // their number, with the unused 0
)

// Pattern returns the pattern of a usual value of the type: it has every needed member and
// no member that is not in the table. A record that matches is valid.
func (t *Type) Pattern() *jsonedit.Pattern {
	p := &jsonedit.Pattern{Accept: t.usual()}
	switch t.Kind {
	case List:
		p.Elements = t.Elem.Pattern()
	case Map:
		p.Values = t.Elem.Pattern()
	case Object:
		p.Fields = patternFields(t.Fields)
	case Union:
		p.By, p.Cases = t.By.Name, map[string][]jsonedit.PatternField{}
		for name, fields := range t.Cases {
			p.Cases[name] = patternFields(slices.Concat([]Field{*t.By}, t.Fields, fields))
		}
	default:
	}
	return p
}

func patternFields(fields []Field) (all []jsonedit.PatternField) {
	for i := range fields {
		f := &fields[i]
		if f.Unusual {
			continue
		}
		t := &f.Type
		if f.UsualType != nil {
			t = f.UsualType
		}
		p := t.Pattern()
		if f.Usual != nil {
			p.Accept = f.Usual
		}
		all = append(all, jsonedit.PatternField{Name: f.Name, Pattern: p, Required: f.Need != Optional, Capture: f.Capture})
	}
	return all
}

// usual returns a function that reports whether the text of a value is one that agents
// write for the type; nil for types whose patterns have fields or elements.
func (t *Type) usual() func(raw []byte) bool {
	switch t.Kind {
	case String, Path:
		return isText
	case Name:
		return isNonEmpty
	case ID:
		prefix := []byte(`"` + t.Prefix)
		return func(raw []byte) bool { return bytes.HasPrefix(raw, prefix) }
	case Number, Finite:
		return isNumber
	case Time, Count:
		return isDigits
	case Bool:
		return func(raw []byte) bool { return raw[0] == 't' || raw[0] == 'f' }
	case Object:
		return func(raw []byte) bool { return raw[0] == '{' }
	default:
		return nil
	}
}

func isText(raw []byte) bool { return raw[0] == '"' }

// isNonEmpty reports whether raw is a string that is not empty.
func isNonEmpty(raw []byte) bool { return len(raw) > 2 && raw[0] == '"' }

// isDigits reports whether raw is a whole number that is exact in every reader.
func isDigits(raw []byte) bool {
	for _, c := range raw {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(raw) <= 15
}

// isVisible reports whether raw is a string with a visible ASCII character.
func isVisible(raw []byte) bool {
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
