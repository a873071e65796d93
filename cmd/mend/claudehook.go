package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"mend/agent"
	"mend/agent/claude"
	"mend/change"
	"mend/internal/live"
	"mend/internal/mend"
	"mend/internal/ownfile"
	"mend/internal/term"
	"mend/journal"
	"mend/repair"
)

// A claudeEvent is what Claude Code says to a hook.
type claudeEvent struct {
	Session    string `json:"session_id"`
	Transcript string `json:"transcript_path"`
	Event      string `json:"hook_event_name"`
}

const (
	maxClaudeEvent = 1 << 20 // bytes
	// claudeHookTimeout is in seconds. Claude Code waits for the hook before it shows a session.
	claudeHookTimeout = 10
	// claudeHookDeadline ends an examination before Claude Code kills the hook.
	claudeHookDeadline = (claudeHookTimeout - 2) * time.Second
)

// claudeHook examines the session that Claude Code has loaded, or that it leaves, and says on
// standard output what is wrong with it, as Claude Code shows it. With repair it repairs the
// session first, if that loses nothing. It never fails, so that no session fails to begin
// because of it.
func claudeHook(ctx context.Context, env *environment, repair bool) error {
	env.JSON = false
	ctx, cancel := context.WithTimeout(ctx, claudeHookDeadline)
	defer cancel()
	var writing atomic.Bool
	done := make(chan string, 1)
	go func() {
		defer func() { _ = recover() }() // a fault of mend must not become one of the session
		text, err := answerClaude(ctx, env, repair, &writing)
		if err != nil {
			logClaudeHook(env, err)
		}
		done <- text
	}()
	text := ""
	select {
	case text = <-done:
	case <-ctx.Done():
		if writing.Load() { // a change that has begun is finished
			text = <-done
		}
	}
	if text == "" {
		return nil
	}
	answer, err := json.Marshal(map[string]string{"systemMessage": text})
	if err == nil {
		fmt.Fprintf(env, "%s\n", answer)
	}
	return nil
}

// logClaudeHook writes an error to the log of hooks.
func logClaudeHook(env *environment, err error) {
	journal, jerr := env.opt.Journal.Folder()
	if jerr != nil {
		return
	}
	if log, err2 := openHookLog(journal, false); err2 == nil {
		log.Warn("examining a session of Claude Code", "error", err)
	}
}

// answerClaude returns the text for the user, "" for none.
func answerClaude(ctx context.Context, env *environment, repairs bool, writing *atomic.Bool) (string, error) {
	c, _, err := loadLiveSettings(nil)
	if err != nil || !c.Enabled {
		return "", err
	}
	var e claudeEvent
	data, err := ownfile.ReadAtMost(env.In, maxClaudeEvent)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return "", fmt.Errorf("reading the event: %w", err)
	}
	if !filepath.IsAbs(e.Transcript) || filepath.Base(e.Transcript) != e.Session+".jsonl" {
		return "", fmt.Errorf("reading the event: %q is no transcript of the session %q", e.Transcript, e.Session)
	}
	o := env.opt
	o.Agents, o.Note = []agent.Agent{claude.Agent{Except: claude.Ancestors()}}, nil
	client, err := mend.Open(o)
	if err != nil {
		return "", err
	}
	head, err := client.SessionAt(ctx, e.Transcript)
	if errors.Is(err, mend.ErrNoSession) {
		return "", nil // a new session has no transcript yet
	}
	if err != nil {
		return "", err
	}
	plan, err := client.ProposeRepair(ctx, head, repair.Request{Force: true, Unattended: true})
	if err != nil {
		return "", err
	}
	why := whyBroken(plan)
	if why == "" || ctx.Err() != nil {
		return "", ctx.Err()
	}
	if !repairs {
		return brokenText(head, why, len(plan.Plan.Ops) > 0), nil
	}
	id, err := repairForHook(ctx, env, client, head, writing)
	switch {
	case e.Event == "SessionEnd":
		return "", err
	case err != nil || id == "":
		return brokenText(head, why, len(plan.Plan.Ops) > 0), err
	}
	return fmt.Sprintf("mend repaired this session: %s Type /resume %s to load it as it is now. (Undo: mend undo %s --yes)", why, head.ID, id), nil
}

// whyBroken returns what a user notices of a session, "" for nothing.
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
	if n := r.SentAfter - r.SentBefore; n > 0 {
		lost = fmt.Sprintf("It lost %d of %d blocks. ", n, r.SentAfter)
	}
	return fmt.Sprintf("%s%s And %s.", lost, all[0], term.Count(len(all)-1, "more problem"))
}

