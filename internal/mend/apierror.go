package mend

import (
	"mend/internal/provider"
	"mend/repair"
)

// ParseAPIError recognises an error of a model API or of an agent: JSON, as the agent stores or reports it,
// or plain text. The first agent that recognises it wins; otherwise the errors of the system and of all
// providers are tried.
func (as Agents) ParseAPIError(input []byte) repair.APIError {
	for _, a := range as {
		if e := a.ParseAPIError(input); e.Recognised {
			return e
		}
	}
	return provider.ParseCommon(input)
}

// ParseAPIError recognises an error, see [Agents.ParseAPIError].
func (c *Store) ParseAPIError(input []byte) repair.APIError { return c.opt.Agents.ParseAPIError(input) }
