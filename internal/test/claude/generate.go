package claude

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// The shapes are real transcripts of 2.1.330, with ten minutes between two prompts: Baseline
// has calls, thinking and an image; then one with a compaction that preserves messages and a
// subagent, a fork of it, and one with interrupted calls.
//
//go:embed shapes/*.jsonl
var shapes embed.FS

// Shapes are the names of the healthy transcripts that [Generate] breaks.
var Shapes = []string{"baseline", "compaction", "fork", "interrupted"}

// Shape returns a healthy transcript. It panics if there is none with that name.
func Shape(name string) *Transcript {
	if name == "baseline" {
		return New()
	}
	data, err := shapes.ReadFile("shapes/" + name + ".jsonl")
	if err != nil {
		panic(err)
	}
	return &Transcript{Lines: bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))}
}

// A Generated is a transcript with random damage.
type Generated struct {
	Shape string
	Name  string // its number, the shape and what was done to it
	Data  []byte
}

// Generate breaks a transcript at random. The same number gives the same transcript.
func Generate(seed uint64) Generated {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 330))}
	shape := Shapes[g.IntN(len(Shapes))]
	g.Transcript = Shape(shape)
	for range 1 + g.IntN(2) {
		d := damagers[g.IntN(len(damagers))]
		g.did = append(g.did, d.name)
		d.apply(g)
	}
	data := g.Bytes()
	for _, end := range g.atEnd {
		data = end(data)
	}
	return Generated{shape, fmt.Sprintf("%d %s: %s", seed, shape, strings.Join(g.did, ", ")), data}
}

// A generator changes a transcript at random.
type generator struct {
	*rand.Rand
	*Transcript
	did   []string
	atEnd []func([]byte) []byte // changes of the whole file
}

// note says more about the last change.
func (g *generator) note(format string, args ...any) {
	g.did[len(g.did)-1] += " " + fmt.Sprintf(format, args...)
}

// pick returns a line: most often a record of the chain.
func (g *generator) pick() int {
	if g.IntN(5) == 0 {
		return g.IntN(len(g.Lines))
	}
	var chain []int
	for i, l := range g.Lines {
		if bytes.Contains(l, []byte(`"uuid":"`)) {
			chain = append(chain, i)
		}
	}
	if chain == nil {
		return g.IntN(len(g.Lines))
	}
	return chain[g.IntN(len(chain))]
}

// run returns a range of lines.
func (g *generator) run(most int) (from, to int) {
	from = g.pick()
	return from, min(from+1+g.IntN(most), len(g.Lines))
}

// splice puts lines in place of a range.
func (g *generator) splice(from, to int, lines ...[]byte) {
	g.Lines = slices.Concat(g.Lines[:from], lines, g.Lines[to:])
	if len(g.Lines) == 0 {
		g.Lines = [][]byte{{}}
	}
}

// A damager does one kind of damage.
type damager struct {
	name  string
	apply func(g *generator)
}

