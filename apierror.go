package mend

import (
	"mend/agent"
	"mend/provider"
	"mend/repair"
)

// ParseAPIError recognises an error of a model API or of an agent: JSON, as the agent
// stores or reports it, or plain text. If several agents recognise it, the first does.
func (o Options) ParseAPIError(input []byte) repair.APIError {
	e := provider.NewErrorParser().Parse(input)
	for _, a := range o.Agents {
		p, ok := a.(agent.ErrorParser)
		if !ok {
			continue
		}
		if e = p.ParseAPIError(input); e.Recognised {
			break
		}
	}
	return e
}

// ParseAPIError recognises an error, see [Options.ParseAPIError].
func (c *Client) ParseAPIError(input []byte) repair.APIError { return c.opt.ParseAPIError(input) }
