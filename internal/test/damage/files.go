package damage

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"slices"
)

// png is an image of one pixel.
const png = "data:image/png;base64," + pngData

const pngData = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="

// largePNG encodes as the URL of an image above the provider's limit, in bytes. It is created only when it is
// encoded, because every start of a test program initialises this package.
var largePNG largeURL

type largeURL struct{}

// MarshalJSON implements [json.Marshaler].
func (largeURL) MarshalJSON() ([]byte, error) { return encodeURL("image/png", paddedPNG(4_200_000)) }

func file(mime string, url any) fields { return fields{"type": "file", "mime": mime, "url": url} }

// attach sets the attachments of the single call.
func attach(files ...fields) func(Store) {
	for _, f := range files {
		f["id"], f["sessionID"], f["messageID"] = "prt_1", "ses_1", "msg_1"
	}
	return setState("attachments", files)
}

// A bytesURL encodes as the URL of data of a type.
type bytesURL struct {
	mime string
	data func() []byte
}

// MarshalJSON implements [json.Marshaler].
func (u bytesURL) MarshalJSON() ([]byte, error) { return encodeURL(u.mime, u.data()) }

func encodeURL(mime string, data []byte) ([]byte, error) {
	return []byte(`"data:` + mime + `;base64,` + base64.StdEncoding.EncodeToString(data) + `"`), nil
}

func smallPNG() []byte {
	data, _ := base64.StdEncoding.DecodeString(pngData) // a constant
	return data
}

// paddedPNG returns the image of one pixel with that many bytes that no decoder reads.
func paddedPNG(n int) []byte {
	const headEnd = 33 // after the first chunk
	small := smallPNG()
	return slices.Concat(small[:headEnd], chunk("skIp", make([]byte, n)), small[headEnd:])
}

// widePNG returns an image of that many pixels a side.
func widePNG(side uint32) []byte {
	small := smallPNG()
	header := slices.Clone(small[16:29])
	binary.BigEndian.PutUint32(header, side)
	row := make([]byte, 1+side) // a filter and gray pixels
	binary.BigEndian.PutUint32(header[4:], 1)
	var pixels bytes.Buffer
	w := zlib.NewWriter(&pixels)
	_, _ = w.Write(row) // into memory
	_ = w.Close()
	return slices.Concat(small[:8], chunk("IHDR", header), chunk("IDAT", pixels.Bytes()), chunk("IEND", nil))
}

// chunk returns a chunk of a PNG.
func chunk(kind string, data []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	out = slices.Concat(out, []byte(kind), data)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

// words returns data that is not an image.
func words(s string) func() []byte { return func() []byte { return []byte(s) } }

const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>`

// promptFile adds a file to the second prompt.
func promptFile(file fields) func(Store) {
	return func(s Store) {
		part, _ := json.Marshal(file) // strings can always be encoded
		addPart(SecondPrompt, "text", string(part))(s)
	}
}

// files has files of prompts and attachments of tool results.
var files = []Kind{
	{"large attachment", attach(file("image/png", largePNG)), allVersions("R15")},
	{"large attachment without output", combine(attach(file("image/png", largePNG)), setState("output", "")), allVersions("R15")},
	{"large attachment beside a small one", attach(file("image/png", png), file("image/png", largePNG)), allVersions("R15")},
	{"large image in a prompt", promptFile(file("image/png", largePNG)), allVersions("R15")},
	{"large image as a prompt", combine(promptFile(file("image/png", largePNG)), dropPart(SecondPrompt, "text")), allVersions("R15")},
	{"large images everywhere", combine(promptFile(file("image/png", largePNG)), attach(file("image/png", largePNG))), allVersions("R15")},
	{"image in a prompt", promptFile(file("image/png", png)), allVersions(Alive)},
	{"image attached", attach(file("image/png", png)), allVersions(Alive)},
	{"sound attached", attach(file("audio/mpeg", "data:audio/mpeg;base64,AAAA")), byVersion(Dead, Dead, Alive)},
	{"text attached", attach(file("text/plain", "data:text/plain;base64,AAAA")), byVersion(Dead, Dead, Alive)},
	{"link attached", attach(file("image/png", "https://example.invalid/x.png")), allVersions(Alive)},
	{"attachment cut short", attach(file("image/png", "data:image/png;base64,AAAAA")), allVersions("R18")},
	{"attachments null", setState("attachments", nil), allVersions(Alive)},
	{"strange file in a prompt", promptFile(file("application/x-novel", "data:application/x-novel;base64,AAAA")), allVersions(Dead)},
	{"sound in a prompt", promptFile(file("audio/mpeg", "data:audio/mpeg;base64,AAAA")), allVersions(Alive)},
	{"link to an image that is not on the disk in a prompt", promptFile(file("image/png", "file:///tmp/x.png")), allVersions(Dead)},
	{"link to a text in a prompt", promptFile(file("text/plain", "file:///tmp/x.txt")), allVersions(Alive)},
	{"image URL without comma in a prompt", promptFile(file("image/png", "data:image/png;base64")), allVersions(Dead)},
	{"image not in base64 in a prompt", promptFile(file("image/png", "data:image/png,hello")), allVersions("R18")},
	{"image without data in a prompt", promptFile(file("image/png", "data:image/png;base64,")), allVersions("R18")},
	{"image that is a text in a prompt", promptFile(file("image/png", bytesURL{"image/png", words("no image")})), allVersions("R18")},
	{"image that is a text attached", attach(file("image/png", bytesURL{"image/png", words("no image")})), allVersions("R18")},
	{"image of no bytes attached", attach(file("image/png", "data:image/png;base64,")), allVersions("R18")},
	{"half an image in a prompt", promptFile(file("image/png", bytesURL{"image/png", func() []byte { return smallPNG()[:40] }})), allVersions("R18")},
	{"SVG in a prompt", promptFile(file("image/svg+xml", bytesURL{"image/svg+xml", words(svg)})), allVersions("R19")},
	{"SVG attached", attach(file("image/svg+xml", bytesURL{"image/svg+xml", words(svg)})), allVersions("R19")},
	{"PNG as JPEG in a prompt", promptFile(file("image/jpeg", bytesURL{"image/jpeg", smallPNG})), allVersions("R20")},
	{"PNG as JPEG attached", attach(file("image/jpeg", bytesURL{"image/jpeg", smallPNG})), allVersions("R20")},
	{"image of 9000 pixels a side in a prompt", promptFile(file("image/png", bytesURL{"image/png", func() []byte { return widePNG(9000) }})), allVersions("R21")},
	{"image of 8000 pixels a side in a prompt", promptFile(file("image/png", bytesURL{"image/png", func() []byte { return widePNG(8000) }})), allVersions(Alive)},
	{"file without mime in a prompt", promptFile(fields{"type": "file", "url": png}), allVersions(Dead)},
	{"file in an answer", addPart(Hello, "text", `{"type":"file","mime":"image/png","url":"`+png+`"}`), allVersions(Alive)},
}