var damagers = []damager{
	{"lines lost", func(g *generator) {
		from, to := g.run(1 + g.IntN(8))
		g.note("%d-%d", from, to)
		g.splice(from, to)
	}},
	{"line again", func(g *generator) { i := g.pick(); g.splice(g.pick(), i, g.Lines[i]) }},
	{"lines moved", func(g *generator) {
		from, to := g.run(3)
		lines := slices.Clone(g.Lines[from:to])
		g.splice(from, to)
		at := g.IntN(len(g.Lines) + 1)
		g.note("%d-%d to %d", from, to, at)
		g.splice(at, at, lines...)
	}},
	{"lines reversed", func(g *generator) {
		from, to := g.run(6)
		g.note("%d-%d", from, to)
		slices.Reverse(g.Lines[from:to])
	}},
	{"line cut", func(g *generator) {
		i := g.pick()
		at := g.IntN(len(g.Lines[i]) + 1)
		g.note("%d at %d", i, at)
		g.Lines[i] = bytes.Clone(g.Lines[i][:at])
	}},
	{"line without its beginning", func(g *generator) {
		i := g.pick()
		at := g.IntN(len(g.Lines[i]) + 1)
		g.note("%d at %d", i, at)
		g.Lines[i] = bytes.Clone(g.Lines[i][at:])
	}},
	{"line cut, and the next one behind it", func(g *generator) {
		i := min(g.pick(), len(g.Lines)-2)
		if i < 0 {
			return
		}
		at := g.IntN(len(g.Lines[i]) + 1)
		g.note("%d at %d", i, at)
		g.splice(i, i+2, slices.Concat(g.Lines[i][:at], g.Lines[i+1]))
	}},
	{"NUL bytes before a line", func(g *generator) {
		i := g.pick()
		g.note("%d", i)
		g.Lines[i] = slices.Concat(make([]byte, 1+g.IntN(600)), g.Lines[i])
	}},
	{"NUL bytes over a line", func(g *generator) {
		i := g.pick()
		n := len(g.Lines[i])
		from := g.IntN(n + 1)
		to := from + g.IntN(n-from+1)
		g.note("%d: %d-%d", i, from, to)
		g.Lines[i] = slices.Concat(g.Lines[i][:from], make([]byte, to-from), g.Lines[i][to:])
	}},
	{"NUL bytes over a page", func(g *generator) {
		page := g.IntN(30)
		g.atEnd = append(g.atEnd, func(data []byte) []byte {
			from := page << 12 % max(len(data), 1)
			clear(data[from:min(from+4096, len(data))])
			return data
		})
	}},
	{"NUL bytes at the end", func(g *generator) {
		n, over := g.IntN(9000), g.IntN(9000)
		g.atEnd = append(g.atEnd, func(data []byte) []byte {
			clear(data[max(0, len(data)-over):])
			return append(data, make([]byte, n)...)
		})
	}},
	{"file cut", func(g *generator) {
		part := g.Float64()
		g.atEnd = append(g.atEnd, func(data []byte) []byte { return data[:int(part*float64(len(data)))] })
	}},
	{"other byte", func(g *generator) {
		i := g.pick()
		l := bytes.Clone(g.Lines[i])
		if len(l) == 0 {
			return
		}
		at := g.IntN(len(l))
		l[at] = byte(g.IntN(256))
		g.note("%d at %d is %q", i, at, l[at])
		g.Lines[i] = bytes.ReplaceAll(l, []byte("\n"), []byte(" "))
	}},
	{"byte order mark", func(g *generator) {
		i := g.pick()
		if g.IntN(2) == 0 {
			i = 0
		}
		g.note("%d", i)
		g.Lines[i] = append([]byte("\ufeff"), g.Lines[i]...)
	}},
	{"garbage", func(g *generator) {
		i := g.IntN(len(g.Lines) + 1)
		line := make([]byte, 1+g.IntN(100))
		for k := range line {
			line[k] = byte(11 + g.IntN(245))
		}
		g.splice(i, i, [][]byte{line, []byte("{}"), []byte("[]"), []byte("null"), []byte(`{"type":"user"}`), []byte(">>>>>>> theirs")}[g.IntN(6)])
	}},
	{"CRLF", func(g *generator) {
		for i := range g.Lines {
			g.Lines[i] = append(slices.Clip(g.Lines[i]), '\r')
		}
	}},
	{"another session behind it", func(g *generator) {
		name := Shapes[g.IntN(len(Shapes))]
		g.note("%s", name)
		g.Lines = slices.Concat(g.Lines, Shape(name).Lines)
	}},
	{"file again", func(g *generator) { g.Lines = slices.Concat(g.Lines, g.Lines[g.IntN(len(g.Lines)):]) }},
	{"two processes", (*generator).twoProcesses},
	{"leaf", func(g *generator) {
		var uuids []string
		for _, l := range g.Lines {
			if id := uuidOf(l); id != "" {
				uuids = append(uuids, id)
			}
		}
		for i, l := range g.Lines {
			if bytes.Contains(l, []byte(`"type":"last-prompt"`)) && len(uuids) > 0 && g.IntN(2) == 0 {
				g.changeLine(i, func(r map[string]any) { r["leafUuid"] = uuids[g.IntN(len(uuids))] })
			}
		}
	}},
	{"no leaf", func(g *generator) { g.without(`"type":"last-prompt"`) }},
	{"time", func(g *generator) {
		i, days := g.pick(), g.IntN(40)-20
		g.note("%d by %d days", i, days)
		g.changeLine(i, func(r map[string]any) {
			if at, ok := r["timestamp"].(string); ok && len(at) > 10 {
				r["timestamp"] = fmt.Sprintf("2026-%02d-%02d%s", 10+(40+days)/30, 1+(40+days)%30, at[10:])
			}
		})
	}},
	{"side", func(g *generator) {
		from, to := g.run(6)
		g.note("%d-%d", from, to)
		for i := from; i < to; i++ {
			g.Lines[i] = bytes.Replace(g.Lines[i], []byte(`"isSidechain":false`), []byte(`"isSidechain":true`), 1)
		}
	}},
	{"type", func(g *generator) {
		i, to := g.pick(), []string{"user", "assistant", "system", "attachment", "progress", "novelty", ""}[g.IntN(7)]
		g.note("%d %q", i, to)
		g.changeLine(i, func(r map[string]any) { r["type"] = to })
	}},
	{"parent", func(g *generator) {
		i, other := g.pick(), uuidOf(g.Lines[g.pick()])
		g.note("%d %q", i, other)
		g.changeLine(i, func(r map[string]any) { r["parentUuid"] = other })
	}},
	{"id", func(g *generator) {
		i, other := g.pick(), uuidOf(g.Lines[g.pick()])
		g.note("%d %q", i, other)
		g.changeLine(i, func(r map[string]any) { r["uuid"] = other })
	}},
	{"member", (*generator).changeMember},
	{"member of the message", (*generator).changeMessage},
	{"member of the message", (*generator).changeMessage},
	{"blocks", (*generator).changeBlocks},
}

