package main

import (
	"testing"

	"mend/change"
)

// Each way to start mend has its channel.
func TestChannel(t *testing.T) {
	for _, c := range []struct {
		command, agent string
		want           change.Channel
	}{
		{"repair", "", change.ChannelCommand},
		{"ui", "", change.ChannelCommand},
		{"watch", "", change.ChannelWatch},
		{"hook", "", change.ChannelPlugin},
		{"hook", "opencode", change.ChannelPlugin},
		{"hook", "claude", change.ChannelHook},
	} {
		a := environment{command: c.command, agentName: c.agent}
		a.opt.Agents = agents
		if err := a.selectAgent(); err != nil {
			t.Fatal(err)
		}
		if got := a.channel(); got != c.want {
			t.Errorf("mend %s --agent %q: %s, want %s", c.command, c.agent, got, c.want)
		}
	}
}
