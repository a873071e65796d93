package repair

// A Prover is a Case that can show what becomes of the session in every setting.
type Prover interface {
	// Prove simulates the session for the versions of the agent that the simulation was
	// compared with, with thinking on and off.
	Prove() []Proof
	// UnknownProvider names the provider of the next request if its rules are not known, so that
	// those of a similar one were applied; "" if they are known.
	UnknownProvider() string
}

// A Proof is what the simulation of one setting shows.
type Proof struct {
	Version  string // of the agent
	Thinking bool
	Rules    []string // the codes of the rules that are broken, each once
}

// A Counter is a Case that counts what of the session its next request has.
type Counter interface {
	// Sent returns how many stored blocks are in the next request.
	Sent() int
}
