package damage

// results are what calls gave back.
var results = []Kind{
	{"completed without output", noState("output"), same(Dead)},
	{"output null", inState("output", nil), same(Dead)},
	{"output a number", inState("output", 5), same(Alive)},
	{"output an object", inState("output", fields{"x": "x"}), by(Dead, Dead, Alive)},
	{"output a list", inState("output", []any{"x"}), by(Dead, Dead, Alive)},
	{"output of no characters", inState("output", ""), same(Alive)},
	{"output of blanks", inState("output", " \n"), same(Alive)},
	{"output cleared", inState("time", fields{"start": 1, "end": 2, "compacted": 3}), same(Alive)},
	{"completed without title", noState("title"), same(Alive)},
	{"completed without metadata", noState("metadata"), same(Alive)},
	{"completed without time", noState("time"), same(Dead)},
	{"completed by hand", tools(OneCall, fields{"status": "completed", "input": fields{"command": "x"}, "time": fields{"start": 1}}), same(Dead)},
	{"completed by hand without anything", tools(OneCall, fields{"status": "completed"}), same(Dead)},
	{"failed without error", every(tools(OneCall, aborting), noState("error")), same(Alive)},
	{"failed with error null", every(tools(OneCall, aborting), inState("error", nil)), same(Alive)},
	{"failed with an empty error", every(tools(OneCall, aborting), inState("error", "")), same(Alive)},
	{"failed with an object", every(tools(OneCall, aborting), inState("error", fields{"message": "x"})), same(Alive)},
	{"failed without time", every(tools(OneCall, aborting), noState("time")), same(Alive)},
	{"failed without anything", tools(OneCall, fields{"status": "error"}), same("R14")},
}
