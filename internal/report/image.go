package report

import (
	"fmt"
	"slices"
	"strings"

	"mend/change"
)

// image returns the redacted content of a record: a JSON text, or the columns of a row.
func (r *redactor) image(ref change.Ref, i *change.Image, zero int64) string {
	if i == nil {
		return ""
	}
	row, err := change.RowOf(ref, i)
	if i.Mode != 0 || err != nil {
		text := fmt.Sprintf("%s\n", r.json(i.Data, zero))
		if i.Mode != 0 {
			text += "mode " + i.Mode.String() + "\n"
		}
		return text
	}
	var out strings.Builder
	for c := range row.Cols.All {
		fmt.Fprintf(&out, "%s = %s\n", r.word("column", c.Name), r.column(c, zero))
	}
	if row.Data != nil {
		fmt.Fprintf(&out, "data = %s\n", r.json(row.Data, zero))
	}
	return out.String()
}

// column returns the redacted value of a column.
func (r *redactor) column(c change.Col, zero int64) string {
	if n, ok := c.Int(); ok {
		if !r.keep && n >= earliest && zero > 0 {
			return fmt.Sprintf("‹start %+d ms›", n-zero)
		}
		if !r.keep && (n >= earliest || n <= -earliest) {
			return "‹large number›"
		}
		return fmt.Sprint(n)
	}
	text := string(c.Bytes)
	switch {
	case c.Class == change.ClassNull:
		return "NULL"
	case c.Class != change.ClassText:
		return fmt.Sprintf("%s of %s", c.Class, count(len(c.Bytes), "byte"))
	case r.ids[text] != "":
		return r.id(text)
	case c.Name == "version" && versionForm().MatchString(text):
		return text
	case strings.HasPrefix(text, "{"):
		return r.json(c.Bytes, zero)
	}
	return r.text(text)
}

// jsonTexts returns the JSON texts of an image.
func jsonTexts(ref change.Ref, i *change.Image) [][]byte {
	if i == nil {
		return nil
	}
	row, err := change.RowOf(ref, i)
	if i.Mode != 0 || err != nil {
		return [][]byte{i.Data}
	}
	return [][]byte{row.Data}
}

// idFields are the fields that contain ids, with the kind of id.
var idFields = map[string]string{
	"id": "prt", "sessionID": "ses", "messageID": "msg", "parentID": "msg", "projectID": "project", "callID": "call", "partID": "prt",
}

// addIDsIn adds the ids in a JSON text: the values of idFields, outside of free fields.
func (r *redactor) addIDsIn(text []byte) {
	in := newDecoder(text)
	for {
		token, err := in.ReadToken()
		if err != nil {
			return
		}
		kind, length := in.StackIndex(in.StackDepth())
		isName := kind == '{' && length%2 == 1
		if token.Kind() != '"' || !isName {
			continue
		}
		name := token.String()
		if slices.Contains(freeFields, name) {
			if in.SkipValue() != nil {
				return
			}
			continue
		}
		if kind, ok := idFields[name]; ok && in.PeekKind() == '"' {
			value, err := in.ReadToken()
			if err != nil {
				return
			}
			r.addID(kind, value.String())
		}
	}
}
