package damage

// ids gives calls of the one call and of the two one callID.
func ids(calls ...func(s Store) []Record) func(Store) {
	return func(s Store) {
		for _, find := range calls {
			for _, p := range find(s) {
				s.Put(p.Edit(func(p fields) { p["callID"] = "call_1" }))
			}
		}
	}
}

func theOne(s Store) []Record    { return nth(s, OneCall, "tool", 0) }
func theFirst(s Store) []Record  { return nth(s, TwoCalls, "tool", 0) }
func theSecond(s Store) []Record { return nth(s, TwoCalls, "tool", 1) }

// calls are the ids, names and inputs of calls.
var calls = []Kind{
	{"one callID in a step", ids(theFirst, theSecond), same("R17")},
	{"one callID in two messages", ids(theOne, theFirst), same("R17")},
	{"one callID three times", ids(theOne, theFirst, theSecond), same("R17")},
	{"callIDs that become one", every(call("callID", "a:b"), set(TwoCalls, "tool", "callID", "a_b")), same("R17")},
	{"callID of another provider", call("callID", "functions.read:0"), same(Alive)},
	{"empty callID", call("callID", ""), same("R13")},
	{"empty callIDs in a step", every(set(TwoCalls, "tool", "callID", ""), change(TwoCalls, "tool", 1, func(p fields) { p["callID"] = "" })), same("R13")},
	{"callID missing", without(OneCall, "tool", "callID"), same(Dead)},
	{"callID null", call("callID", nil), same(Dead)},
	{"callID a number", call("callID", 5), same(Dead)},
	{"tool missing", without(OneCall, "tool", "tool"), same(Alive)},
	{"tool of no characters", call("tool", ""), same(Alive)},
	{"tool a number", call("tool", 5), same(Alive)},
	{"bad tool name", call("tool", "run the tests!"), same(Alive)},
	{"bad tool name pending", every(call("tool", "run the tests!"), tools(OneCall, pending)), same(Alive)},
	{"tool invalid", every(call("tool", "invalid"), inState("input", fields{"tool": "nonesuch", "error": "x"})), same(Alive)},
	{"state missing", without(OneCall, "tool", "state"), same(Dead)},
	{"state null", call("state", nil), same(Dead)},
	{"state a string", call("state", "completed"), same(Alive)},
	{"status missing", noState("status"), same(Alive)},
	{"status unknown", inState("status", "novel"), same(Alive)},
	{"input a string", inState("input", "echo hi"), same("R14")},
	{"input a list", inState("input", []any{1}), same("R14")},
	{"input null", inState("input", nil), same("R14")},
	{"input a number", inState("input", 5), same("R14")},
	{"input missing", noState("input"), same("R14")},
	{"input a string, running", every(tools(OneCall, running), inState("input", "echo hi")), same("R14")},
	{"input missing, pending", tools(OneCall, fields{"status": "pending"}), same("R14")},
	{"input null, failed", every(tools(OneCall, aborting), inState("input", nil)), same("R14")},
	{"tool metadata flat", call("metadata", fields{"x": 1}), same(Dead)},
	{"tool metadata null", call("metadata", nil), same(Alive)},
}
