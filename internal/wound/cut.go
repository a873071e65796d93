package wound

import "maps"

// change edits the first part of a type in a message.
func change(n int, kind string, edit func(map[string]any)) func(Store) {
	return func(s Store) { s.Put(Of(s, n, kind)[0].Edit(edit)) }
}

// Text replaces the text of a message.
func Text(n int, text string) func(Store) {
	return change(n, "text", func(p map[string]any) { p["text"] = text })
}

// state replaces the state of the one call.
func state(to map[string]any) func(Store) {
	return change(OneCall, "tool", func(p map[string]any) { p["state"] = maps.Clone(to) })
}

// inState sets a field in the state of the one call.
func inState(field string, to any) func(Store) {
	return change(OneCall, "tool", func(p map[string]any) { p["state"].(map[string]any)[field] = to })
}

// rename puts a prefix before the id of the text of "say Hello"'s answer.
func rename(s Store, prefix string) {
	text := Of(s, Hello, "text")[0]
	s.Drop(text)
	text.ID = prefix + text.ID
	s.Put(text)
}

// moveBehind gives a part an id that sorts behind another part's.
func moveBehind(s Store, n int, kind, other string) {
	part := Of(s, n, kind)[0]
	s.Drop(part)
	part.ID = Of(s, n, other)[0].ID + "z"
	s.Put(part)
}

// raw replaces the stored bytes of the message "say Hello" or of its answer's
// text.
func raw(to func(Record) string, part bool) func(Store) {
	return func(s Store) {
		messages, _ := s.Records()
		r := messages[Hello]
		if part {
			r = Of(s, Hello, "text")[0]
		}
		r.Data = to(r)
		s.Put(r)
	}
}

// empty drops the parts of a message.
func empty(s Store, n int) {
	messages, parts := s.Records()
	for _, p := range parts {
		if p.Owner == messages[n].ID {
			s.Drop(p)
		}
	}
}
