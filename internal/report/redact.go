package report

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mend/change"
	"mend/repair"
)

// A redactor replaces every id and everything that a user or a model wrote. Equal texts get the same number,
// so that a reader can compare them. With keep it replaces nothing.
type redactor struct {
	keep  bool
	ids   map[string]string // the replacement of each id
	seen  map[string]string // ids without a number so far, with their kind
	texts map[string]int    // the number of each text
	names map[string]int    // the number of each name: of a tool, a model, a field
}

func newRedactor(keep bool) *redactor {
	return &redactor{keep: keep, ids: map[string]string{}, seen: map[string]string{}, texts: map[string]int{}, names: map[string]int{}}
}

// addID adds an id of a kind, such as "msg".
func (r *redactor) addID(kind, id string) {
	if id != "" && r.seen[id] == "" {
		r.seen[id] = kind
	}
}

// addRef adds the ids of a record.
func (r *redactor) addRef(ref change.Ref) {
	r.addID("ses", ref.Session)
	r.addID("msg", ref.Message)
	r.addID("project", ref.Project)
	if ref.Kind == change.KindFile {
		r.addID("file", ref.Part)
	} else {
		r.addID("prt", ref.Part)
	}
}

// numberIDs numbers the ids of each kind in the agent's sort order.
func (r *redactor) numberIDs() {
	counts := map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(r.seen)) {
		kind := r.seen[id]
		counts[kind]++
		r.ids[id] = fmt.Sprintf("%s_%d", kind, counts[kind])
	}
}

// id returns the redacted id.
func (r *redactor) id(id string) string {
	if r.keep || id == "" {
		return id
	}
	if name, ok := r.ids[id]; ok {
		return name
	}
	return r.name("id", id)
}

// ref returns the redacted name of a record.
func (r *redactor) ref(ref change.Ref) string {
	if r.keep {
		return ref.String()
	}
	switch ref.Kind {
	case change.KindPart, change.KindFile:
		return r.id(ref.Message) + "/" + r.id(ref.Part)
	case change.KindFolder:
		return r.id(ref.ID()) + "/"
	default:
		return r.id(ref.ID())
	}
}

// name returns a numbered name: "tool_1".
func (r *redactor) name(kind, name string) string {
	if r.keep {
		return name
	}
	if r.names[kind+"\x00"+name] == 0 {
		r.names[kind]++
		r.names[kind+"\x00"+name] = r.names[kind]
	}
	return fmt.Sprintf("%s_%d", kind, r.names[kind+"\x00"+name])
}

// word returns a word of a fixed list unchanged, and a numbered name for any other word.
func (r *redactor) word(kind, word string) string {
	if isKnownValue(word) {
		return word
	}
	return r.name(kind, word)
}

// longestText is the number of characters shown of a text that is not replaced.
const longestText = 4000

// text returns the redacted text: its number, length and form.
func (r *redactor) text(s string) string {
	switch {
	case r.keep && len(s) > longestText:
		return strings.ToValidUTF8(s[:longestText], "") + fmt.Sprintf("‹… %d bytes in all›", len(s))
	case r.keep || s == "":
		return s
	}
	if r.texts[s] == 0 {
		r.texts[s] = len(r.texts) + 1
	}
	return fmt.Sprintf("‹text %d: %s›", r.texts[s], form(s))
}

// form describes a text without its content.
func form(s string) string {
	parts := []string{count(utf8.RuneCountInString(s), "character")}
	if n := strings.Count(s, "\n"); n > 0 {
		parts = append(parts, count(n+1, "line"))
	}
	for _, f := range []struct {
		found bool
		text  string
	}{
		{strings.TrimSpace(s) == "", "white space only"},
		{!utf8.ValidString(s), "not valid UTF-8"},
		{strings.ContainsRune(s, utf8.RuneError), "has U+FFFD"},
		{strings.ContainsRune(s, 0), "has NUL"},
		{strings.ContainsFunc(s, isControl), "has control characters"},
	} {
		if f.found {
			parts = append(parts, f.text)
		}
	}
	return strings.Join(parts, ", ")
}

func isControl(c rune) bool {
	return c != 0 && c != '\n' && c != '\r' && c != '\t' && unicode.IsControl(c)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// vocabulary has the words of mend's own sentences and of the names of fields and types. TestVocabulary
// generates words.txt from the source.
var vocabulary = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(wordList) {
		words[word] = true
	}
	return words
})

//go:embed words.txt
var wordList string

// isKnown reports whether a word is mend's own, or a number of at most six digits.
func isKnown(word string) bool {
	if strings.Trim(word, "0123456789") == "" {
		return len(word) <= 6
	}
	return vocabulary()[strings.ToLower(word)]
}

// isKnownValue reports whether all words of a value are known. A path or a sentence does not have this form.
func isKnownValue(s string) bool {
	if len(s) > 40 || !valueForm().MatchString(s) {
		return false
	}
	for _, word := range wordForm().FindAllString(s, -1) {
		if !isKnown(word) {
			return false
		}
	}
	return true
}

// Patterns of texts. They are compiled when the first page is made, not at every start of mend.
var (
	valueForm    = lazyRegexp(`^[A-Za-z][A-Za-z0-9]*([-_/+.][A-Za-z0-9]+){0,3}$`)
	wordForm     = lazyRegexp(`[\p{L}\p{N}]+`)
	idForm       = lazyRegexp(`[A-Za-z0-9_.-]{4,}`)
	quotedForm   = lazyRegexp(`(?s)"(?:[^"\\]|\\.)*("|$)|“[^”]*(”|$)`)
	repeatedForm = lazyRegexp(hidden + `([ ./\\:_-]{0,3}` + hidden + `)+`)
)

func lazyRegexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

const hidden = "‹…›"

// sentence returns a sentence of mend or of a provider, with quoted text, ids and unknown words replaced.
func (r *redactor) sentence(s string) string {
	if r.keep {
		return s
	}
	own := repair.TextsOf(repair.Request{})
	s = quotedForm().ReplaceAllStringFunc(s, func(quoted string) string {
		if text := strings.Trim(quoted, `"`); text == own.Placeholder || text == own.Cancelled {
			return quoted // mend's own words
		}
		return `"` + hidden + `"`
	})
	var out strings.Builder
	for at, span := 0, idForm().FindStringIndex(s); ; {
		if span == nil {
			out.WriteString(hideUnknown(s[at:]))
			return collapse(out.String())
		}
		from, to := at+span[0], at+span[1]
		word := strings.TrimRight(s[from:to], ".")
		out.WriteString(hideUnknown(s[at:from]))
		if name, ok := r.ids[word]; ok {
			out.WriteString(name)
		} else {
			out.WriteString(hideUnknown(word))
		}
		at = from + len(word)
		for at < to { // dots at the end of a sentence
			out.WriteByte(s[at])
			at++
		}
		span = idForm().FindStringIndex(s[at:])
	}
}

func hideUnknown(s string) string {
	return wordForm().ReplaceAllStringFunc(s, func(word string) string {
		if isKnown(word) {
			return word
		}
		return hidden
	})
}

// collapse joins neighbouring replacements, so that the number of words does not show.
func collapse(s string) string { return repeatedForm().ReplaceAllLiteralString(s, hidden) }
