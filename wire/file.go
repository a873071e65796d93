package wire

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// isMedia reports whether files of that kind are taken out of a conversation
// that is to be summed up.
func isMedia(mime string) bool { return isImage(mime) || isPDF(mime) }

func isImage(mime string) bool { return strings.HasPrefix(mime, "image/") }

func isPDF(mime string) bool { return mime == "application/pdf" }

// unheard are the kinds of files that Claude cannot be sent, of which it is told.
var unheard = [...]string{"audio", "video"}

// fileBlock is the block of a file in a prompt, or why the agent ends on it. What
// a data: URL says of its kind counts more than mime.
func (p Profile) fileBlock(mime, link, name string) (b Block, why string) {
	scheme := schemeOf(link)
	b = Block{Mime: mime, URL: link}
	switch scheme {
	case "data":
		if b.Mime, b.Data, why = dataURL(link); why != "" {
			return Block{}, why
		}
		b.URL = ""
	case "": // no URL: taken for base64
		b.Data, b.URL = link, ""
	case "http", "https":
	case "file":
		if p.WebOnly {
			return Block{}, "it is a link to a file on disk"
		}
	default:
		return Block{}, "it is a link that cannot be followed, " + scheme + ":"
	}
	return b.ofFile(name)
}

// ofFile makes the block one of the type that its content needs.
func (b Block) ofFile(name string) (Block, string) {
	for _, kind := range unheard {
		if strings.HasPrefix(b.Mime, kind+"/") {
			return Block{Type: Text, Text: unreadableFile(name, kind)}, ""
		}
	}
	switch {
	case isImage(b.Mime):
		b.Type = Image
	case isPDF(b.Mime):
		b.Type, b.Name = Document, name
	case b.Mime == "text/plain":
		b.Type, b.Name = Document, name
		text, err := base64.StdEncoding.DecodeString(urlAlphabet.Replace(b.Data))
		if err != nil {
			return Block{}, "its text is not base64"
		}
		b.Data = string(text)
	default:
		return Block{}, fmt.Sprintf("a file of type %q cannot be sent to the model", b.Mime)
	}
	return b, ""
}

// schemeOf is the scheme of a URL in lower case, "" for what is no URL.
func schemeOf(url string) string {
	scheme, _, ok := strings.Cut(strings.TrimSpace(url), ":")
	if !ok || !schemeForm.MatchString(scheme) {
		return ""
	}
	return strings.ToLower(scheme)
}

var (
	schemeForm  = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*$`)
	urlAlphabet = strings.NewReplacer("-", "+", "_", "/")
	folds       = strings.NewReplacer("\r", "", "\n", "", "\t", "")
)

// dataURL takes a data: URL apart, or says why the agent cannot: it decodes the
// content, strictly, and then sends it as it stands.
func dataURL(url string) (mime, data, why string) {
	_, rest, _ := strings.Cut(strings.TrimSpace(url), ":")
	if strings.ContainsAny(rest, "\r\n\t") { // which a URL may have anywhere
		rest = folds.Replace(rest)
	}
	head, data, ok := strings.Cut(rest, ",")
	if !ok {
		return "", "", "its data: URL has no comma"
	}
	if strings.HasSuffix(head, ";base64") && !isBase64(data) {
		return "", "", "its data: URL is not base64"
	}
	data, _, _ = strings.Cut(data, ",")
	mime, _, _ = strings.Cut(head, ";")
	return mime, data, ""
}

// isBase64 reports whether s is base64 in either alphabet, or in both, with all
// of its padding.
func isBase64(s string) bool {
	if strings.Contains(s, "%") {
		plain, err := url.PathUnescape(s)
		if err != nil {
			return false
		}
		s = plain
	}
	digits := strings.TrimSuffix(strings.TrimSuffix(s, "="), "=")
	return len(s)%4 == 0 && !strings.ContainsFunc(digits, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("+/-_", c)
	})
}

// unreadableFile is what the model is told of a file that it cannot be sent.
func unreadableFile(name, kind string) string {
	called := kind
	if name != "" {
		called = `"` + name + `"`
	}
	return fmt.Sprintf("ERROR: Cannot read %s (this model does not support %s input). Inform the user.", called, kind)
}
