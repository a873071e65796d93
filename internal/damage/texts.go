package damage

// memory is what a plugin puts into the second prompt, under an id of its own.
func memory(text string) func(Store) {
	return func(s Store) {
		for _, p := range nth(s, SecondPrompt, "text", 0) {
			s.Put(Record{Table: "part", ID: "supermemory-context-1", Owner: p.Owner, Data: `{"type":"text","text":"` + text + `","synthetic":true}`})
		}
	}
}

// texts are text parts, and what stands among them.
var texts = []Kind{
	{"none", func(Store) {}, same(Alive)},
	{"empty answer", Text(Hello, ""), by("R10", "R10", "R11")},
	{"empty last answer", Text(Goodbye, ""), by("R10", "R10", "R11")},
	{"empty answer without reasoning", every(Text(Hello, ""), drop(Hello, "reasoning")), same(Alive)},
	{"empty text beside tool", Text(OneCall, ""), by(Alive, Alive, "R11")},
	{"empty prompt", Text(SecondPrompt, ""), same(Alive)},
	{"empty first prompt", Text(FirstPrompt, ""), same("R16")},
	{"empty text in a prompt", add(SecondPrompt, "text", `{"type":"text","text":""}`), same(Alive)},
	{"blank answer", Text(Hello, " \n"), same("R11")},
	{"blank last answer", Text(Goodbye, "\n\n"), same("R11")},
	{"blank answer without reasoning", every(Text(Hello, " "), drop(Hello, "reasoning")), same("R11")},
	{"blank text beside tool", Text(OneCall, " \n"), same("R11")},
	{"blank text behind tool", add(OneCall, "tool", `{"type":"text","text":"\n"}`), by("R1", "R1", "R11")},
	{"blank text between two calls", add(TwoCalls, "tool", `{"type":"text","text":" "}`), by("R1", "R1", "R11")},
	{"blank prompt", Text(SecondPrompt, " \n"), same("R11")},
	{"blank first prompt", Text(FirstPrompt, "\t"), same("R11")},
	{"blank text in a prompt", add(SecondPrompt, "text", `{"type":"text","text":" "}`), same("R11")},
	{"answer of a no-break space", Text(Hello, "\u00a0"), same("R11")},
	{"blank texts everywhere", every(Text(FirstPrompt, " "), Text(OneCall, " "), Text(Done, " "), Text(SecondPrompt, " "), Text(Hello, " "), Text(TwoCalls, " "), Text(Goodbye, " ")), same("R11")},
	{"ignored blank answer", every(Text(Hello, " "), set(Hello, "text", "ignored", true)), same("R11")},
	{"prompt of ignored text", set(SecondPrompt, "text", "ignored", true), same(Alive)},
	{"text behind tool", add(OneCall, "tool", `{"type":"text","text":"behind"}`), by("R1", "R1", Alive)},
	{"text between two calls", add(TwoCalls, "tool", `{"type":"text","text":"between"}`), by("R1", "R1", Alive)},
	{"text missing", without(Hello, "text", "text"), same(Dead)},
	{"text missing in a prompt", without(SecondPrompt, "text", "text"), same(Dead)},
	{"text null", set(Hello, "text", "text", nil), same(Dead)},
	{"text null in a prompt", set(SecondPrompt, "text", "text", nil), same(Dead)},
	{"text a number", set(Hello, "text", "text", 5), same(Dead)},
	{"text a number in a prompt", set(SecondPrompt, "text", "text", 5), same(Dead)},
	{"text metadata null", set(Hello, "text", "metadata", nil), same(Alive)},
	{"text metadata flat", set(Hello, "text", "metadata", fields{"x": true}), same(Dead)},
	{"type missing", without(Hello, "text", "type"), same("R10")},
	{"unknown part type", add(Hello, "text", `{"type":"novelty","x":1}`), same(Alive)},
	{"parts of other programs", every(
		add(Hello, "text", `{"type":"thinking","thinking":"x"}`),
		add(OneCall, "text", `{"type":"tool_use","id":"x","name":"y","input":{}}`),
		add(SecondPrompt, "text", `{"type":"tool_result","tool_use_id":"x","content":"y"}`)), same(Alive)},
	{"no step-start", drop(OneCall, "step-start"), same(Alive)},
	{"part id that sorts before prt", rename(Hello, "text", prefixed("bad_prt_")), same("R10")},
	{"part id that sorts behind prt", rename(Hello, "text", prefixed("txt_prt_")), same(Alive)},
	{"text under a part_ id", rename(Hello, "text", prefixed("part_")), same("R10")},
	{"call under a part_ id", rename(OneCall, "tool", prefixed("part_")), same(Alive)},
	{"prompt under a part_ id", rename(SecondPrompt, "text", prefixed("part_")), same(Alive)},
	{"memory of a plugin in a prompt", memory("[MEMORY] x"), same(Alive)},
	{"blank memory of a plugin in a prompt", memory(" "), same("R11")},
}
