package running

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"mend/agent"
	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/internal/config"
	"mend/internal/live"
	"mend/internal/mend"
	"mend/internal/ownfile"
	"mend/internal/term"
	"mend/internal/termjson"
	"mend/internal/unattended"
	"mend/repair"
)

// maxEvent is the size of an event in bytes.
const maxEvent = 1 << 20

// eventHook reads an event of an agent, and answers with the state of the session in the form that the agent
// shows. With repair it repairs the session first, like the plugin before a request. It never fails: an error
// of mend must not prevent a session from starting.
func eventHook(ctx context.Context, env *frame.Env, in agent.Installer, repair, keeps bool) error {
	env.JSON = false
	ctx, cancel := context.WithTimeout(ctx, in.About().Deadline)
	defer cancel()
	var writing atomic.Bool
	done := make(chan []byte, 1)
	go func() {
		defer func() { _ = recover() }() // a bug of mend must not break the session
		answer, err := answerEvent(ctx, env, in, repair, keeps, &writing)
		if err != nil {
			logEventHook(env, err)
		}
		done <- answer
	}()
	var answer []byte
	select {
	case answer = <-done:
	case <-ctx.Done():
		if writing.Load() { // let a change in progress finish
			answer = <-done
		}
	}
	if answer != nil {
		_, _ = env.Write(append(termjson.Escape(answer), '\n')) // Lost reports it
	}
	return nil
}

// logEventHook writes an error to the log of hooks.
func logEventHook(env *frame.Env, err error) {
	journal, jerr := env.Opt.Journal.Folder()
	if jerr != nil {
		return
	}
	if log, err2 := openHookLog(journal); err2 == nil {
		log.Warn("examining a session of "+env.Opt.Agents[0].Title(), "error", err)
	}
}

// answerEvent returns the answer to an event, nil for none.
func answerEvent(
	ctx context.Context, env *frame.Env, in agent.Installer, repairs, keeps bool, writing *atomic.Bool,
) ([]byte, error) {
	c, _, err := frame.LoadLiveSettings(nil)
	if err != nil || !c.Enabled {
		return nil, err
	}
	data, err := ownfile.ReadAtMost(env.In, maxEvent)
	if err != nil {
		return nil, err
	}
	e, err := in.Event(data)
	if err != nil {
		return nil, err
	}
	o := env.Opt
	o.Agents, o.Note = []agent.Agent{e.Agent}, nil
	client, err := mend.Open(o)
	if err != nil {
		return nil, err
	}
	head, err := client.Reader().SessionAt(ctx, e.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a new session has no file yet
	}
	if err != nil {
		return nil, err
	}
	if keeps && (e.Turn || e.Ended) {
		keepForHook(ctx, env, client, head, c)
	}
	if e.Turn || e.Ended && !repairs {
		return nil, nil
	}
	plan, err := client.ProposeRepair(ctx, head, repair.Request{Force: true})
	if err != nil {
		return nil, err
	}
	why := whyBroken(plan)
	if why == "" || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	broken := func(failed error) ([]byte, error) {
		answer, err := e.Answer(e.Broken(head, why, len(plan.Plan.Ops) > 0))
		return answer, errors.Join(failed, err)
	}
	if !repairs {
		return broken(nil)
	}
	q := live.Question{Version: head.Version, Deadline: in.About().Deadline, Begin: func(context.Context) (bool, error) {
		writing.Store(ctx.Err() == nil)
		return ctx.Err() == nil, nil
	}}
	h := live.New(nil, unattended.New(client), liveOptions(c))
	v := h.Look(context.WithoutCancel(ctx), live.Situation{Cause: live.AtStart, Head: head, Question: q})
	switch {
	case e.Ended:
		return nil, v.Err
	case v.Entry == "":
		return broken(v.Err)
	}
	return e.Answer(e.Repaired(head, why, v.Entry))
}

// keepForHook copies a session, if the user has agreed.
func keepForHook(ctx context.Context, env *frame.Env, client *mend.Store, head change.Head, c config.Config) {
	journal, err := env.Opt.Journal.Folder()
	if err != nil {
		return
	}
	log, err := openHookLog(journal)
	if err != nil {
		return
	}
	automaticKeep{env.Opt.Journal, journal, c, log}.keep(ctx, client, []change.Head{head}, "turn", false)
}

// whyBroken describes what a user notices of a broken session, "" for nothing.
func whyBroken(r repair.Result) string {
	var all []string
	for _, ds := range [][]repair.Diagnosis{r.Fixed, r.Remaining} {
		for _, d := range ds {
			if d.Severity == repair.Broken {
				all = append(all, term.Escape(d.Why))
			}
		}
	}
	switch len(all) {
	case 0:
		return ""
	case 1:
		return all[0]
	}
	lost := ""
	if r.Added > 0 {
		lost = fmt.Sprintf("It lost %d of %d blocks. ", r.Added, r.SentAfter)
	}
	return fmt.Sprintf("%s%s And %s.", lost, all[0], term.Count(len(all)-1, "more problem"))
}
