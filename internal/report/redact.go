package report

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mend/change"
	"mend/internal/term"
	"mend/repair"
)

// A redactor replaces every id and everything that a user or a model wrote. Equal texts get the same number,
// so that a reader can compare them.
type redactor struct {
	ids    map[string]string // the replacement of each id
	texts  map[string]int    // the number of each text
	names  map[string]int    // the number of each name: of a tool, a field
	counts map[string]int    // ids and names by kind
}

func newRedactor() *redactor {
	return &redactor{map[string]string{}, map[string]int{}, map[string]int{}, map[string]int{}}
}

// addID adds an id of a kind, such as "msg", with the next number of that kind.
func (r *redactor) addID(kind, id string) {
	if id != "" && r.ids[id] == "" {
		r.counts[kind]++
		r.ids[id] = fmt.Sprintf("%s_%d", kind, r.counts[kind])
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

func (r *redactor) id(id string) string {
	if id == "" || r.ids[id] != "" {
		return r.ids[id]
	}
	return r.name("id", id)
}

// ref returns the redacted name of a record.
func (r *redactor) ref(ref change.Ref) string {
	if ref.Kind == change.KindPart || ref.Kind == change.KindFile {
		return r.id(ref.Message) + "/" + r.id(ref.Part)
	}
	return r.id(ref.ID())
}

// name returns a numbered name: "tool_1".
func (r *redactor) name(kind, name string) string {
	key := kind + "\x00" + name
	if r.names[key] == 0 {
		r.counts[kind]++
		r.names[key] = r.counts[kind]
	}
	return fmt.Sprintf("%s_%d", kind, r.names[key])
}

// word returns a word of a fixed list unchanged, and a numbered name for any other word.
func (r *redactor) word(kind, word string) string {
	if isKnownValue(word) {
		return word
	}
	return r.name(kind, word)
}

// text returns the redacted text: its number, length and form.
func (r *redactor) text(s string) string {
	if s == "" {
		return s
	}
	if r.texts[s] == 0 {
		r.texts[s] = len(r.texts) + 1
	}
	return fmt.Sprintf("‹text %d: %s›", r.texts[s], form(s))
}

// form describes a text without its content: its length, and unusual characters.
func form(s string) string {
	parts := []string{term.Count(utf8.RuneCountInString(s), "character")}
	if n := strings.Count(s, "\n"); n > 0 {
		parts = append(parts, term.Count(n+1, "line"))
	}
	for _, f := range []struct {
		found bool
		text  string
	}{
		{strings.TrimSpace(s) == "", "white space only"},
		{!utf8.ValidString(s), "not valid UTF-8"},
		{strings.ContainsRune(s, utf8.RuneError), "has U+FFFD"},
		{strings.ContainsRune(s, 0), "has NUL"},
		{strings.ContainsFunc(s, func(c rune) bool { return unicode.IsControl(c) && !strings.ContainsRune("\x00\n\r\t", c) }), "has control characters"},
	} {
		if f.found {
			parts = append(parts, f.text)
		}
	}
	return strings.Join(parts, ", ")
}

// vocabulary has the words of mend's own sentences, and of the names of fields and types. TestVocabulary generates the
// list, words.txt, from the source.
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

// isKnownValue reports whether a text has the form of a value, which paths and sentences do not have, and all its words
// are known.
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
	versionForm  = lazyRegexp(`^\d{1,4}\.\d{1,4}\.\d{1,6}$`)
)

func lazyRegexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

const hidden = "‹…›"

// sentence returns a sentence of mend or of a provider, with quoted text, ids and unknown words replaced.
func (r *redactor) sentence(s string) string {
	own := repair.TextsOf(repair.Request{})
	s = quotedForm().ReplaceAllStringFunc(s, func(quoted string) string {
		if text := strings.Trim(quoted, `"`); text == own.Placeholder || text == own.Cancelled {
			return quoted // mend's own words
		}
		return `"` + hidden + `"`
	})
	s = idForm().ReplaceAllStringFunc(s, func(word string) string {
		id := strings.TrimRight(word, ".")
		if name, ok := r.ids[id]; ok {
			return name + word[len(id):]
		}
		return word
	})
	s = wordForm().ReplaceAllStringFunc(s, func(word string) string {
		if isKnown(word) {
			return word
		}
		return hidden
	})
	return repeatedForm().ReplaceAllLiteralString(s, hidden) // to hide the number of words
}
