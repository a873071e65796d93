package transcript

import (
	"regexp"
	"slices"
	"strings"

	"mend/internal/jsonedit"
	"mend/internal/request"
)

// refusals has the files that Claude Code no longer sends.
type refusals struct {
	files map[*Record]map[request.BlockType]int // for the records that are sent without files of a type, the error

	// What was seen of the conversation so far.
	tools    map[string]string               // the names of tools, by the id of their call
	results  map[string]*Record              // the results of calls
	kinds    map[*Record][]request.BlockType // the types of the files in a record
	carriers map[request.BlockType][]int     // the records that may still be sent without their files of a type
	nearest  map[request.BlockType]int       // the newest record with files of a type
	border   int                             // the newest record that older versions do not search past
}

// fileTypes are the types of the blocks of files.
var fileTypes = []request.BlockType{request.Image, request.Document}

// refusedFiles returns the files of a conversation that Claude Code no longer sends. When a file was refused, Claude
// Code stores the error; in every later request the nearest record before it that has such a file is sent without it.
// Each error after another prompt takes the next record.
func refusedFiles(path []*Record) (s refusals) {
	if !slices.ContainsFunc(path, func(r *Record) bool { return r.isError() && len(r.refusedTypes()) > 0 }) {
		return s
	}
	s = refusals{
		files: map[*Record]map[request.BlockType]int{}, tools: map[string]string{}, results: map[string]*Record{},
		kinds: map[*Record][]request.BlockType{}, carriers: map[request.BlockType][]int{}, nearest: map[request.BlockType]int{},
	}
	run := 0 // number of errors, without those that follow another
	for i, r := range path {
		if !r.isError() {
			s.see(i, r)
			continue
		}
		if i == 0 || !path[i-1].isError() {
			run++
		}
		if types := r.refusedTypes(); len(types) > 0 {
			s.add(path, r, types, run)
		}
	}
	return s
}

// see notes the record at an index of the conversation for the errors after it.
func (s *refusals) see(i int, r *Record) {
	for _, b := range r.Blocks() {
		if b.Type == request.ToolUse {
			s.tools[b.ToolID] = b.ToolName
		}
	}
	for id := range r.toolIDs(request.ToolResult) {
		s.results[id] = r
	}
	for _, kind := range fileTypes {
		if (r.Type == User || r.Type == Attachment) && s.hasFile(r, kind) {
			s.kinds[r] = append(s.kinds[r], kind)
			s.carriers[kind], s.nearest[kind] = append(s.carriers[kind], i), i
		}
	}
	if r.Type != User || !r.Meta && !r.hasBlock(request.ToolResult) {
		s.border = i
	}
}

// add adds the files that are left out because of an error. Errors of versions that do not search take only the record
// before them.
func (s *refusals) add(path []*Record, e *Record, types []request.BlockType, run int) {
	searches, found := isTrue(e.value.Get("healsDistinctCarrier")), false
	isLeft := func(r *Record, kind request.BlockType) bool {
		last := s.files[r][kind]
		return searches && last != 0 && last != run
	}
	take := func(r *Record) {
		for _, kind := range types {
			if !slices.Contains(s.kinds[r], kind) || isLeft(r, kind) {
				continue
			}
			if s.files[r] == nil {
				s.files[r] = map[request.BlockType]int{}
			}
			s.files[r][kind], found = run, true
		}
	}
	for v := range e.value.Get("refusedToolUseIds").Elements() {
		id, _ := v.Text()
		if r := s.results[id]; r != nil {
			take(r)
		}
	}
	at := -1
	for _, kind := range types {
		if n, ok := s.nearest[kind]; ok && !searches && n >= s.border {
			at = max(at, n)
		}
		all := s.carriers[kind]
		for searches && len(all) > 0 && isLeft(path[all[len(all)-1]], kind) {
			all = all[:len(all)-1] // for good: later errors have greater numbers
		}
		if s.carriers[kind] = all; searches && len(all) > 0 {
			at = max(at, all[len(all)-1])
		}
	}
	if at >= 0 && !found {
		take(path[at])
	}
}

