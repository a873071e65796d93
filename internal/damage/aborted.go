package damage

// open leaves an answer as it is when the program is killed in it.
func open(n int) func(Store) {
	return every(drop(n, "step-finish"), unmark(n, "finish"), info(n, func(m fields) {
		if time, ok := m["time"].(fields); ok {
			delete(time, "completed")
		}
	}))
}

// failed stores an error in an answer.
func failed(n int, name string) func(Store) {
	return mark(n, "error", fields{"name": name, "data": fields{"message": "x", "isRetryable": false}})
}

// last leaves nothing behind message number n.
func last(n int) func(Store) {
	return func(s Store) {
		for i := Goodbye; i > n; i-- {
			lose(i)(s)
		}
	}
}

// aborting is the state of a call that the user broke off.
var aborting = fields{"status": "error", "input": fields{}, "error": "Tool execution aborted", "time": fields{"start": 1, "end": 2}}

// unfinished are the states of a call that never ended.
var (
	running = fields{"status": "running", "input": fields{"command": "x"}, "time": fields{"start": 1}}
	pending = fields{"status": "pending", "input": fields{}, "raw": ""}
)

// tools puts states in place of those of a message's calls.
func tools(n int, states ...fields) func(Store) {
	return func(s Store) {
		for i, state := range states {
			change(n, "tool", i, func(p fields) { p["state"] = state })(s)
		}
	}
}

// aborted are answers that were broken off, by the user, an error or a kill.
var aborted = []Kind{
	{"tool running", tools(OneCall, running), same(Alive)},
	{"tool pending", tools(OneCall, pending), same(Alive)},
	{"two tools unfinished", tools(TwoCalls, running, pending), same(Alive)},
	{"every tool unfinished", every(tools(OneCall, running), tools(TwoCalls, pending, running)), same(Alive)},
	{"aborted call", tools(OneCall, aborting), same(Alive)},
	{"aborted calls", every(tools(OneCall, aborting), tools(TwoCalls, aborting, aborting)), same(Alive)},
	{"killed in a call", every(last(OneCall), open(OneCall), tools(OneCall, running)), same(Alive)},
	{"killed in two calls", every(last(TwoCalls), open(TwoCalls), tools(TwoCalls, running, pending)), same(Alive)},
	{"killed in a call without reasoning", every(last(TwoCalls), open(TwoCalls), tools(TwoCalls, running, pending), drop(TwoCalls, "reasoning")), same("R3")},
	{"killed between calls and answer", every(last(TwoCalls), open(TwoCalls)), same(Alive)},
	{"killed in reasoning", every(open(Goodbye), drop(Goodbye, "text"), without(Goodbye, "reasoning", "metadata"), set(Goodbye, "reasoning", "time", fields{"start": 1})), same("R6")},
	{"killed behind reasoning", every(open(Goodbye), drop(Goodbye, "text")), same("R10")},
	{"killed in an answer", every(open(Goodbye), set(Goodbye, "text", "time", fields{"start": 1})), same(Alive)},
	{"killed at the start of an answer", every(open(Goodbye), drop(Goodbye, "text"), drop(Goodbye, "reasoning")), same(Alive)},
	{"killed before an answer", every(open(Goodbye), empty(Goodbye)), same(Alive)},
	{"error message", failed(Hello, "APIError"), same(Alive)},
	{"failed answer of reasoning", every(failed(Hello, "APIError"), open(Hello), drop(Hello, "text")), same(Alive)},
	{"failed answers in a row", every(failed(Done, "APIError"), open(Done), drop(Done, "text"), lose(SecondPrompt), failed(Hello, "APIError"), open(Hello), drop(Hello, "text")), same(Alive)},
	{"failed last answer", every(failed(Goodbye, "APIError"), open(Goodbye), drop(Goodbye, "text")), same(Alive)},
	{"aborted answer", failed(Hello, "MessageAbortedError"), same(Alive)},
	{"aborted answer of reasoning", every(failed(Hello, "MessageAbortedError"), open(Hello), drop(Hello, "text")), same(Alive)},
	{"aborted answer of reasoning and step-finish", every(failed(Hello, "MessageAbortedError"), drop(Hello, "text")), same("R10")},
	{"aborted answer of unsigned reasoning and step-finish", every(failed(Hello, "MessageAbortedError"), drop(Hello, "text"), without(Hello, "reasoning", "metadata")), same("R6")},
	{"aborted answer of a step-start", every(failed(Hello, "MessageAbortedError"), open(Hello), drop(Hello, "text"), drop(Hello, "reasoning")), same(Alive)},
	{"aborted answer with a patch", every(failed(Hello, "MessageAbortedError"), open(Hello), add(Hello, "text", `{"type":"patch","hash":"x","files":["y"]}`), drop(Hello, "text")), same("R10")},
	{"aborted answer with a blank text", every(failed(Hello, "MessageAbortedError"), open(Hello), Text(Hello, " ")), same("R11")},
	{"aborted answers in a row", every(failed(Done, "MessageAbortedError"), drop(Done, "text"), lose(SecondPrompt), failed(Hello, "MessageAbortedError"), drop(Hello, "text")), same(Alive)},
	{"aborted call with an aborted answer", every(failed(OneCall, "MessageAbortedError"), open(OneCall), tools(OneCall, aborting), lose(Done)), same(Alive)},
	{"error null", mark(Hello, "error", nil), same(Alive)},
	{"error a string", mark(Hello, "error", "MessageAbortedError"), same(Alive)},
}
