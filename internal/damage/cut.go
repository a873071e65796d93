package damage

import "strings"

// A cut that does not find what it is to cut does nothing: a damage before it may
// have taken that.

type fields = map[string]any

// nth is part number i of a type in a message, in a list that is empty if there
// is none.
func nth(s Store, n int, kind string, i int) []Record {
	parts := Parts(s, n, kind)
	return parts[min(i, len(parts)):min(i+1, len(parts))]
}

// message is message number n, in a list that is empty if there is none.
func message(s Store, n int) []Record {
	messages, _ := s.Records()
	return messages[min(n, len(messages)):min(n+1, len(messages))]
}

// change edits part number i of a type in a message.
func change(n int, kind string, i int, edit func(fields)) func(Store) {
	return func(s Store) {
		for _, p := range nth(s, n, kind, i) {
			s.Put(p.Edit(edit))
		}
	}
}

// set changes a field of the first part of a type in a message, and without
// removes it.
func set(n int, kind, field string, to any) func(Store) {
	return change(n, kind, 0, func(p fields) { p[field] = to })
}

func without(n int, kind, field string) func(Store) {
	return change(n, kind, 0, func(p fields) { delete(p, field) })
}

// Text replaces the text of a message.
func Text(n int, text string) func(Store) { return set(n, "text", "text", text) }

// signed gives the reasoning of "say Hello"'s answer other metadata.
func signed(metadata any) func(Store) { return set(Hello, "reasoning", "metadata", metadata) }

// call changes a field of the one call.
func call(field string, to any) func(Store) { return set(OneCall, "tool", field, to) }

// inState changes a field in the state of the one call, and noState removes some.
func inState(field string, to any) func(Store) {
	return change(OneCall, "tool", 0, func(p fields) {
		if state, ok := p["state"].(fields); ok {
			state[field] = to
		}
	})
}

func noState(names ...string) func(Store) {
	return change(OneCall, "tool", 0, func(p fields) {
		state, _ := p["state"].(fields)
		for _, name := range names {
			delete(state, name)
		}
	})
}

// mark changes a field of a message's own record, and unmark removes some.
func mark(n int, field string, to any) func(Store) {
	return info(n, func(m fields) { m[field] = to })
}

func unmark(n int, names ...string) func(Store) {
	return info(n, func(m fields) {
		for _, name := range names {
			delete(m, name)
		}
	})
}

func info(n int, edit func(fields)) func(Store) {
	return func(s Store) {
		for _, m := range message(s, n) {
			s.Put(m.Edit(edit))
		}
	}
}

// add puts a part behind the first one of a type in a message.
func add(n int, kind, part string) func(Store) {
	return func(s Store) {
		for _, p := range nth(s, n, kind, 0) {
			s.Put(Record{Table: "part", ID: p.ID + "z", Owner: p.Owner, Data: part})
		}
	}
}

// drop takes the first part of a type out of a message, and empty all parts.
func drop(n int, kind string) func(Store) {
	return func(s Store) {
		for _, p := range nth(s, n, kind, 0) {
			s.Drop(p)
		}
	}
}

func empty(n int) func(Store) {
	return func(s Store) {
		for _, p := range partsOf(s, n) {
			s.Drop(p)
		}
	}
}

// orphan takes a message out and leaves its parts, and lose takes both.
func orphan(n int) func(Store) {
	return func(s Store) {
		for _, m := range message(s, n) {
			s.Drop(m)
		}
	}
}

func lose(n int) func(Store) { return every(empty(n), orphan(n)) }

// rename gives the first part of a type in a message another id.
func rename(n int, kind string, to func(string) string) func(Store) {
	return func(s Store) {
		for _, p := range nth(s, n, kind, 0) {
			s.Drop(p)
			p.ID = to(p.ID)
			s.Put(p)
		}
	}
}

// prefixed makes ids that start with prefix, not with prt.
func prefixed(prefix string) func(string) string {
	return func(id string) string { return prefix + strings.TrimPrefix(id, "prt_") }
}

// thinkBehind gives a message's reasoning an id that sorts behind another part's.
func thinkBehind(n int, other string) func(Store) {
	return func(s Store) {
		for _, o := range nth(s, n, other, 0) {
			rename(n, "reasoning", func(string) string { return o.ID + "z" })(s)
		}
	}
}

// raw replaces the stored bytes of the first part of a type in a message, and
// rawMessage those of the message's own record.
func raw(n int, kind string, to func(string) string) func(Store) {
	return func(s Store) { spoil(s, nth(s, n, kind, 0), to) }
}

func rawMessage(n int, to func(string) string) func(Store) {
	return func(s Store) { spoil(s, message(s, n), to) }
}

func spoil(s Store, records []Record, to func(string) string) {
	for _, r := range records {
		r.Data = to(r.Data)
		s.Put(r)
	}
}

// every makes one damage of several.
func every(cuts ...func(Store)) func(Store) {
	return func(s Store) {
		for _, cut := range cuts {
			cut(s)
		}
	}
}