// hasFile reports whether the record has a file of the type. A result that was cleared counts as one if its tool may
// have returned such a file.
func (s *refusals) hasFile(r *Record, kind request.BlockType) bool {
	if r.Type == Attachment {
		return kind == request.Image && len(r.AttachedImages()) > 0
	}
	isFile := func(x *request.Block) bool { return x.Type == kind }
	return slices.ContainsFunc(r.Blocks(), func(b *Block) bool {
		if b.Type != request.ToolResult {
			return isFile(&b.Block)
		}
		if text, _ := jsonedit.Parse(b.Output).Text(); text != request.Cleared {
			return slices.ContainsFunc(b.Content, isFile)
		}
		switch name := s.tools[b.ToolID]; name {
		case "", "Read":
			return true
		case "Bash", "PowerShell":
			return kind == request.Image
		default:
			return strings.HasPrefix(name, "mcp__")
		}
	})
}

// without returns a block of the record as it is sent: nil for a file that is left out.
func (s *refusals) without(r *Record, block *request.Block) *request.Block {
	isLeftOut := func(x *request.Block) bool { return s.files[r][x.Type] > 0 }
	switch {
	case isLeftOut(block):
		return nil
	case block.Type != request.ToolResult || !slices.ContainsFunc(block.Content, isLeftOut):
		return block
	}
	sent := *block
	sent.Content = slices.DeleteFunc(slices.Clone(block.Content), isLeftOut)
	if len(sent.Content) == 0 {
		text := &request.Block{Type: request.Text, Text: "(media removed — rejected by API)", Source: block.Source}
		sent.Content = append(sent.Content, text)
	}
	return &sent
}

// isError reports whether the record is an error that Claude Code shows as an answer.
func (r *Record) isError() bool { return r.Type == Assistant && r.APIError }

// refusedType matches the position of a file in the provider's error.
var refusedType = regexp.MustCompile(`messages[.[]\d+[\].]+content[.[]\d+[\].]+` +
	`(?:tool_result[.[]content[.[]\d+[\].]+)?(image|document|pdf)`)

// The errors for which Claude Code 2.1.332 leaves out a file (src).
var (
	allRefused   = []string{"request_too_large", "too much media", "request too large"}
	imageRefused = []string{
		"capability_rejected: image_block", "could not process image", "image exceeds", "image dimensions exceed",
		"image does not match the provided media type", "image cannot be empty", "exceeds api limit",
		"images exceed the api limit", "unable to resize image", "unable to compress image", "image file is empty",
		"image was too large", "an image in the conversation could not be processed",
	}
	documentRefused = []string{
		"capability_rejected: document_block", "could not process pdf", "pdf pages", "the pdf specified was not valid",
		"the pdf specified is password protected", "pdf cannot be empty", "does not support pdf", "pdf too large",
		"pdf is password protected", "the pdf file was not valid", "a document in the conversation could not be processed",
		"does not accept pdf documents",
	}
)

// refusedTypes returns the types of files that an error refuses.
func (r *Record) refusedTypes() []request.BlockType {
	details := r.value.TextAt("errorDetails")
	if (details == "" || details[0] == '{') && len(r.Blocks()) > 0 {
		details = r.Blocks()[0].Text
	}
	lower := strings.ToLower(details)
	has := func(text string) bool { return strings.Contains(lower, text) }
	place := refusedType.FindStringSubmatch(details)
	switch {
	case strings.Contains(details, "base64.data: At least one of the image dimensions"): // another rule: by the size
		return nil
	case slices.ContainsFunc(allRefused, has):
		return fileTypes
	case place != nil && place[1] == "image", place == nil && slices.ContainsFunc(imageRefused, has):
		return []request.BlockType{request.Image}
	case place != nil, slices.ContainsFunc(documentRefused, has):
		return []request.BlockType{request.Document}
	}
	return nil
}
