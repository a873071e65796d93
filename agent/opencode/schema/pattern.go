package schema

import (
	"bytes"
	"slices"

	"mend/jsonedit"
)

// Where [jsonedit.Pattern.Match] puts the texts of a record's values, for a pattern of
// [Type.Pattern].
const (
	_ = iota
	PlaceID
	PlaceRole
	PlaceType
	PlaceCreated
	PlaceCompleted
	PlaceProvider
	PlaceModel
	PlaceParent
	PlaceSummary
	PlaceFinish
	PlaceError
	PlaceErrorName
	PlaceStart
	PlaceEnd
	PlaceMetadata
	PlaceCallID
	PlaceTool
	PlaceStatus
	PlaceMIME
	PlaceURL
	PlaceFiles

	Places // how many there are
)

// Pattern returns what a usual value of the type is: it has every member that is needed, and
// no others than the table has. Nothing is wrong with such a record by itself.
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
		all = append(all, jsonedit.PatternField{Name: f.Name, Pattern: p, Required: f.Need != Optional, Capture: f.Place})
	}
	return all
}

// usual reports of the text of a value whether it is of the type as agents write it; it
// is nil for a type that other members .
func (t *Type) usual() func(raw []byte) bool {
	switch t.Kind {
	case String, Path:
		return isText
	case Name:
		return isSaid
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

// isSaid reports whether the string holds anything.
func isSaid(raw []byte) bool { return len(raw) > 2 && raw[0] == '"' }

// isDigits reports whether raw is a whole number that every reader takes for the same.
func isDigits(raw []byte) bool {
	for _, c := range raw {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(raw) <= 15
}

// isSeen reports whether the string has a visible character: there is one of ASCII in it.
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
