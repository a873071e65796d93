package damage

import (
	"encoding/json"
	"strings"
)

const png = "data:image/png;base64,iVBORw0KGgo="

// largePNG encodes as the URL of an image above the provider's limit. It is made only
// when it is encoded: every start of a test program initialises this package.
var largePNG largeURL

type largeURL struct{}

// MarshalJSON implements [json.Marshaler].
func (largeURL) MarshalJSON() ([]byte, error) {
	return []byte(`"data:image/png;base64,` + strings.Repeat("AAAA", 1_400_000) + `"`), nil
}

func file(mime string, url any) fields { return fields{"type": "file", "mime": mime, "url": url} }

// attached gives the one call attachments.
func attached(files ...fields) func(Store) {
	for _, f := range files {
		f["id"], f["sessionID"], f["messageID"] = "prt_1", "ses_1", "msg_1"
	}
	return inState("attachments", files)
}

// sent puts a file into the second prompt.
func sent(file fields) func(Store) {
	return func(s Store) {
		part, _ := json.Marshal(file) // strings can always be encoded
		add(SecondPrompt, "text", string(part))(s)
	}
}

// files are those of prompts, and what tools attached to their results.
var files = []Kind{
	{"large attachment", attached(file("image/png", largePNG)), same("R15")},
	{"large attachment without output", every(attached(file("image/png", largePNG)), inState("output", "")), same("R15")},
	{"large attachment beside a small one", attached(file("image/png", png), file("image/png", largePNG)), same("R15")},
	{"large image in a prompt", sent(file("image/png", largePNG)), same("R15")},
	{"large image as a prompt", every(sent(file("image/png", largePNG)), drop(SecondPrompt, "text")), same("R15")},
	{"large images everywhere", every(sent(file("image/png", largePNG)), attached(file("image/png", largePNG))), same("R15")},
	{"image in a prompt", sent(file("image/png", png)), same(Alive)},
	{"image attached", attached(file("image/png", png)), same(Alive)},
	{"sound attached", attached(file("audio/mpeg", "data:audio/mpeg;base64,AAAA")), by(Dead, Dead, Alive)},
	{"text attached", attached(file("text/plain", "data:text/plain;base64,AAAA")), by(Dead, Dead, Alive)},
	{"link attached", attached(file("image/png", "https://example.invalid/x.png")), same(Alive)},
	{"attachment cut short", attached(file("image/png", "data:image/png;base64,AAAAA")), same(Alive)},
	{"attachment without mime", attached(fields{"type": "file", "url": png}), same(Dead)},
	{"attachment without url", attached(fields{"type": "file", "mime": "image/png"}), same(Dead)},
	{"attachments null", inState("attachments", nil), same(Alive)},
	{"attachments an object", inState("attachments", fields{"a": 1}), same(Dead)},
	{"strange file in a prompt", sent(file("application/x-novel", "data:application/x-novel;base64,AAAA")), same(Dead)},
	{"sound in a prompt", sent(file("audio/mpeg", "data:audio/mpeg;base64,AAAA")), same(Alive)},
	{"link to an image that is not on the disk in a prompt", sent(file("image/png", "file:///tmp/x.png")), same(Dead)},
	{"link to a text in a prompt", sent(file("text/plain", "file:///tmp/x.txt")), same(Alive)},
	{"image URL without comma in a prompt", sent(file("image/png", "data:image/png;base64")), same(Dead)},
	{"image not in base64 in a prompt", sent(file("image/png", "data:image/png,hello")), same(Alive)},
	{"image without data in a prompt", sent(file("image/png", "data:image/png;base64,")), same(Alive)},
	{"image cut short in a prompt", sent(file("image/png", "data:image/png;base64,AAAAA")), same(Dead)},
	{"file without mime in a prompt", sent(fields{"type": "file", "url": png}), same(Dead)},
	{"file without url in a prompt", sent(fields{"type": "file", "mime": "image/png"}), same(Dead)},
	{"file in an answer", add(Hello, "text", `{"type":"file","mime":"image/png","url":"`+png+`"}`), same(Alive)},
}
