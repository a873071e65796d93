package endpoint

import (
	"strings"
)

// decodes reports whether the URL has an image that can be decoded. A link counts, because the endpoint does not follow
// links. empty means that it has no bytes.
func decodes(url string) (empty, ok bool) {
	head, data, found := strings.Cut(url, ",")
	if !strings.HasPrefix(url, "data:") {
		return false, strings.HasPrefix(url, "http")
	}
	if !found || !strings.HasSuffix(head, ";base64") {
		return false, false
	}
	p := decodePicture(data)
	return p.Empty, p.Kind != ""
}
