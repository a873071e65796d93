package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/term"
)

// A coverageJSON counts the sessions of a store with a complete copy.
type coverageJSON struct {
	Agent    string `json:"agent"`
	Sessions int    `json:"sessions"`
	Covered  int    `json:"covered"`
	Last     string `json:"last"` // when the newest copy was made; "" for none
	Gone     int    `json:"gone"` // sessions with a complete copy that the agent no longer has

	last time.Time
}

// A keepStatusJSON is the part of status about copies.
type keepStatusJSON struct {
	Automatic bool            `json:"automatic"`
	Bytes     int64           `json:"bytes"`
	Agents    []coverageJSON  `json:"agents"`
	Lacking   int             `json:"lacking"` // sessions that lack content of a copy, as far as a short look shows
	Gone      []goneStoreJSON `json:"gone"`    // missing stores whose sessions were copied
	Damaged   []string        `json:"damaged"` // files that were set aside
}

// A goneStoreJSON is a missing store.
type goneStoreJSON struct {
	Agent    string `json:"agent"`
	Store    string `json:"store"`
	Sessions int    `json:"sessions"` // with a copy
	remake   string
}

// keepLook is how long status searches for sessions that lack content of a copy.
const keepLook = time.Second

// keepStatus returns the coverage of each agent, nil if it is unknown.
func keepStatus(ctx context.Context, env *frame.Env, clients []*mend.Store) *keepStatusJSON {
	s := keepStatusJSON{Automatic: frame.LoadsKeep(), Agents: []coverageJSON{}, Gone: []goneStoreJSON{}, Damaged: show.NonNil(frame.DamagedBefore(env, time.Now().Add(time.Minute)))}
	look, stop := context.WithTimeout(ctx, keepLook)
	defer stop()
	err := env.Opt.Journal.Kept(keep.Options{ReadOnly: true, Context: ctx}, func(k *keep.Keep) error {
		s.Bytes = k.Size()
		for _, client := range clients {
			id := client.ID()
			coverage := coverageJSON{Agent: id.Agent}
			heads, err := client.Cached().Sessions(ctx)
			if err != nil {
				continue // status has reported it
			}
			complete := map[string]bool{}
			err = k.Each(keep.Query{Store: client.HasCopiesOf}, func(st *keep.State) {
				complete[st.Session] = complete[st.Session] || st.Complete()
				coverage.last = st.Time
			})
			if err != nil {
				return err
			}
			if coverage.Sessions = len(heads); len(complete) > 0 || s.Automatic {
				coverage.Sessions = client.Copyable(look, heads, complete)
			}
			for _, whole := range complete {
				if whole {
					coverage.Gone++
				}
			}
			for _, h := range heads {
				if complete[h.ID] {
					coverage.Covered, coverage.Gone = coverage.Covered+1, coverage.Gone-1
				}
			}
			if len(complete) > 0 {
				coverage.Last = coverage.last.UTC().Format(time.RFC3339)
			}
			s.Agents = append(s.Agents, coverage)
			if len(complete) > 0 {
				found, _ := client.Restorables(look, k) // unreadable sessions were reported
				for _, r := range found {
					if r.State == mend.Shortened || r.State == mend.Replaced {
						s.Lacking++
					}
				}
			}
		}
		unfound, err := frame.ListUnfound(ctx, env, clients, k)
		for _, x := range unfound {
			id := x.StoreID()
			i := slices.IndexFunc(s.Gone, func(g goneStoreJSON) bool { return g.Store == id.Root })
			if i < 0 {
				i, s.Gone = len(s.Gone), append(s.Gone, goneStoreJSON{Agent: id.Agent, Store: id.Root, remake: env.RemakeText(id, "mend restore --all")})
			}
			s.Gone[i].Sessions++
		}
		return err
	})
	if err != nil {
		env.NoteSkipped(err)
		return nil
	}
	return &s
}

// covers reports whether each session of the agent has a copy.
func (s *keepStatusJSON) covers(agent string) bool {
	return s != nil && slices.ContainsFunc(s.Agents, func(c coverageJSON) bool {
		return c.Agent == agent && c.Covered >= c.Sessions
	})
}

// gone returns how many sessions with a copy are missing.
func (s *keepStatusJSON) gone() (n int) {
	if s != nil {
		for _, c := range s.Agents {
			n += c.Gone
		}
	}
	return n
}

// text returns the text of status about copies; "" for nothing.
func (s *keepStatusJSON) text() string {
	if s == nil {
		return ""
	}
	var parts []string
	for _, c := range s.Agents {
		if c.Last == "" && !s.Automatic {
			continue
		}
		text := fmt.Sprintf("%s: %d of %s covered", agents.Title(change.StoreID{Agent: c.Agent}), c.Covered, term.Count(c.Sessions, "session"))
		if c.Last != "" {
			text += ", last " + term.Age(time.Since(c.last))
		}
		if c.Gone > 0 {
			text += "; " + term.CountWords(c.Gone, "copied session is gone", "copied sessions are gone") + term.Faint(" (mend restore)")
		}
		parts = append(parts, text)
	}
	for _, g := range s.Gone {
		parts = append(parts, term.Warn(term.Escape(term.ShortenHome(g.Store))+" is gone")+fmt.Sprintf(", and %s of it %s kept: %s",
			term.Count(g.Sessions, "session"), map[bool]string{true: "was", false: "were"}[g.Sessions == 1], g.remake))
	}
	if s.Lacking > 0 {
		parts = append(parts, term.Warn(term.CountWords(s.Lacking, "session lacks", "sessions lack")+" data that was kept")+term.Faint(" (mend restore lists and restores it)"))
	}
	for _, path := range s.Damaged {
		parts = append(parts, term.Warn("a damaged file was set aside: ")+term.Escape(term.ShortenHome(path))+term.Faint(" (mend forget removes it)"))
	}
	if len(parts) == 0 {
		return ""
	}
	if !s.Automatic {
		parts = append(parts, term.Faint("automatic copies are off (mend install --keep)"))
	}
	return strings.Join(parts, "\n")
}
