package render

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A link is a file's URL.
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

// parseLink parses a URL as the URL Standard says for the web: behind http: are any number of slashes, a backslash is one too, and a host
// that ends with a number is an IPv4 address.
func parseLink(text []byte) link {
	text = trimURL(text)
	before, _, _ := bytes.Cut(text, []byte(","))
	if scheme := urlScheme(before); scheme != "http" && scheme != "https" {
		return link{scheme: scheme}
	}
	path, query := string(text), ""
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path, query = path[:i], path[i:]
	}
	u, err := url.Parse(slashes().ReplaceAllString(strings.ReplaceAll(path, `\`, "/"), "$1://") + query)
	if err != nil || u.Hostname() == "" {
		return link{}
	}
	u.Host = strings.ToLower(u.Host)
	if host := u.Hostname(); endsWithNumber(host) {
		addr, ok := parseIPv4(host)
		if !ok {
			return link{}
		}
		u.Host = strings.Replace(u.Host, host, addr.String(), 1)
	}
	if port := u.Port(); port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	if u = new(url.URL).ResolveReference(u); u.Path == "" { // without the dots in its path
		u.Path = "/"
	}
	l := link{scheme: u.Scheme, href: u.String(), host: u.Hostname()}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment = nil, "", false, ""
	l.address = u.String()
	return l
}

var slashes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(https?):/*`) })

// endsWithNumber reports whether a host is an IPv4 address, or none at all.
func endsWithNumber(host string) bool {
	last := host[strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')+1:]
	return !strings.Contains(host, ":") && last[0] >= '0' && last[0] <= '9'
}

// parseIPv4 parses an IPv4 address of one to four numbers, of which the last fills the rest. Each is decimal, octal behind 0 or hexadecimal
// behind 0x.
func parseIPv4(host string) (netip.Addr, bool) {
	numbers := strings.Split(strings.TrimSuffix(host, "."), ".")
	all := uint64(0)
	for i, number := range numbers {
		bits := 8
		if i == len(numbers)-1 {
			bits *= 5 - len(numbers)
		}
		n, err := strconv.ParseUint(number, 0, 32)
		if err != nil || bits <= 0 || n>>bits != 0 {
			return netip.Addr{}, false
		}
		all = all<<bits | n
	}
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(all)))), true //nolint:gosec // at most 32 bits
}

// trimURL returns the URL without the control characters and spaces around it.
func trimURL(text []byte) []byte { return bytes.TrimFunc(text, func(c rune) bool { return c <= ' ' }) }

// isPrivate reports whether the host is one from which newer versions download nothing: this machine,
// a private network, or an address that is none of a single host.
func (l link) isPrivate() bool {
	host := strings.TrimRight(l.host, ".")
	if host == "localhost" || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && slices.ContainsFunc(private(), func(p netip.Prefix) bool { return p.Contains(addr.Unmap()) })
}

var private = sync.OnceValue(func() (out []netip.Prefix) {
	for _, s := range [...]string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
		"192.168.0.0/16", "198.18.0.0/15", "240.0.0.0/4", "::/127", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
	} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
})

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
