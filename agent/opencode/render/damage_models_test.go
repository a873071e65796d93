//go:build e2e

package render_test

import (
	"fmt"
	"time"

	"mend/internal/test/damage"
)

// modelTrials damage the model, agent or provider of prompts, and add calls that the provider ran.
func modelTrials() []trial {
	// The agent writes the model of its last prompt into the session's row. A trial that changes that row waits for
	// this: it also sets revert.
	alone := func(l *harness) { l.info["revert"], l.noModel = nil, true }
	model := func(name string, v any) trial {
		return trial{name: "prompt's model " + name, apply: combine(alone, message(damage.FourthPrompt, "model", v))}
	}
	older := func(name string, v any) trial {
		return trial{name: "older prompt's model " + name, apply: message(damage.SecondPrompt, "model", v)}
	}
	all := func(name string, v any) trial {
		return trial{name: "every prompt's model " + name, apply: combine(alone, message(damage.FirstPrompt, "model", v), message(damage.SecondPrompt, "model", v), message(damage.ThirdPrompt, "model", v), message(damage.FourthPrompt, "model", v))}
	}
	agent := func(name string, v any) trial {
		return trial{name: "prompt's agent " + name, apply: message(damage.FourthPrompt, "agent", v)}
	}
	info := func(name string, v any) trial {
		return trial{name: "session model " + name, apply: func(l *harness) {
			if l.newest {
				l.info["model"] = v
			}
		}}
	}
	trials := []trial{
		model("without modelID", fields{"providerID": "anthropic"}),
		model("without providerID", fields{"modelID": "claude-fake"}),
		model("empty", fields{}),
		model("null", nil),
		model("a string", "anthropic/claude-fake"),
		model("an empty string", ""),
		model("a list", []any{}),
		model("a number", 5),
		model("true", true),
		model("modelID null", fields{"providerID": "anthropic", "modelID": nil}),
		model("modelID of no characters", fields{"providerID": "anthropic", "modelID": ""}),
		model("modelID a number", fields{"providerID": "anthropic", "modelID": 5}),
		model("providerID null", fields{"providerID": nil, "modelID": "claude-fake"}),
		model("providerID of no characters", fields{"providerID": "", "modelID": "claude-fake"}),
		older("without modelID", fields{"providerID": "anthropic"}),
		older("empty", fields{}),
		all("without modelID", fields{"providerID": "anthropic"}),
		all("empty", fields{}),
		agent("null", nil),
		agent("of no characters", ""),
		agent("a number", 5),
		agent("not there", "nonesuch"),
		agent("an object", fields{}),
		info("complete", fields{"providerID": "anthropic", "id": "claude-fake"}),
		{name: "last answer's model damaged", apply: combine(message(damage.Goodbye, "modelID", nil), message(damage.Goodbye, "providerID", 5))},
		{name: "prompt's model empty beside session model", apply: func(l *harness) {
			message(damage.FourthPrompt, "model", fields{})(l)
			if l.newest {
				l.info["model"] = fields{"providerID": "anthropic", "id": "claude-fake"}
			}
		}},
	}
	ran := func(name string, metadata any, changes ...func(*harness)) trial {
		return trial{name: "provider ran " + name, apply: combine(append(changes, set(damage.OneCall, "tool", "metadata", metadata))...)}
	}
	flag := fields{"providerExecuted": true}
	for _, s := range []string{"pending", "running"} {
		trials = append(trials, ran(s, flag, state(fields{"status": s, "input": fields{}, "raw": "", "time": fields{"start": 1}})))
	}
	trials = append(trials,
		ran("error", flag, state(fields{"status": "error", "input": fields{}, "error": "x", "time": fields{"start": 1, "end": 2}})),
		ran("output", flag),
		ran("false", fields{"providerExecuted": false}),
		ran("null", fields{"providerExecuted": nil}),
		ran("a string", fields{"providerExecuted": "yes"}),
		ran("beside anthropic", fields{"providerExecuted": true, "anthropic": fields{"x": 1}}),
		ran("an object", fields{"providerExecuted": fields{}}),
		ran("other model", flag, message(damage.OneCall, "modelID", "other")),
		ran("attachment", flag, attached(file("image/png", png))),
		trial{name: "provider ran reasoning", apply: set(damage.Hello, "reasoning", "metadata", fields{"providerExecuted": true})},
		trial{name: "provider ran text", apply: set(damage.Hello, "text", "metadata", fields{"providerExecuted": true})},
	)
	return trials
}

// futureTrials date messages in the future, by time and by id.
func futureTrials() []trial {
	const year = int64(365 * 24 * time.Hour / time.Millisecond)
	dated := func(nums ...int) func(*harness) {
		return func(l *harness) {
			var rows []*row
			for _, n := range nums {
				rows = append(rows, l.message(n))
			}
			for i, n := range nums {
				m := rows[i]
				m.created = time.Now().UnixMilli() + year + int64(n)
				t := fields{"created": m.created}
				if n%2 == 1 {
					t["completed"] = m.created + 1
				}
				m.fields["time"] = t
			}
		}
	}
	renamed := func(nums ...int) func(*harness) {
		return func(l *harness) {
			var rows []*row
			for _, n := range nums {
				rows = append(rows, l.message(n))
			}
			for i, n := range nums {
				m := rows[i]
				previous := m.id
				m.id = fmt.Sprintf("msg_%012xAAAAAAAAAAAAAA", (uint64(time.Now().UnixMilli()+year+int64(n))*0x1000)&0xffffffffffff)
				for _, r := range l.rows {
					if r.owner == previous {
						r.owner = m.id
					}
					if r.fields["parentID"] == previous {
						r.fields["parentID"] = m.id
					}
				}
			}
		}
	}
	return []trial{
		{name: "future last answer", apply: dated(9)},
		{name: "future last pair", apply: dated(8, 9)},
		{name: "future last prompt", apply: dated(8)},
		{name: "future all messages", apply: dated(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)},
		{name: "future ids last answer", apply: renamed(9)},
		{name: "future ids last pair", apply: renamed(8, 9)},
		{name: "future ids last prompt", apply: renamed(8)},
		{name: "future times and ids last pair", apply: combine(renamed(8, 9), dated(8, 9))},
		{name: "future times and ids last answer", apply: combine(renamed(9), dated(9))},
		{name: "future times and ids last prompt", apply: combine(renamed(8), dated(8))},
	}
}
