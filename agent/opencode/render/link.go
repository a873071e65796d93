package render

import (
	"bytes"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// A link is a file's URL.
type link struct {
	scheme string // in lower case; "" if the text is not a URL: the agent then takes it for base64
	// For http and https:
	href    string // as it is sent
	host    string
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
	l := link{scheme: u.Scheme, href: u.String(), host: u.Hostname()}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment = nil, "", false, ""
	l.address = u.String()
	return l
}

// trimURL returns the URL without the control characters and spaces around it.
func trimURL(text []byte) []byte { return bytes.TrimFunc(text, func(c rune) bool { return c <= ' ' }) }

// isPrivate reports whether newer versions refuse to download from the host: this machine or a private
// network.
func (l link) isPrivate() bool {
	host := strings.TrimRight(l.host, ".")
	addr, err := netip.ParseAddr(host)
	addr = addr.Unmap()
	return host == "localhost" || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".localhost") ||
		err == nil && (addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsUnspecified())
}

// sendsLink reports whether the package sends a web link unchanged. For other packages OpenCode downloads the file.
func (r *builder) sendsLink(mime string, l link) bool {
	mime = strings.ToLower(mime)
	switch r.api {
	case Anthropic:
		return r.target.Package != "@ai-sdk/google-vertex/anthropic" && (isImage(mime) || isPDF(mime) && r.isSince(v115))
	case OpenAI:
		return isImage(mime) || isPDF(mime)
	case OpenRouter:
		return isImage(mime) && imageLink().MatchString(l.href) || strings.HasPrefix(mime, "application/")
	case Gemini:
		return r.target.Package == "@ai-sdk/google-vertex" || l.host == "youtu.be" || strings.HasSuffix(l.host, "youtube.com")
	default:
		return false
	}
}

var imageLink = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^https?://.+\.(jpg|jpeg|png|gif|webp)([?#].*)?$`)
})
