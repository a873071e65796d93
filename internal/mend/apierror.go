package mend

import (
	"mend/internal/provider"
	"mend/repair"
)

// ParseAPIError recognises an error of a model API or of an agent: JSON, as the agent stores or reports it, or plain
// text. If several agents recognise it, the lowest rank wins, and then the first agent. If none does, it is compared
// with the errors of the system and of all providers.
func (as Agents) ParseAPIError(input []byte) (found repair.APIError) {
	for _, a := range as {
		if e := a.ParseAPIError(input); e.Recognised && (!found.Recognised || e.Rank < found.Rank) {
			found = e
		}
	}
	if !found.Recognised {
		return provider.ParseCommon(input)
	}
	return found
}

// ParseAPIError recognises an error, see [Agents.ParseAPIError].
func (c *Store) ParseAPIError(input []byte) repair.APIError { return c.opt.Agents.ParseAPIError(input) }
