package render

import "testing"

// TestParseLink: URLs are parsed as the real programs do (1.1.53, 1.18.33). Forms that no program writes are not URLs.
func TestParseLink(t *testing.T) {
	for _, c := range []struct{ text, scheme, href string }{
		{"http://127.0.0.1:9/x", "http", "http://127.0.0.1:9/x"},
		{"HTTP://Example.com", "http", "http://example.com/"},
		{" http://a/x\n", "http", "http://a/x"},
		{"http://a:65535", "http", "http://a:65535/"},
		{"http://a/a b", "http", "http://a/a%20b"},
		{"http://a/é,x", "http", "http://a/%C3%A9,x"},
		{"http://u:p@w@a/x", "http", "http://u:p%40w@a/x"},
		{"http://[::1]:9/", "http", "http://[::1]:9/"},
		{"http:", "", ""},
		{"https://", "", ""},
		{"http://@", "", ""},
		{"http://a:9x/", "", ""},
		{"http:/a/x", "http", "http://a/x"},
		{"http://a b/", "", ""},
		{"http://%zz/", "", ""},
		{"http://[::1", "", ""},
		{"http://[::1]x/", "", ""},
		{"http://\x00", "", ""},
		{"nonsense", "", ""},
		{"C:\\x.png", "c", ""},
		{"ftp://a/", "ftp", ""},
		{"data:image/png;base64,x", "data", ""},
	} {
		if got := parseLink([]byte(c.text)); got.scheme != c.scheme || got.href != c.href {
			t.Errorf("parseLink(%q) = %q %q, want %q %q", c.text, got.scheme, got.href, c.scheme, c.href)
		}
	}
	if got, want := Address([]byte("https://me:secret@Example.com:8/x?key=y#z")), "https://example.com:8/x"; got != want {
		t.Errorf("Address = %q, want %q", got, want)
	}
}
