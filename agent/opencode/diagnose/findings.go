package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// A setting is one way to send the session.
type setting struct {
	profile  render.Profile
	thinking bool
}

// own is the index of the setting that the session is diagnosed for.
const own = repair.InUse

func (c *simulation) Send(shown repair.Setting) repair.Sent {
	set := c.settings[slices.Index(c.shownSettings(), shown)]
	r := c.render(set)
	sent := repair.Sent{Request: r.Request, Refused: c.violations(set), Fails: len(r.Failures) > 0}
	if !r.Target.IsKnown(r.Model) {
		sent.UnknownProvider = r.Target.Package
	}
	if isLoopOpen(c.s) {
		sent.Unfinished = c.s.Messages[len(c.s.Messages)-1].Ref
	}
	if c.isUnknown() {
		return sent
	}
	for _, w := range sent.Refused {
		f := finding{Code: w.Rule, Ref: firstRef(w.Refs), Text: w.Message, Severity: c.severity(w)}
		f.Unknown = repair.IsNearUnknown(r.Request, w) ||
			(f.Code == render.FailureSession || f.Code == render.FailureProjectRow) && mayBeNew(f.Text)
		sent.Findings = append(sent.Findings, f)
	}
	return sent
}

// mayBeNew reports whether the problem of a row may come from a future version. It cannot if a column is not JSON.
func mayBeNew(why string) bool { return !strings.Contains(why, " is not JSON") }

func (c *simulation) Release() { c.cachedView, c.requests = nil, nil }

// Faults implements [repair.State]. It returns findings about content that newer versions cannot show.
func (c *simulation) Faults() (all []finding) {
	if c.isUnknown() {
		return nil
	}
	for _, f := range c.screenFailures() {
		unknown := schema.IsUnknown(f.Why)
		all = append(all, finding{Code: f.Code, Ref: f.Ref, Text: f.Why, Severity: repair.Latent, Unknown: unknown})
	}
	// An unreadable record cannot be shown either. A fix that makes it readable causes no new finding if it still cannot
	// be shown.
	for _, f := range c.screen() {
		if f.Code == render.FailureUnreadable {
			all = append(all, finding{Code: render.FailureScreen, Ref: f.Ref, CountOnly: true})
		}
	}
	return all
}

// newer returns the program and the version that wrote the session, or will read it, if it is newer than all observed
// versions; else "".
func (c *simulation) newer() string {
	for _, version := range []string{c.request.Version, c.s.Version} {
		if render.Newer(version) {
			return fmt.Sprintf("%s %.20s", cmp.Or(c.env.Agent, "OpenCode"), version)
		}
	}
	return ""
}

// markUnknown marks the turns of messages with content that mend does not know, and adjacent turns.
func (c *simulation) markUnknown(turns []request.Turn) {
	unknown := map[string]bool{}
	for _, f := range c.screen() {
		unknown[f.Ref.Message] = unknown[f.Ref.Message] || schema.IsUnknown(f.Why)
	}
	beside := map[change.Ref]bool{}
	for i, m := range c.s.Messages {
		for j := max(i-1, 0); unknown[m.Ref.Message] && j <= min(i+1, len(c.s.Messages)-1); j++ {
			beside[c.s.Messages[j].Ref] = true
		}
	}
	for i, t := range turns {
		turns[i].Unknown = slices.ContainsFunc(t.Messages, func(ref change.Ref) bool { return beside[ref] })
	}
}

// isForeign reports whether the part has a type that only other tools write and no newer version shows.
func (c *simulation) isForeign(ref change.Ref) bool {
	_, p := c.part(ref)
	return p != nil && slices.Contains([]string{
		record.TypeThinking, record.TypeRedactedThinking, record.TypeToolUse, record.TypeToolResult,
	}, p.Type)
}

// severity returns the severity of a violation in the setting in use. A rule that only some vendors enforce is latent
// with another vendor, and so is each rule if part of the request is unknown.
func (c *simulation) severity(w request.Violation) repair.Severity {
	if isRule(w.Rule) && c.hasLink() {
		return repair.Latent
	}
	r := c.render(c.settings[own])
	if w.Rule == "R15" && c.env.CanRead != nil { // about images; attachments of a result are sent to any model
		if _, known := c.env.CanRead(r.Model, "image"); !known && !c.isAttachment(w) {
			return repair.Latent
		}
	}
	if vendors := vendorsOf(w.Rule); vendors != nil && !slices.Contains(vendors, r.Target.Vendor) {
		return repair.Latent
	}
	return repair.Broken
}

// isAttachment reports whether the violation is about a file in the result of a call.
func (c *simulation) isAttachment(w request.Violation) bool {
	_, p := c.part(firstRef(w.Refs))
	return p != nil && p.Type == record.TypeTool
}

// isRequestFault reports whether the code is for a violation of the request, or for a failure that keeps the agent from
// making a request.
func isRequestFault(code string) bool {
	return isRule(code) || slices.Contains([]string{
		render.FailureUnreadable, render.FailureField, render.FailureMedia, render.FailureClock,
	}, code)
}

func firstRef(refs []change.Ref) change.Ref {
	if len(refs) == 0 {
		return change.Ref{}
	}
	return refs[0]
}
