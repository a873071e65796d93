package damage

// thoughtBy are the fixture's answers that hold reasoning.
var thoughtBy = []int{OneCall, Done, Hello, TwoCalls, DoneAgain, Goodbye}

// alterAll alters the signature of all reasoning.
func alterAll(s Store) {
	for _, n := range thoughtBy {
		set(n, "reasoning", "metadata", fields{"anthropic": fields{"signature": "abc"}})(s)
	}
}

// several are damages in several places, of which one error names one.
var several = []Kind{
	{"every signature altered", alterAll, same("R7")},
	{"every signature altered, and a blank answer", every(alterAll, Text(Hello, " \n")), same("R7")},
	{"completed without output, twice", every(noState("output"), change(TwoCalls, "tool", 1, func(p fields) {
		if state, ok := p["state"].(fields); ok {
			delete(state, "output")
		}
	})), same(Dead)},
}
