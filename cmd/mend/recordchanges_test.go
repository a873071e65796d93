package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"mend/internal/test/damage"
)

// describeChanges describes the changes of a repair without ids: one line for each record that was created, moved,
// changed or deleted, with the number of its message.
func describeChanges(before, after []damage.Record) []string {
	find := func(in []damage.Record, r damage.Record) int {
		return slices.IndexFunc(in, func(x damage.Record) bool { return x.Table == r.Table && x.ID == r.ID })
	}
	var lines []string
	moved := map[string]bool{}
	for _, r := range after {
		i := find(before, r)
		if i >= 0 {
			if before[i].Data != r.Data {
				lines = append(lines, fmt.Sprintf("change %s: %s", position(after, r), strings.Join(fieldChanges("", withoutIDs(before[i]), withoutIDs(r)), " ")))
			}
			continue
		}
		from := slices.IndexFunc(before, func(x damage.Record) bool {
			return !moved[x.ID] && x.Table == r.Table && find(after, x) < 0 && withoutIDs(x) != nil && encoded(withoutIDs(x)) == encoded(withoutIDs(r))
		})
		if from >= 0 {
			moved[before[from].ID] = true
			lines = append(lines, "move "+position(before, before[from])+" to "+position(after, r))
			continue
		}
		lines = append(lines, "create "+position(after, r)+": "+truncate(encoded(withoutIDs(r))))
	}
	for _, r := range before {
		if find(after, r) < 0 && !moved[r.ID] {
			lines = append(lines, "delete "+position(before, r))
		}
	}
	return lines
}

// position returns the position of a record: "message 4", or "message 4 part 2, text".
func position(in []damage.Record, r damage.Record) string {
	owner, part := r.Owner, ""
	if r.Table == "message" {
		owner = r.ID
	} else {
		parts := slices.DeleteFunc(slices.Clone(in), func(x damage.Record) bool { return x.Table != "part" || x.Owner != r.Owner })
		kind := r.Type()
		if kind == "" {
			kind = "unreadable"
		}
		part = fmt.Sprintf(" part %d, %s", slices.Index(parts, r), kind)
	}
	n := slices.IndexFunc(in, func(x damage.Record) bool { return x.Table == "message" && x.ID == owner })
	return fmt.Sprintf("message %d%s", n, part)
}

// withoutIDs returns the fields of a record without its ids, or nil if it is not an object.
func withoutIDs(r damage.Record) fields {
	var f fields
	_ = json.Unmarshal([]byte(r.Data), &f) // nil for a damaged record
	for _, id := range []string{"id", "sessionID", "messageID"} {
		delete(f, id)
	}
	return f
}

type fields = map[string]any

// fieldChanges lists the fields that differ: + added, ~ changed, - removed.
func fieldChanges(path string, before, after fields) []string {
	if before == nil {
		return []string{"from damaged bytes " + truncate(encoded(after))}
	}
	names := maps.Clone(before)
	maps.Copy(names, after)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		old, existed := before[name]
		now, exists := after[name]
		oldFields, ok := old.(fields)
		nowFields, ok2 := now.(fields)
		switch {
		case existed && exists && encoded(old) == encoded(now):
		case ok && ok2:
			out = append(out, fieldChanges(path+name+".", oldFields, nowFields)...)
		case !exists:
			out = append(out, "-"+path+name)
		case !existed:
			out = append(out, "+"+path+name+"="+truncate(encoded(now)))
		default:
			out = append(out, "~"+path+name+"="+truncate(encoded(now)))
		}
	}
	return out
}

func encoded(v any) string {
	data, _ := json.Marshal(v) // v was decoded from JSON
	return string(data)
}

func truncate(s string) string {
	if r := []rune(s); len(r) > 160 {
		return string(r[:160]) + "…"
	}
	return s
}

// TestDescribeChanges: each kind of change has its line, in the order of the records.
func TestDescribeChanges(t *testing.T) {
	record := func(table, id, owner, data string) damage.Record {
		return damage.Record{Table: table, ID: id, Owner: owner, Data: data}
	}
	before := []damage.Record{
		record("message", "m", "s", `{"role":"user","time":{"created":1}}`),
		record("part", "a", "m", `{"type":"text","text":" ","x":1}`), record("part", "b", "m", `{"type":"tool"}`),
		record("part", "c", "m", `{"type":"file","id":"c"}`), record("part", "d", "m", `{"ty`),
	}
	after := []damage.Record{
		record("message", "m", "s", `{"role":"user","time":{"created":1,"completed":2}}`),
		record("part", "a", "m", `{"type":"text","text":"y"}`), record("part", "bb", "m", `{"type":"tool"}`),
		record("part", "d", "m", `{"type":"text"}`), record("part", "e", "m", `{"type":"new"}`),
	}
	want := []string{
		"change message 0: +time.completed=2", `change message 0 part 0, text: ~text="y" -x`, "move message 0 part 1, tool to message 0 part 1, tool",
		`change message 0 part 2, text: from damaged bytes {"type":"text"}`, `create message 0 part 3, new: {"type":"new"}`, "delete message 0 part 2, file",
	}
	if got := describeChanges(before, after); !slices.Equal(got, want) {
		t.Errorf("describeChanges = %q, want %q", got, want)
	}
}
