package claude

import (
	_ "embed" // the effects
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// An Effect is what damage does to a session on a version of Claude Code.
type Effect struct {
	Before  int    // number of blocks sent with the damage, even if the request is refused
	Refused bool   // there is no answer
	Rule    string // the code of the first finding; "" if this version lives with the damage
	After   int    // number of blocks sent after the repair
}

//go:embed effects.tsv
var effects string

// On returns the effect of the damage on a version, or on the known one of the same series. ok is false if
// it is unknown. TestRealDamages of package agent/claude records it.
func (d Damage) On(version string) (o Effect, ok bool) {
	for line := range strings.Lines(effects) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if f[0] != d.Name || semver.MajorMinor("v"+f[1]) != semver.MajorMinor("v"+version) {
			continue
		}
		o.Rule = strings.TrimPrefix(f[4], "-")
		o.Refused = f[3] == "refused"
		if _, err := fmt.Sscan(f[2]+" "+f[5], &o.Before, &o.After); err != nil {
			panic(err)
		}
		return o, true
	}
	return o, false
}

// FormatEffects returns the text of all effects, with new effects on one version.
func FormatEffects(version string, now map[string]Effect) string {
	var b strings.Builder
	for _, d := range Damages {
		for _, v := range Versions {
			o, ok := d.On(v)
			if n, ran := now[d.Name]; ran && v == version {
				o, ok = n, true
			}
			if !ok {
				continue
			}
			answer, rule := "answered", "-"
			if o.Refused {
				answer = "refused"
			}
			if o.Rule != "" {
				rule = o.Rule
			}
			fmt.Fprintf(&b, "%s\t%s\t%d\t%s\t%s\t%d\n", d.Name, v, o.Before, answer, rule, o.After)
		}
	}
	return b.String()
}

// Rewrites reports whether the repair of a finding with that code may rewrite the whole transcript, because
// appended lines cannot always repair it.
func Rewrites(rule string) bool { return rule == "nothing_readable" }
