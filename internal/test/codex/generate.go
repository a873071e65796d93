package codex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"mend/testdata"
)

// Drawn returns a damage of each kind that is in no table, at places that r draws.
func Drawn(r *rand.Rand) []Damage {
	d := drawer{Rand: r}
	d.bytes()
	d.lines()
	d.members()
	d.records()
	return d.all
}

// A drawer makes damages at places that it draws.
type drawer struct {
	*rand.Rand
	all []Damage
}

func (d *drawer) kind(name string, do func(x *Rollout)) {
	d.all = append(d.all, Damage{Name: name, Do: do})
}

// at draws a line behind the first.
func (d *drawer) at(x *Rollout) int { return 1 + d.IntN(max(1, len(x.Lines)-1)) }

// item draws a line with an item.
func (d *drawer) item(x *Rollout) int {
	var items []int
	for i := range x.Lines {
		if bytes.Contains(x.Lines[i], []byte(`"type":"response_item"`)) {
			items = append(items, i)
		}
	}
	if len(items) == 0 {
		return len(x.Lines) - 1
	}
	return items[d.IntN(len(items))]
}

// edit is a kind that changes the bytes of a line.
func (d *drawer) edit(name string, change func(raw []byte) []byte) {
	d.kind(name, func(x *Rollout) { i := min(d.at(x), len(x.Lines)-1); x.Lines[i] = change(bytes.Clone(x.Lines[i])) })
}

// set is a kind that gives a member of an item another value.
func (d *drawer) set(name string, value func() any) {
	d.kind(name, func(x *Rollout) {
		x.edit(d.item(x), func(_, p object) {
			if members := membersOf(p, "id", "type", "role"); len(members) > 0 {
				p[members[d.IntN(len(members))]] = value()
			}
		})
	})
}