func uuidOf(line []byte) string {
	var r struct{ UUID string }
	_ = json.Unmarshal(line, &r)
	return r.UUID
}

// changeLine changes a record; other lines stay.
func (g *generator) changeLine(i int, change func(r map[string]any)) {
	var r map[string]any
	if json.Unmarshal(g.Lines[i], &r) != nil || r == nil {
		return
	}
	change(r)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		panic(err)
	}
	g.Lines[i] = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// twoProcesses has a second process go on behind one of the prompts; its lines are between
// those of the first one.
func (g *generator) twoProcesses() {
	from := g.pick()
	end := min(from+1+g.IntN(20), len(g.Lines))
	var other [][]byte
	for _, l := range g.Lines[from:end] {
		var r map[string]any
		if json.Unmarshal(l, &r) != nil || r["uuid"] == nil && r["leafUuid"] == nil {
			continue
		}
		text := string(l)
		for _, l := range g.Lines[from:end] {
			if id := uuidOf(l); id != "" {
				text = strings.ReplaceAll(text, id, "9999"+id[4:])
			}
		}
		other = append(other, []byte(strings.NewReplacer(`"msg_01`, `"msg_02`, `"toolu_0`, `"toolu_9`).Replace(text)))
	}
	g.note("%d-%d", from, end)
	at := from
	for _, l := range other {
		at = min(at+g.IntN(4), len(g.Lines))
		g.splice(at, at, l)
		at++
	}
}

// values are what a member may become.
var values = []any{nil, true, 7, -1.5, "", " ", "x", "a:b", []any{}, map[string]any{}, []any{nil}, []any{"x"}, map[string]any{"type": "x"}}

