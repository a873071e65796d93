package change

// An Actor identifies who made a change, and through which channel. Unknown fields are empty: entries of
// older versions have no actor at all. The names are part of the journal's format.
type Actor struct {
	User         string  `json:"user,omitempty"`
	UID          int     `json:"uid"` // -1 where users have no numbers
	Host         string  `json:"host,omitempty"`
	PID          int     `json:"pid,omitempty"`
	Channel      Channel `json:"channel,omitempty"`
	Verb         string  `json:"verb,omitempty"`         // the verb of mend, such as fix
	Agent        string  `json:"agent,omitempty"`        // the agent that the store belongs to
	AgentVersion string  `json:"agentVersion,omitempty"` // the version of the agent that the change was made for
}

// A Channel is how mend was started.
type Channel string

// The channels. Their spelling is part of the journal's format.
const (
	ChannelCommand Channel = "command" // a person, or a script
	ChannelPlugin  Channel = "plugin"  // of OpenCode
	ChannelHook    Channel = "hook"    // of Claude Code
	ChannelWatch   Channel = "watch"
)

// Channels lists all channels.
var Channels = []Channel{ChannelCommand, ChannelPlugin, ChannelHook, ChannelWatch}
