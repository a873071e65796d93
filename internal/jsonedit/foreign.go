package jsonedit

import "bytes"

// Foreign describes a file for which [IsForeign] returns true.
const Foreign = "no line of it is a record; the file may be in another encoding than UTF-8, such as UTF-16"

// IsForeign reports whether a file that should have a JSON object in each line has text, but no such line.
func IsForeign(data []byte) bool {
	blank := true
	for line := range bytes.Lines(data) {
		line = bytes.Trim(bytes.TrimPrefix(line, []byte("\ufeff")), "\x00 \t\r\n")
		if len(line) == 0 {
			continue
		}
		blank = false
		if value, _ := First(line); value != nil && line[0] == '{' {
			return false
		}
	}
	return !blank
}
