package render

import (
	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/request"
)

func (r *builder) userMessages(m *message) []draftMessage {
	out := draftMessage{role: change.RoleUser, source: &m.Ref}
	for _, p := range m.parts {
		if b, ok := r.userBlock(p); ok {
			b.Source = &p.Ref
			out.blocks = append(out.blocks, draftBlock{Block: &b})
		}
	}
	if r.Profile.IsKilo() {
		out.blocks = append(out.blocks, draftBlock{Block: &request.Block{Type: request.Text, Text: kilosText}})
	}
	if len(out.blocks) == 0 {
		return nil
	}
	return []draftMessage{out}
}

// kilosText stands for the text that Kilo adds after each prompt: the time and the folders. It is not
// stored.
const kilosText = "<environment_details>"

// userBlock returns the block of a user message's part, and whether the part has one.
func (r *builder) userBlock(p *record.Part) (request.Block, bool) {
	switch p.Type {
	case record.TypeText:
		if p.JSON.Get("ignored").Truthy() {
			return request.Block{}, false
		}
		text, ok := textOf(p)
		if !ok {
			r.fail(fieldFailure(p.Ref, "text is missing or not a string"))
		}
		return request.Block{Type: request.Text, Text: text, HalfPair: r.sendsHalfPair(p.JSON.Get("text").Raw())}, ok
	case record.TypeFile:
		return r.userFile(p)
	case "compaction":
		return request.Block{Type: request.Text, Text: "What did we do so far?"}, true
	case "subtask":
		return request.Block{Type: request.Text, Text: "The following tool was executed by the user"}, true
	}
	return request.Block{}, false
}

// userFile returns the block of a file in a user message. Text files and folders have no block: another part of the
// message has their content as text.
func (r *builder) userFile(p *record.Part) (request.Block, bool) {
	mime, isMime := p.JSON.Get("mime").Text()
	if isMime && (mime == "text/plain" || mime == "application/x-directory") {
		return request.Block{}, false
	}
	name, isName := p.JSON.Get("filename").Text()
	if r.stripFiles && isMime && isMedia(mime) {
		if !isName {
			name = "file"
		}
		return request.Block{Type: request.Text, Text: "[Attached " + mime + ": " + name + "]"}, true
	}
	return r.promptFile(p.Ref, p.JSON)
}

// promptFile returns the block of a file that is sent to the model. ref is its record.
func (r *builder) promptFile(ref change.Ref, file js.Value) (request.Block, bool) {
	mime, isMime := file.Get("mime").Text()
	name, isName := file.Get("filename").Text()
	url, isURL := file.Get("url").Bytes()
	switch {
	case !isURL:
		r.fail(fieldFailure(ref, "url is missing or not a string"))
	case !isMime:
		r.fail(fieldFailure(ref, "mime is missing or not a string"))
	case !isName && file.Get("filename").Kind() != 0:
		r.fail(fieldFailure(ref, "filename is not a string"))
	default:
		b, why := r.fileBlock(mime, url, name)
		if why != "" {
			r.fail(Failure{FailureMedia, why, ref, nil})
		}
		return b, why == ""
	}
	return request.Block{}, false
}

// sendsHalfPair reports whether the agent sends a half surrogate pair in a stored text. The oldest
// versions replace it when they read a record, newer ones when they make a request.
func (r *builder) sendsHalfPair(raw []byte) bool {
	return r.isSince(v12) && !r.isSince(v115) && jsonedit.HasHalfPair(raw)
}