// brokenText returns the message about a broken session. Claude Code shows it to the user, not
// to the model.
func brokenText(head change.Head, why string, fixable bool) string {
	text := "mend: this session is damaged. " + why
	if !fixable {
		return text + " mend scan " + head.ID + " says more."
	}
	return fmt.Sprintf("%s To repair it, type these two lines:\n! mend repair %s --force --yes\n/resume %s", text, head.ID, head.ID)
}

// errHookLeaves is why the hook leaves a session as it is.
var errHookLeaves = errors.New("the repair loses something, or leaves something broken, or the last one was undone")

// repairForHook repairs a session if no other process uses it, the repair loses nothing and
// leaves nothing broken, and the user has not undone the last one.
func repairForHook(ctx context.Context, env *environment, client *mend.Store, head change.Head, writing *atomic.Bool) (string, error) {
	r, err := client.ProposeRepair(ctx, head, repair.Request{Unattended: true})
	if err != nil {
		return "", err
	}
	undone, err := client.LastUndone(ctx, head.ID)
	if err != nil {
		return "", err
	}
	if undone || hasBroken(r.Remaining) || len(r.Plan.Ops) == 0 || loses(r.Fixed) {
		return "", errHookLeaves
	}
	if err := checkClaudeVersion(env, client, head, r.Fixed); err != nil {
		return "", err
	}
	r.Plan.Cause.Live = true
	writing.Store(true)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	e, err := client.Apply(context.WithoutCancel(ctx), r.Plan)
	if err != nil || e.State != change.Committed {
		return "", errors.Join(err, fmt.Errorf("repair %s is %s", e.ID, e.State))
	}
	return e.ID, nil
}

// checkClaudeVersion returns an error if mend does not know the version of Claude Code that wrote
// the session. A newer one than those that mend was verified with counts as the newest of them,
// until a session that the hook repaired with it has the same fault again.
func checkClaudeVersion(env *environment, client *mend.Store, head change.Head, found []repair.Diagnosis) error {
	version, verified, newer := client.KnowsVersion(head.Version)
	if verified || version == "" { // without a version in it, it is judged by its records alone
		return nil
	}
	if !newer {
		return fmt.Errorf("%w: %q", live.ErrUnverified, version)
	}
	journalDir, err := env.opt.Journal.Folder()
	if err != nil {
		return err
	}
	known, store := versionLog{journalDir, agentName(client.ID())}, client.ID()
	why := known.Contradiction(version)
	last, err := env.opt.Journal.Log(journal.Query{Store: &store, Session: head.ID, Limit: 1})
	if err != nil {
		return err
	}
	if why == "" && len(last) == 1 && last[0].Cause.Live && last[0].State == change.Committed {
		for _, f := range last[0].Cause.Findings {
			if slices.ContainsFunc(found, func(d repair.Diagnosis) bool { return d.Rule == f.Rule && d.Severity == repair.Broken }) {
				why = fmt.Sprintf("rule %s was broken again in a session that mend had repaired", f.Rule)
			}
		}
	}
	if err := known.Record(version, why); err != nil {
		return err
	}
	if why != "" {
		return fmt.Errorf("%w: %q: %s", live.ErrUnverified, version, why)
	}
	return nil
}

func loses(ds []repair.Diagnosis) bool {
	for _, d := range ds {
		if d.Loses != "" {
			return true
		}
	}
	return false
}

// hookSuffix ends the command of a hook that mend has installed.
const hookSuffix = " hook --agent claude"

// hookCommand returns the line that starts this program as a hook of Claude Code.
func hookCommand(repair bool) (string, error) {
	exe, err := installedProgram()
	if err != nil {
		return "", err
	}
	if !plainWord.MatchString(exe) {
		exe = "'" + strings.ReplaceAll(exe, "'", `'\''`) + "'"
	}
	command := exe + hookSuffix
	if repair {
		command += " --repair"
	}
	return command, nil
}

// isHookCommand reports whether mend has installed the hook, for this program or another one.
func isHookCommand(command string) bool {
	return strings.HasSuffix(strings.TrimSuffix(command, " --repair"), hookSuffix)
}

// claudeHooks returns the hooks for the settings of Claude Code. A session is loaded before
// SessionStart runs, so a repair at its end is what the next start loads, and one at the
// start what /resume loads.
func claudeHooks(command string, repair bool) []claude.Hook {
	hooks := []claude.Hook{{Event: "SessionStart", Matcher: "resume", Command: command, Timeout: claudeHookTimeout}}
	if repair {
		hooks = append(hooks, claude.Hook{Event: "SessionEnd", Command: command, Timeout: claudeHookTimeout})
	}
	return hooks
}
