package render

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"mend/internal/media"
	"mend/internal/request"
)

// isMedia reports whether the type is an image's or a PDF's.
func isMedia(mime string) bool { return isImage(mime) || isPDF(mime) }

func isImage(mime string) bool { return strings.HasPrefix(mime, "image/") }

func isPDF(mime string) bool { return mime == "application/pdf" }

// unsupportedMedia are the kinds of files that few models support. A line of text replaces them.
var unsupportedMedia = [...]string{"audio", "video"}

// fileBlock returns the block of a file in a prompt, or why the agent fails. The type in a data: URL
// takes precedence over mime.
func (r *builder) fileBlock(mime string, text []byte, name string) (b request.Block, why string) {
	b = request.Block{File: request.File{Mime: mime}}
	switch l := parseLink(text); l.scheme {
	case "data":
		if b.Mime, b.Data, why = parseDataURL(text); why != "" {
			return request.Block{}, why
		}
	case "": // not a URL: the agent treats it as base64
		b.Data = text
	case "http", "https": // sent unchanged, or downloaded for each request: mend does not try that
		b.URL = l.href
	case "file":
		if r.isSince(v115) {
			return request.Block{}, "it is a link to a file on disk"
		}
		if r.isFileMissing(string(text)) {
			return request.Block{}, "it is a link to a missing file"
		}
		b.URL = string(text)
	default:
		if l.scheme != "gs" || r.target.Package != "@ai-sdk/google-vertex" {
			return request.Block{}, "it is a link that cannot be followed, " + l.scheme + ":"
		}
		b.URL = string(text)
	}
	if b.Mime == "image/*" && r.api != Bedrock && r.api != OpenRouter {
		b.Mime = "image/jpeg"
	}
	href := b.URL
	b, why = r.typedFileBlock(b, name)
	if kind := mediaKind(b); why == "" && kind != "" && !r.modelReads(kind) {
		b = request.Block{Type: request.Text, Text: unreadableFileText(name, kind)}
	}
	b.URL = href // even if a text replaces the file
	return b, why
}

// mediaKind returns the kind of file, "image" or "pdf", if not every model supports it; "" for other
// blocks.
func mediaKind(b request.Block) string {
	switch {
	case b.Type == request.Image:
		return "image"
	case b.Type == request.Document && isPDF(b.Mime):
		return "pdf"
	}
	return ""
}

// modelReads reports whether the model supports that kind of file. If that is unknown, it returns true.
func (r *builder) modelReads(kind string) bool {
	if r.CanRead == nil {
		return true
	}
	can, known := r.CanRead(r.Model, kind)
	return can || !known
}

// isFileMissing reports whether the file of a file: URL does not exist.
func (s *Settings) isFileMissing(link string) bool {
	u, err := url.Parse(strings.TrimSpace(link))
	return err == nil && s.Missing != nil && s.Missing(u.Path)
}

// typedFileBlock sets the type of a file's block from its MIME type. It returns why the agent fails,
// or "".
func (r *builder) typedFileBlock(b request.Block, name string) (request.Block, string) {
	for _, kind := range unsupportedMedia {
		if strings.HasPrefix(b.Mime, kind+"/") && !r.takesMedia(kind) {
			return request.Block{Type: request.Text, Text: unreadableFileText(name, kind)}, ""
		}
	}
	if r.api != Anthropic {
		why := r.otherFile(&b, name)
		return b, why
	}
	switch {
	case isImage(b.Mime):
		b.Type, b.Media = request.Image, media.NewFile(b.Data)
	case isPDF(b.Mime):
		b.Type, b.Name = request.Document, name
	case b.Mime == "text/plain":
		b.Type, b.Name = request.Document, name
		text, err := base64.StdEncoding.DecodeString(urlAlphabet.Replace(string(b.Data)))
		if err != nil && r.isSince(v115) {
			return request.Block{}, "its text is not base64"
		}
		b.Data = text // older versions send the part that can be decoded
	default:
		return request.Block{}, fmt.Sprintf("a file of type %q cannot be sent to the model", b.Mime)
	}
	return b, ""
}

// longestScheme is longer than any scheme. It limits the search for one in large data.
const longestScheme = 100

// urlScheme returns the scheme of a URL in lower case, or "" if it is not a URL.
func urlScheme(url []byte) string {
	head, _, ok := bytes.Cut(trimURL(url), []byte(":"))
	if !ok || len(head) > longestScheme {
		return ""
	}
	if !schemePattern().Match(head) {
		return ""
	}
	return strings.ToLower(string(head))
}

var (
	schemePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*$`) })
	urlAlphabet   = strings.NewReplacer("-", "+", "_", "/")
)

// parseDataURL returns the MIME type and the content of a data: URL, or why the agent cannot parse it. It does not
// check that the content is base64: the provider's rules do, although OpenCode itself fails.
func parseDataURL(url []byte) (mime string, data []byte, why string) {
	_, rest, _ := bytes.Cut(trimURL(url), []byte(":"))
	for _, fold := range []string{"\r", "\n", "\t"} { // a URL parser ignores these
		if bytes.Contains(rest, []byte(fold)) {
			rest = bytes.ReplaceAll(rest, []byte(fold), nil)
		}
	}
	head, data, ok := bytes.Cut(rest, []byte(","))
	if !ok {
		return "", nil, "its data: URL has no comma"
	}
	data, _, _ = bytes.Cut(data, []byte(","))
	kind, _, _ := bytes.Cut(head, []byte(";"))
	return string(kind), data, ""
}

// unreadableFileText returns the text that replaces a file which the model does not support.
func unreadableFileText(name, kind string) string {
	called := kind
	if name != "" {
		called = `"` + name + `"`
	}
	return fmt.Sprintf("ERROR: Cannot read %s (this model does not support %s input). Inform the user.", called, kind)
}

// A link is a file's URL.
type link struct {
	scheme string // in lower case; "" if the text is not a URL: the agent then treats it as base64
	// For http and https:
	href    string // as it is sent
	address string // href without password and query, for users and models
}

// Address returns the web address in a file's URL, without password and query, or "".
func Address(text []byte) string { return parseLink(text).address }

// parseLink parses a URL. Forms that only a browser understands, such as an octal address, do not count
// as URLs.
func parseLink(text []byte) link {
	text = trimURL(text)
	before, _, _ := bytes.Cut(text, []byte(","))
	scheme := urlScheme(before)
	if scheme != "http" && scheme != "https" {
		return link{scheme: scheme}
	}
	u, err := url.Parse(scheme + "://" + strings.TrimLeft(string(text[len(scheme)+1:]), `/\`)) // any number of slashes
	if err != nil || u.Hostname() == "" {
		return link{}
	}
	if u.Host = strings.ToLower(u.Host); u.Path == "" {
		u.Path = "/"
	}
	l := link{scheme: u.Scheme, href: u.String()}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment = nil, "", false, ""
	l.address = u.String()
	return l
}

// trimURL returns the URL without the control characters and spaces around it.
func trimURL(text []byte) []byte { return bytes.TrimFunc(text, func(c rune) bool { return c <= ' ' }) }
