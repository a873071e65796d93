package damage

// copies are copies of messages that have the name of a message: the agent of the tree
// takes them for newer than every prompt and every answer.
var copies = []Kind{
	{"a copy of an answer that sorts behind every prompt", copyMessage(Hello, "msg_x.json"), inTree("R12")},
	{"a copy of an answer with a call that sorts behind every prompt", copyMessage(OneCall, "msg_x.json"), inTree("R12")},
	{"a copy of a prompt that sorts behind every prompt", copyMessage(FourthPrompt, "msg_x.json"), inTree(Dead)},
	{"a copy of an answer that sorts before all", copyMessage(Hello, "msg_0.json"), inTree(Alive)},
}

// copyMessage puts a copy of the message beside it.
func copyMessage(n int, name string) func(Store) {
	return func(s Store) {
		for _, m := range message(s, n) {
			layBeside(s, "message/"+sessionOf(m)+"/", m, name, "")
		}
	}
}
