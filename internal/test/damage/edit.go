package damage

import "strings"

// A damage that does not find its record changes nothing: an earlier damage may have
// removed the record.

type fields = map[string]any

// nthPart returns part number i of a type in a message, as a list of one, or an empty
// list otherwise.
func nthPart(s Store, n int, kind string, i int) []Record {
	parts := Parts(s, n, kind)
	return parts[min(i, len(parts)):min(i+1, len(parts))]
}

// nthMessage returns message number n as a list of one, or an empty list if there is
// none.
func nthMessage(s Store, n int) []Record {
	messages, _ := s.Records()
	return messages[min(n, len(messages)):min(n+1, len(messages))]
}

// editPart edits part number i of a type in a message.
func editPart(n int, kind string, i int, edit func(fields)) func(Store) {
	return func(s Store) {
		for _, p := range nthPart(s, n, kind, i) {
			s.Put(p.Edit(edit))
		}
	}
}

// setPart sets a field of the first part of a type in a message; unsetPart removes it.
func setPart(n int, kind, field string, to any) func(Store) {
	return editPart(n, kind, 0, func(p fields) { p[field] = to })
}

func unsetPart(n int, kind, field string) func(Store) {
	return editPart(n, kind, 0, func(p fields) { delete(p, field) })
}

// Text replaces the text of a message.
func Text(n int, text string) func(Store) { return setPart(n, "text", "text", text) }

// setReasoningMetadata sets the metadata of the reasoning in the answer to "say Hello".
func setReasoningMetadata(metadata any) func(Store) {
	return setPart(Hello, "reasoning", "metadata", metadata)
}

// setCall sets a field of the single call.
func setCall(field string, to any) func(Store) { return setPart(OneCall, "tool", field, to) }

// setState sets a field in the state of the single call; unsetState removes some.
func setState(field string, to any) func(Store) {
	return editPart(OneCall, "tool", 0, func(p fields) {
		if state, ok := p["state"].(fields); ok {
			state[field] = to
		}
	})
}

func unsetState(names ...string) func(Store) {
	return editPart(OneCall, "tool", 0, func(p fields) {
		state, _ := p["state"].(fields)
		for _, name := range names {
			delete(state, name)
		}
	})
}

// setMessage sets a field of a message's own record; unsetMessage removes some.
func setMessage(n int, field string, to any) func(Store) {
	return editMessage(n, func(m fields) { m[field] = to })
}

func unsetMessage(n int, names ...string) func(Store) {
	return editMessage(n, func(m fields) {
		for _, name := range names {
			delete(m, name)
		}
	})
}

func editMessage(n int, edit func(fields)) func(Store) {
	return func(s Store) {
		for _, m := range nthMessage(s, n) {
			s.Put(m.Edit(edit))
		}
	}
}

// addPart adds a part after the first one of a type in a message.
func addPart(n int, kind, part string) func(Store) {
	return func(s Store) {
		for _, p := range nthPart(s, n, kind, 0) {
			s.Put(Record{Table: "part", ID: p.ID + "z", Owner: p.Owner, Data: part})
		}
	}
}

// dropPart removes the first part of a type in a message; dropParts removes all parts.
func dropPart(n int, kind string) func(Store) {
	return func(s Store) {
		for _, p := range nthPart(s, n, kind, 0) {
			s.Drop(p)
		}
	}
}

func dropParts(n int) func(Store) {
	return func(s Store) {
		for _, p := range messageParts(s, n) {
			s.Drop(p)
		}
	}
}

// dropMessageRecord removes a message and leaves its parts; dropMessage removes both.
func dropMessageRecord(n int) func(Store) {
	return func(s Store) {
		for _, m := range nthMessage(s, n) {
			s.Drop(m)
		}
	}
}

func dropMessage(n int) func(Store) { return combine(dropParts(n), dropMessageRecord(n)) }

// renamePart gives the first part of a type in a message another id.
func renamePart(n int, kind string, to func(string) string) func(Store) {
	return func(s Store) {
		for _, p := range nthPart(s, n, kind, 0) {
			s.Drop(p)
			p.ID = to(p.ID)
			s.Put(p)
		}
	}
}

// withPrefix returns a function that replaces an id's prefix prt_.
func withPrefix(prefix string) func(string) string {
	return func(id string) string { return prefix + strings.TrimPrefix(id, "prt_") }
}

// moveReasoningAfter gives a message's reasoning an id that sorts after another part's.
func moveReasoningAfter(n int, other string) func(Store) {
	return func(s Store) {
		for _, o := range nthPart(s, n, other, 0) {
			renamePart(n, "reasoning", func(string) string { return o.ID + "z" })(s)
		}
	}
}

// rewritePart replaces the stored bytes of the first part of a type in a message, rewriteMessage the bytes of
// the message's own record.
func rewritePart(n int, kind string, to func(string) string) func(Store) {
	return func(s Store) { rewrite(s, nthPart(s, n, kind, 0), to) }
}

func rewriteMessage(n int, to func(string) string) func(Store) {
	return func(s Store) { rewrite(s, nthMessage(s, n), to) }
}

func rewrite(s Store, records []Record, to func(string) string) {
	for _, r := range records {
		r.Data = to(r.Data)
		s.Put(r)
	}
}

// combine returns a damage that applies several in order.
func combine(changes ...func(Store)) func(Store) {
	return func(s Store) {
		for _, apply := range changes {
			apply(s)
		}
	}
}
