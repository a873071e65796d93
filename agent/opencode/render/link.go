package render

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A link is a file's URL as OpenCode has it: JavaScript's new URL(text).
type link struct {
	scheme string // in lower case; "" if the text is no URL, so that the agent takes it for base64
	// Of http and https.
	href    string // as it is sent
	host    string
	address string // the href without a password and a query, for users and models
}

// Address returns the web address that a file's URL has, without a password and a query. It returns "" if
// there is none.
func Address(text []byte) string { return parseLink(text).address }

// parseLink parses a URL. It does not convert a host to ASCII. Its time is linear in the text, unlike that
// of github.com/nlnwa/whatwg-url v0.6.2, which takes 4 s for 16 KB of "@".
func parseLink(text []byte) link {
	text = trimURL(text)
	before, _, _ := bytes.Cut(text, []byte(","))
	if scheme := urlScheme(before); scheme != "http" && scheme != "https" {
		return link{scheme: scheme}
	}
	s := foldURL.Replace(string(text))
	scheme, rest, _ := strings.Cut(s, ":")
	scheme = strings.ToLower(scheme)
	rest = strings.TrimLeft(rest, `/\`)
	authority, path := rest, ""
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	user, host := "", authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, host = escape(authority[:i], "\"#<>?^`{}/;=[\\]|@")+"@", authority[i+1:]
	}
	host, port, ok := parseHost(host)
	if !ok {
		return link{}
	}
	if port == map[string]string{"http": "80", "https": "443"}[scheme] {
		port = ""
	}
	if port != "" {
		port = ":" + port
	}
	query, fragment := "", ""
	if i := strings.IndexByte(path, '#'); i >= 0 {
		path, fragment = path[:i], escape(path[i:], "\"<>`")
	}
	if i := strings.IndexByte(path, '?'); i >= 0 {
		path, query = path[:i], escape(path[i:], `"'<>`)
	}
	path = cleanPath(path)
	return link{scheme, scheme + "://" + user + host + port + path + query + fragment, host, scheme + "://" + host + port + path}
}

// trimURL returns the URL without the control characters and spaces around it.
func trimURL(text []byte) []byte { return bytes.TrimFunc(text, func(c rune) bool { return c <= ' ' }) }

// parseHost returns the host and the port of a URL. It reports false for invalid ones.
func parseHost(s string) (host, port string, ok bool) {
	host, port, _ = strings.Cut(s, ":")
	if end := strings.IndexByte(s, ']'); strings.HasPrefix(s, "[") {
		addr, err := netip.ParseAddr(s[1:max(1, end)])
		if err != nil || !addr.Is6() || addr.Zone() != "" || end+1 < len(s) && s[end+1] != ':' {
			return "", "", false
		}
		host, port = "["+addr.String()+"]", strings.TrimPrefix(s[end+1:], ":")
	} else if host, ok = parseDomain(host); !ok {
		return "", "", false
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return "", "", false
		}
		port = strconv.FormatUint(n, 10)
	}
	return host, port, true
}

// parseDomain returns a domain in lower case, or the numbers of an IP address. It reports false for
// an invalid one.
func parseDomain(s string) (string, bool) {
	s, err := url.PathUnescape(s)
	s = strings.ToLower(s)
	if err != nil || s == "" || strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune(`#/:<>?@[\]^|%`, c) }) {
		return "", false
	}
	labels := strings.Split(strings.TrimSuffix(s, "."), ".")
	if !numberPattern().MatchString(labels[len(labels)-1]) {
		return s, true
	}
	if len(labels) > 4 {
		return "", false
	}
	var all uint64
	for i, label := range labels {
		n, err := strconv.ParseUint(label, 0, 32) // 0x10 and 010, as in JavaScript
		last := i == len(labels)-1
		limit := uint64(1) << 8
		if last {
			limit <<= 8 * (4 - len(labels))
		}
		if err != nil && label != "0x" || n >= limit {
			return "", false
		}
		if last {
			all |= n
		} else {
			all |= n << (8 * (3 - i))
		}
	}
	var ip [4]byte
	binary.BigEndian.PutUint32(ip[:], uint32(all))
	return netip.AddrFrom4(ip).String(), true
}

var (
	numberPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]+|0x[0-9a-f]*)$`) })
	foldURL       = strings.NewReplacer("\r", "", "\n", "", "\t", "") // a URL parser ignores these
)

// cleanPath returns the path of a URL as it is sent.
func cleanPath(s string) string {
	s = escape(strings.TrimPrefix(strings.ReplaceAll(s, `\`, "/"), "/"), "\"<>^`{}")
	var out []string
	segments := strings.Split(s, "/")
	for i, segment := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case "..":
			out = out[:max(0, len(out)-1)]
		case ".":
		default:
			out = append(out, segment)
			continue
		}
		if last {
			out = append(out, "")
		}
	}
	return "/" + strings.Join(out, "/")
}

// escape percent-encodes what is no printable ASCII, spaces and the characters in set.
func escape(s, set string) string {
	var out strings.Builder
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(set, c) >= 0 {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// isPrivate reports whether the host is one from which newer versions download nothing: this machine,
// a private network, or an address that is none of a single host.
func (l link) isPrivate() bool {
	host := strings.TrimRight(l.host, ".")
	if host == "localhost" || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return false
	}
	addr = addr.Unmap()
	if addr.Is6() && contains(embedded, addr) {
		b := addr.As16()
		addr = netip.AddrFrom4([4]byte(b[12:]))
	}
	return contains(private, addr)
}

func contains(all func() []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(all(), func(p netip.Prefix) bool { return p.Contains(addr) })
}

func prefixes(all ...string) func() []netip.Prefix {
	return sync.OnceValue(func() (out []netip.Prefix) {
		for _, s := range all {
			out = append(out, netip.MustParsePrefix(s))
		}
		return out
	})
}

var (
	private = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
		"192.168.0.0/16", "198.18.0.0/15", "240.0.0.0/4", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8")
	// embedded are the addresses of IPv6 that end with one of IPv4. ::1 and :: count as 0.0.0.1 and 0.0.0.0.
	embedded = prefixes("::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")
)

// sendsLink reports whether the package sends a link of the web as it is. OpenCode downloads the file
// for others.
func (r *builder) sendsLink(mime string, l link) bool {
	mime = strings.ToLower(mime)
	switch r.api {
	case Anthropic:
		return r.target.Package != "@ai-sdk/google-vertex/anthropic" && (isImage(mime) || isPDF(mime) && r.since(v115))
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
