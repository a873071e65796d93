package render

import (
	"mend/request"
	"mend/session"
)

// user is what a prompt becomes.
func (r *rendering) user(m *message) []outgoing {
	out := outgoing{role: session.RoleUser, from: m.ref}
	for _, p := range m.parts {
		if b, ok := r.userBlock(p); ok {
			b.Source = p.ref
			out.blocks = append(out.blocks, outgoingBlock{Block: &b})
		}
	}
	if len(out.blocks) == 0 {
		return nil
	}
	return []outgoing{out}
}

// userBlock is the block of a prompt's part, and whether there is one.
func (r *rendering) userBlock(p part) (request.Block, bool) {
	switch p.kind {
	case session.TypeText:
		if p.body.Get("ignored").Truthy() {
			return request.Block{}, false
		}
		text, ok := p.body.Get("text").Text()
		if !ok {
			r.die(field(p.ref, "text is missing or no string"))
		}
		return request.Block{Type: request.Text, Text: text}, ok
	case session.TypeFile:
		return r.userFile(p)
	case "compaction":
		return request.Block{Type: request.Text, Text: "What did we do so far?"}, true
	case "subtask":
		return request.Block{Type: request.Text, Text: "The following tool was executed by the user"}, true
	}
	return request.Block{}, false
}

// userFile is the block of a file in a prompt. Text files and folders are not
// sent: their content stands beside them as text.
func (r *rendering) userFile(p part) (request.Block, bool) {
	mime, isMime := p.body.Get("mime").Text()
	if isMime && (mime == "text/plain" || mime == "application/x-directory") {
		return request.Block{}, false
	}
	name, isName := p.body.Get("filename").Text()
	if r.strip && isMime && isMedia(mime) {
		if !isName {
			name = "file"
		}
		return request.Block{Type: request.Text, Text: "[Attached " + mime + ": " + name + "]"}, true
	}
	return r.promptFile(p)
}

// promptFile is the block of a file that is sent to the model.
func (r *rendering) promptFile(p part) (request.Block, bool) {
	mime, isMime := p.body.Get("mime").Text()
	name, isName := p.body.Get("filename").Text()
	url, isURL := p.body.Get("url").Bytes()
	switch {
	case !isURL:
		r.die(field(p.ref, "url is missing or no string"))
	case !isMime:
		r.die(field(p.ref, "mime is missing or no string"))
	case !isName && p.body.Get("filename").Kind() != 0:
		r.die(field(p.ref, "filename is no string"))
	default:
		b, why := r.fileBlock(mime, url, name)
		if why != "" {
			r.die(Fatal{FatalMedia, why, p.ref})
		}
		return b, why == ""
	}
	return request.Block{}, false
}
