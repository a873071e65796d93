package render

import (
	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/request"
)

// userMessages returns what a user message becomes.
func (r *builder) userMessages(m *message) []draftMessage {
	out := draftMessage{role: change.RoleUser, source: &m.ref}
	for _, p := range m.parts {
		if b, ok := r.userBlock(p); ok {
			b.Source = &p.Ref
			out.blocks = append(out.blocks, draftBlock{Block: &b})
		}
	}
	if len(out.blocks) == 0 {
		return nil
	}
	return []draftMessage{out}
}

// userBlock returns the block of a user message's part, and whether there is one.
func (r *builder) userBlock(p part) (request.Block, bool) {
	switch p.kind {
	case record.TypeText:
		if p.json.Get("ignored").Truthy() {
			return request.Block{}, false
		}
		text, ok := p.json.Get("text").Text()
		if !ok {
			r.fail(fieldFailure(p.Ref, "text is missing or not a string"))
		}
		return request.Block{Type: request.Text, Text: text}, ok
	case record.TypeFile:
		return r.userFile(p)
	case "compaction":
		return request.Block{Type: request.Text, Text: "What did we do so far?"}, true
	case "subtask":
		return request.Block{Type: request.Text, Text: "The following tool was executed by the user"}, true
	}
	return request.Block{}, false
}

// userFile returns the block of a file in a user message. Text files and folders have none:
// another part of the message holds their content as text.
func (r *builder) userFile(p part) (request.Block, bool) {
	mime, isMime := p.json.Get("mime").Text()
	if isMime && (mime == "text/plain" || mime == "application/x-directory") {
		return request.Block{}, false
	}
	name, isName := p.json.Get("filename").Text()
	if r.stripFiles && isMime && isMedia(mime) {
		if !isName {
			name = "file"
		}
		return request.Block{Type: request.Text, Text: "[Attached " + mime + ": " + name + "]"}, true
	}
	return r.promptFile(p)
}

// promptFile returns the block of a file that is sent to the model.
func (r *builder) promptFile(p part) (request.Block, bool) {
	mime, isMime := p.json.Get("mime").Text()
	name, isName := p.json.Get("filename").Text()
	url, isURL := p.json.Get("url").Bytes()
	switch {
	case !isURL:
		r.fail(fieldFailure(p.Ref, "url is missing or not a string"))
	case !isMime:
		r.fail(fieldFailure(p.Ref, "mime is missing or not a string"))
	case !isName && p.json.Get("filename").Kind() != 0:
		r.fail(fieldFailure(p.Ref, "filename is not a string"))
	default:
		b, why := r.fileBlock(mime, url, name)
		if why != "" {
			r.fail(Failure{FailureMedia, why, p.Ref, nil})
		}
		return b, why == ""
	}
	return request.Block{}, false
}
