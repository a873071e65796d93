package change

// An Actor says who made a change, and through what. What is not known is empty: entries of older
// versions have no actor at all. The names are part of the journal's format.
type Actor struct {
	User         string  `json:"user,omitempty"`
	UID          int     `json:"uid"` // -1 where users have no numbers
	Host         string  `json:"host,omitempty"`
	PID          int     `json:"pid,omitempty"`
	Channel      Channel `json:"channel,omitempty"`
	Verb         string  `json:"verb,omitempty"`         // of mend, such as repair
	Agent        string  `json:"agent,omitempty"`        // whose store it is
	AgentVersion string  `json:"agentVersion,omitempty"` // for which the change was made
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

// Channels are all channels.
var Channels = []Channel{ChannelCommand, ChannelPlugin, ChannelHook, ChannelWatch}
