package media_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"mend/internal/media"
)

// encoded returns a picture in each of three formats.
func encoded(tb testing.TB, width, height int) (pngData, jpegData, gifData string) {
	tb.Helper()
	m := image.NewPaletted(image.Rect(0, 0, width, height), palette.Plan9)
	for i := range m.Pix {
		m.Pix[i] = byte(uint32(i*i*2654435761) >> 13) // does not compress well
	}
	var p, j, g bytes.Buffer
	for _, err := range []error{png.Encode(&p, m), jpeg.Encode(&j, m, nil), gif.Encode(&g, m, nil)} {
		if err != nil {
			tb.Fatal(err)
		}
	}
	return p.String(), j.String(), g.String()
}

func fromBase64(s string) string {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

var (
	lossyWebP    = fromBase64("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA")
	losslessWebP = fromBase64("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
)

// withSize returns a PNG with the given size in its header.
func withSize(data string, width, height uint32) string {
	b := []byte(data)
	binary.BigEndian.PutUint32(b[16:], width)
	binary.BigEndian.PutUint32(b[20:], height)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return string(b)
}

func TestInspect(t *testing.T) {
	p, j, g := encoded(t, 30, 20)
	for _, c := range []struct {
		name, data    string
		mime          string
		width, height int
	}{
		{"png", p, media.PNG, 30, 20},
		{"jpeg", j, media.JPEG, 30, 20},
		{"gif", g, media.GIF, 30, 20},
		{"webp, lossy", lossyWebP, media.WebP, 1, 1},
		{"webp, lossless", losslessWebP, media.WebP, 1, 1},
		{"bytes after a png", p + "more", media.PNG, 30, 20},
		{"bytes after a jpeg", j + "more", media.JPEG, 30, 20},
		{"hostile size", withSize(p, 1<<31-1, 1<<31-1), media.PNG, 1<<31 - 1, 1<<31 - 1},

		{"nothing", "", "", 0, 0},
		{"text", "a sentence, and no picture", "", 0, 0},
		{"html", "<html>", "", 0, 0},
		{"svg", `<svg xmlns="http://www.w3.org/2000/svg"/>`, "", 0, 0},
		{"no more than a signature", p[:8], "", 0, 0},
		{"no width", withSize(p, 0, 20), "", 0, 0},
		{"png without its end", p[:len(p)-12], "", 0, 0},
		{"half a png", p[:len(p)/2], "", 0, 0},
		{"half a jpeg", j[:len(j)/2], "", 0, 0},
		{"jpeg without its end", j[:len(j)-2], "", 0, 0},
		{"jpeg without a picture", "\xff\xd8\xff\xd9", "", 0, 0},
		{"thumbnail in half a jpeg", "\xff\xd8\xff\xe1\x00\x0a\xff\xd8\xff\xd9...." + j[2:len(j)/2], "", 0, 0},
		{"half a gif", g[:len(g)/2], "", 0, 0},
		{"half a webp", lossyWebP[:30], "", 0, 0},
		{"webp without a picture", "RIFF\x0c\x00\x00\x00WEBPEXIF\x00\x00\x00\x00", "", 0, 0},
	} {
		got := media.Inspect([]byte(base64.StdEncoding.EncodeToString([]byte(c.data))))
		if want := (media.Info{Type: c.mime, Width: c.width, Height: c.height}); got != want {
			t.Errorf("%s: Inspect = %+v, want %+v", c.name, got, want)
		}
	}
}

func TestInspectBase64(t *testing.T) {
	p, _, _ := encoded(t, 900, 200)
	good := base64.StdEncoding.EncodeToString([]byte(p))
	var folded strings.Builder
	for i := 0; i < len(good); i += 76 {
		folded.WriteString(good[i:min(i+76, len(good))] + "\r\n")
	}
	for _, c := range []struct {
		name, data string
		want       bool
	}{
		{"padded", good, true},
		{"without padding", strings.TrimRight(good, "="), true},
		{"alphabet of URLs", base64.URLEncoding.EncodeToString([]byte(p)), true},
		{"in lines", folded.String(), true},
		{"a wrong character", good[:5000] + "!" + good[5001:], false},
		{"a wrong character at the end", good + "!", false},
		{"padding in the middle", good[:8] + "=" + good[8:], false},
		{"one character", "A", false},
		{"a URL", "https://example.invalid/x.png", false},
		{"padding alone", "==", false},
		{"blanks", " \n", false},
	} {
		if got := media.Inspect([]byte(c.data)); got.Image() != c.want {
			t.Errorf("%s: Inspect = %+v, want an image: %t", c.name, got, c.want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		declared, actual string
		want             bool
	}{
		{"image/png", media.PNG, true}, {"image/jpg", media.JPEG, true}, {"image/png", media.JPEG, false}, {"", media.PNG, false},
	} {
		if got := (media.Info{Type: c.actual}).Matches(c.declared); got != c.want {
			t.Errorf("%s declared as %s: Matches = %t", c.actual, c.declared, got)
		}
	}
}

// FuzzInspect: an image that the standard library decodes is complete for Inspect, with the same size.
func FuzzInspect(f *testing.F) {
	p, j, g := encoded(f, 9, 5)
	for _, s := range []string{p, j, g, lossyWebP, losslessWebP, p[:40], "<svg/>", "\xff\xd8\xff\xda"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := media.Inspect([]byte(base64.StdEncoding.EncodeToString(data)))
		if got.Width < 0 || got.Height < 0 {
			t.Errorf("Inspect(%q) = %+v", data, got)
		}
		media.Inspect(data) // must not panic
		size, _, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil || size.Width > 1000 || size.Height > 1000 {
			return
		}
		_, kind, err := image.Decode(bytes.NewReader(data))
		switch {
		case err != nil,
			kind == "gif" && !got.Image(),                                    // the library decodes one image without the GIF's end
			kind == "jpeg" && !bytes.HasPrefix(data, []byte("\xff\xd8\xff")), // Inspect needs three bytes
			got.Type == "image/"+kind && (kind == "gif" || got.Width == size.Width && got.Height == size.Height):
			return
		}
		t.Errorf("Inspect(%q) = %+v; it decodes as a %s of %d×%d", data, got, kind, size.Width, size.Height)
	})
}
