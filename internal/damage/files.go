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

// attach sets the attachments of the single call.
func attach(files ...fields) func(Store) {
	for _, f := range files {
		f["id"], f["sessionID"], f["messageID"] = "prt_1", "ses_1", "msg_1"
	}
	return setState("attachments", files)
}

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
	{"attachment cut short", attach(file("image/png", "data:image/png;base64,AAAAA")), allVersions(Alive)},
	{"attachment without mime", attach(fields{"type": "file", "url": png}), allVersions(Dead)},
	{"attachment without url", attach(fields{"type": "file", "mime": "image/png"}), allVersions(Dead)},
	{"attachments null", setState("attachments", nil), allVersions(Alive)},
	{"attachments an object", setState("attachments", fields{"a": 1}), allVersions(Dead)},
	{"strange file in a prompt", promptFile(file("application/x-novel", "data:application/x-novel;base64,AAAA")), allVersions(Dead)},
	{"sound in a prompt", promptFile(file("audio/mpeg", "data:audio/mpeg;base64,AAAA")), allVersions(Alive)},
	{"link to an image that is not on the disk in a prompt", promptFile(file("image/png", "file:///tmp/x.png")), allVersions(Dead)},
	{"link to a text in a prompt", promptFile(file("text/plain", "file:///tmp/x.txt")), allVersions(Alive)},
	{"image URL without comma in a prompt", promptFile(file("image/png", "data:image/png;base64")), allVersions(Dead)},
	{"image not in base64 in a prompt", promptFile(file("image/png", "data:image/png,hello")), allVersions(Alive)},
	{"image without data in a prompt", promptFile(file("image/png", "data:image/png;base64,")), allVersions(Alive)},
	{"image cut short in a prompt", promptFile(file("image/png", "data:image/png;base64,AAAAA")), allVersions(Dead)},
	{"file without mime in a prompt", promptFile(fields{"type": "file", "url": png}), allVersions(Dead)},
	{"file without url in a prompt", promptFile(fields{"type": "file", "mime": "image/png"}), allVersions(Dead)},
	{"file in an answer", addPart(Hello, "text", `{"type":"file","mime":"image/png","url":"`+png+`"}`), allVersions(Alive)},
}
