package main

import (
	"context"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
)

// effectOf computes the current effect of an entry from its store. It releases the journal first.
func effectOf(ctx context.Context, env *frame.Env, e change.Entry, release func()) (x show.Effect) {
	c, err := frame.OpenStoreOf(ctx, env, e, false)
	if release(); err == nil {
		x.Effect, err = c.Effect(ctx, e)
	}
	x.Unknown = err
	return x
}
