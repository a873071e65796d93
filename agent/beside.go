package agent

// A Beside is another store of the agent beside one that has sessions which that one lacks.
type Beside struct {
	Path     string
	Sessions map[string]bool // their ids
	Err      error           // why it cannot be read

	PromptsOnly bool // it has only what the users typed, of sessions that the agent deleted
}