// membersOf returns the names of members, in order.
func membersOf(of object, except ...string) (names []string) {
	for name := range of {
		if !slices.Contains(except, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// bytes damages the bytes of a line.
func (d *drawer) bytes() {
	d.edit("a line cut at a byte", func(raw []byte) []byte { return raw[:d.IntN(len(raw)+1)] })
	d.edit("the end of a line NUL", func(raw []byte) []byte { clear(raw[d.IntN(len(raw)+1):]); return raw })
	d.edit("the beginning of a line gone", func(raw []byte) []byte { return raw[d.IntN(len(raw)+1):] })
	d.edit("a bit flipped", func(raw []byte) []byte {
		if len(raw) > 0 {
			raw[d.IntN(len(raw))] ^= 1 << d.IntN(8)
		}
		return raw
	})
	d.edit("a byte lost", func(raw []byte) []byte {
		if len(raw) == 0 {
			return raw
		}
		i := d.IntN(len(raw))
		return slices.Delete(raw, i, i+1)
	})
	d.edit("a line in UTF-16", func(raw []byte) []byte {
		var wide []byte
		for _, b := range raw {
			wide = append(wide, b, 0)
		}
		return wide
	})
	d.edit("a record over several lines", func(raw []byte) []byte {
		var b bytes.Buffer
		_ = json.Indent(&b, raw, "", "  ") // it stays as it is
		return b.Bytes()
	})
	d.edit("a bad escape", func(raw []byte) []byte { return bytes.Replace(raw, []byte(`"text":"`), []byte(`"text":"\x`), 1) })
	d.edit("a tab in a text", func(raw []byte) []byte { return bytes.Replace(raw, []byte(`"text":"`), []byte("\"text\":\"\t"), 1) })
	d.edit("a type twice", func(raw []byte) []byte {
		return bytes.Replace(raw, []byte(`"type":`), []byte(`"type":"strange","type":`), 1)
	})
	d.edit("spaces around a line", func(raw []byte) []byte { return slices.Concat([]byte("  \t"), raw, []byte(" \r")) })
}

// lines damages lines, and the file.
func (d *drawer) lines() {
	d.kind("two lines exchanged", func(x *Rollout) {
		if i := d.at(x); i+1 < len(x.Lines) {
			x.Lines[i], x.Lines[i+1] = x.Lines[i+1], x.Lines[i]
		}
	})
	d.kind("two lines joined", func(x *Rollout) {
		if i := d.at(x); i+1 < len(x.Lines) {
			x.Lines[i] = slices.Concat(x.Lines[i], x.Lines[i+1])
			x.remove(i + 1)
		}
	})
	d.kind("a line torn in two", func(x *Rollout) {
		i := d.at(x)
		n := d.IntN(len(x.Lines[i]) + 1)
		x.insert(i+1, bytes.Clone(x.Lines[i][n:]))
		x.Lines[i] = x.Lines[i][:n]
	})
	d.kind("an item gone", func(x *Rollout) { x.remove(d.item(x)) })
	d.kind("an item again at the end", func(x *Rollout) { x.Lines = append(x.Lines, x.Lines[d.item(x)]) })
	d.kind("lines gone", func(x *Rollout) {
		i := d.at(x)
		x.Lines = slices.Delete(x.Lines, min(i, len(x.Lines)), min(len(x.Lines), i+1+d.IntN(12)))
	})
	d.kind("lines written twice", func(x *Rollout) {
		i := min(d.at(x), len(x.Lines)-1)
		again := slices.Clone(x.Lines[i:min(len(x.Lines), i+1+d.IntN(12))])
		x.Lines = slices.Insert(x.Lines, i, again...)
	})
	d.kind("the file cut at a byte", func(x *Rollout) {
		data := x.data()
		x.put(data[:len(data)/3+d.IntN(len(data)-len(data)/3)])
	})
	d.kind("a page of NUL bytes", func(x *Rollout) {
		data := bytes.Clone(x.data())
		at := d.IntN(len(data)/4096+1) * 4096
		clear(data[at:min(len(data), at+4096)])
		x.put(data)
	})
	d.kind("returns at the ends of lines", func(x *Rollout) { x.put(bytes.ReplaceAll(x.data(), []byte("\n"), []byte("\r\n"))) })
	d.kind("a byte order mark", func(x *Rollout) { x.Lines[0] = append([]byte("\xef\xbb\xbf"), x.Lines[0]...) })
	d.kind("empty lines", func(x *Rollout) {
		for range 1 + d.IntN(5) {
			x.insert(d.at(x), []byte([]string{"", " ", "\t", "\r"}[d.IntN(4)]))
		}
	})
}

// members damages members of records.
func (d *drawer) members() {
	d.set("a member null", func() any { return nil })
	d.set("a member a number", func() any { return d.IntN(1000) })
	d.set("a member an object", func() any { return object{"a": []any{1}} })
	d.set("a member an empty text", func() any { return "" })
	d.kind("a member gone", func(x *Rollout) {
		x.edit(d.item(x), func(l, p object) {
			for _, from := range []object{l, p} {
				if names := membersOf(from); d.IntN(2) == 0 && len(names) > 0 {
					delete(from, names[d.IntN(len(names))])
					return
				}
			}
		})
	})
	d.kind("an odd ordinal", func(x *Rollout) {
		x.edit(d.at(x), func(l, _ object) {
			l["ordinal"] = []any{nil, "7", 0, 1 << 40, []any{}}[d.IntN(5)]
		})
	})
	d.kind("an odd time", func(x *Rollout) {
		x.edit(d.at(x), func(l, _ object) {
			l["timestamp"] = []any{"", "yesterday", nil, 7, "2099-01-01T00:00:00Z"}[d.IntN(5)]
		})
	})
	d.kind("the ids of two items exchanged", func(x *Rollout) {
		i, j := d.item(x), d.item(x)
		a, b := x.item(i)["id"], x.item(j)["id"]
		put := func(i int, id any) {
			x.edit(i, func(_, p object) {
				if p["id"] = id; id == nil {
					delete(p, "id")
				}
			})
		}
		put(i, b)
		put(j, a)
	})
}

// records damages what records say.
func (d *drawer) records() {
	d.kind("another call_id", func(x *Rollout) {
		x.edit(x.at([]string{"function_call", "function_call_output"}[d.IntN(2)], d.IntN(3)), func(_, p object) { p["call_id"] = fmt.Sprint("call_", d.IntN(9)) })
	})
	d.kind("another role", func(x *Rollout) {
		x.edit(x.at([]string{"user", "assistant", "developer"}[d.IntN(3)], d.IntN(4)), func(_, p object) { p["role"] = []string{"system", "user", "assistant", "developer"}[d.IntN(4)] })
	})
	d.kind("an empty content", func(x *Rollout) {
		x.edit(x.at([]string{"user", "assistant"}[d.IntN(2)], d.IntN(4)), func(_, p object) { p["content"] = []any{} })
	})
	d.kind("a compaction of some items", func(x *Rollout) {
		var history []object
		for i := range x.Lines {
			if it := x.item(i); bytes.Contains(x.Lines[i], []byte(`"type":"response_item"`)) && it != nil && d.IntN(3) > 0 {
				history = append(history, it)
			}
		}
		x.compact(history)
	})
	d.kind("turns taken back", func(x *Rollout) {
		x.insert(d.at(x), line("event_msg", -1, object{"type": "thread_rolled_back", "num_turns": d.IntN(4)}))
	})
	d.kind("records of another session", func(x *Rollout) {
		i := d.at(x)
		for _, raw := range bytes.Split(testdata.Codex, []byte("\n"))[:1+d.IntN(3)] {
			x.insert(i, bytes.ReplaceAll(raw, []byte(testdata.CodexSession), []byte(strings.Replace(testdata.CodexSession, "6c", "6d", 1))))
		}
	})
	d.kind("another history mode", func(x *Rollout) {
		x.edit(0, func(_, p object) { p["history_mode"] = []any{"legacy", nil}[d.IntN(2)] })
	})
	d.kind("a member of the first record gone", func(x *Rollout) {
		x.edit(0, func(_, p object) {
			if names := membersOf(p); len(names) > 0 {
				delete(p, names[d.IntN(len(names))])
			}
		})
	})
}

// put gives the rollout other bytes.
func (r *Rollout) put(data []byte) {
	r.Lines, r.End = bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")), ""
	if bytes.HasSuffix(data, []byte("\n")) {
		r.End = "\n"
	}
}
