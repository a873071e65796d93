package render

import (
	"bytes"
	"net/url"
	"strings"
)

// A link is a file's URL.
type link struct {
	scheme string // in lower case; "" if the text is not a URL: the agent then takes it for base64
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
