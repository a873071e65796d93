package agent

// An OtherStore is another store of an agent, with sessions that a store lacks.
type OtherStore struct {
	Path     string
	Sessions map[string]bool // their ids
	Err      error           // why it cannot be read

	PromptsOnly bool // it has only the users' prompts, of sessions that the agent deleted
}