// changeIn changes or removes one member of an object, or one below it.
func (g *generator) changeIn(o map[string]any, path string) {
	names := make([]string, 0, len(o))
	for n := range o {
		names = append(names, n)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return
	}
	name := names[g.IntN(len(names))]
	path += "/" + name
	switch v := o[name].(type) {
	case map[string]any:
		if g.IntN(3) > 0 {
			g.changeIn(v, path)
			return
		}
	case []any:
		if len(v) > 0 && g.IntN(4) > 0 {
			i := g.IntN(len(v))
			if in, ok := v[i].(map[string]any); ok && g.IntN(4) > 0 {
				g.changeIn(in, fmt.Sprintf("%s/%d", path, i))
				return
			}
			v[i] = values[g.IntN(len(values))]
			g.note("%s/%d %v", path, i, v[i])
			return
		}
	}
	if g.IntN(4) == 0 {
		delete(o, name)
		g.note("%s removed", path)
		return
	}
	o[name] = values[g.IntN(len(values))]
	g.note("%s %#v", path, o[name])
}

func (g *generator) changeMember() {
	i := g.pick()
	g.note("%d", i)
	g.changeLine(i, func(r map[string]any) { g.changeIn(r, "") })
}

// withMessage returns a line with a message.
func (g *generator) withMessage() int {
	for range 50 {
		if i := g.pick(); bytes.Contains(g.Lines[i], []byte(`"message":{`)) {
			return i
		}
	}
	return 0
}

func (g *generator) changeMessage() {
	i := g.withMessage()
	g.note("%d", i)
	g.changeLine(i, func(r map[string]any) {
		if m, ok := r["message"].(map[string]any); ok {
			if list, ok := m["content"].([]any); ok && len(list) > 0 && g.IntN(3) > 0 {
				if b, ok := list[g.IntN(len(list))].(map[string]any); ok {
					g.changeIn(b, "block")
					return
				}
			}
			g.changeIn(m, "")
		}
	})
}

// changeBlocks gives a record the blocks of another one, or both.
func (g *generator) changeBlocks() {
	i, k := g.withMessage(), g.withMessage()
	var from map[string]any
	if json.Unmarshal(g.Lines[k], &from) != nil {
		return
	}
	m, _ := from["message"].(map[string]any)
	how := g.IntN(3)
	g.note("%d gets those of %d, way %d", i, k, how)
	g.changeLine(i, func(r map[string]any) {
		own, ok := r["message"].(map[string]any)
		if !ok || m == nil {
			return
		}
		switch how {
		case 0:
			own["content"] = m["content"]
		case 1:
			own["content"] = append(listOf(own["content"]), listOf(m["content"])...)
		default:
			own["content"] = append(listOf(m["content"]), listOf(own["content"])...)
		}
	})
}

// listOf returns a content as a list.
func listOf(content any) []any {
	switch c := content.(type) {
	case []any:
		return slices.Clone(c)
	case string:
		return []any{map[string]any{"type": "text", "text": c}}
	}
	return nil
}

// Redate changes the versions or the times in all records of a transcript at random, and returns what it did.
func Redate(r *rand.Rand, data []byte) (did string, changed []byte) {
	value := func(name string) *regexp.Regexp { return regexp.MustCompile(`"` + name + `":"[^"]*"`) }
	if r.IntN(2) == 0 {
		version := []string{"9.0.0", "2.1.999", "2.2.0", "1.0.1", "0.2.9", "", "x", "2.1"}[r.IntN(8)]
		return "version " + version, value("version").ReplaceAll(data, []byte(`"version":"`+version+`"`))
	}
	at := []string{"2038-01-19T03:14:07.000Z", "1970-01-01T00:00:00.000Z", "", "yesterday"}[r.IntN(4)]
	if at[:min(len(at), 4)] == "2038" && r.IntN(2) == 0 { // in order, ten years ahead
		return "ten years ahead", bytes.ReplaceAll(data, []byte(`"timestamp":"2026-`), []byte(`"timestamp":"2036-`))
	}
	return "timestamp " + at, value("timestamp").ReplaceAll(data, []byte(`"timestamp":"`+at+`"`))
}
