package inspect

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/culprit"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/repair"
)

// A topicJSON is one explanation.
type topicJSON struct {
	repair.Explanation
	Kind  string   `json:"kind"`            // the heading under which "mend explain" lists it
	Rules []string `json:"rules,omitempty"` // of a class
}

// The kinds of topics, in the order of the list.
const (
	kindSeverity = "Severities"
	kindClass    = "Kinds of damage (classes)"
	kindRule     = "Rules of the providers"
	kindFinding  = "Other findings"
	kindExit     = "Exit codes"
)

// Explain returns the verb explain.
func Explain(env *frame.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE|ERROR|SESSION]",
		Short: "Explain a code, an error or a session",
		Long: `Explain shows what a code in the output means (a rule, a class of damage, a severity, an exit
code), what causes it, and what mend does about it. Without an argument it lists all codes.
For the words of the output see docs/glossary.md, for the settings "mend config".

It also accepts the text of an error, or the id of a session or a record, and then explains
every finding in it.`,
		Example: `  mend explain R11
  mend explain latent
  mend explain tool_result_missing
  mend explain 'messages.12: tool_use ids were found without tool_result'
  mend explain ses_abc`,
		RunE: func(cmd *cobra.Command, words []string) error {
			return env.Paged(func() error {
				topics := allTopics(env)
				if len(words) == 0 {
					env.SetAnswers(ExplainAnswer{Topics: topics})
					printTopics(env.Terminal, topics)
					return nil
				}
				return runExplain(cmd.Context(), env, strings.Join(words, " "), topics)
			})
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var all []cobra.Completion
			for _, t := range allTopics(env) {
				if hasPrefixFold(t.Code, start) {
					all = append(all, cobra.CompletionWithDesc(t.Code, term.FirstSentence(t.Meaning)))
				}
			}
			return all, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// allTopics returns everything that can be explained.
func allTopics(env *frame.Env) []topicJSON {
	var all []topicJSON
	for _, s := range []repair.Severity{repair.Broken, repair.Latent, repair.Lost, repair.Note} {
		all = append(all, newTopic(kindSeverity, repair.ExplainSeverity(s)))
	}
	rules := ruleTopics(env)
	all = append(all, classTopics(env, rules)...)
	all = append(all, rules...)
	for _, e := range frame.ExitCodes {
		for code := range strings.SplitSeq(e.Code, ", ") {
			all = append(all, newTopic(kindExit, repair.Explanation{Code: code, Meaning: show.SentenceCase(e.Meaning), Words: e.Name}))
		}
	}
	return all
}

// ruleTopics returns the rules of all agents.
func ruleTopics(env *frame.Env) []topicJSON {
	var all []topicJSON
	for _, ag := range env.Opt.Agents {
		for _, e := range ag.Guide().Rules() {
			kind := kindFinding
			if e.Provider != "" {
				kind = kindRule
			}
			t := newTopic(kind, e)
			i := slices.IndexFunc(all, func(o topicJSON) bool { return o.Code == t.Code })
			if i < 0 {
				all = append(all, t)
				continue
			}
			if all[i].Class == "" { // this agent repairs it
				all[i], t = t, all[i]
			}
			all[i].Healed = strings.TrimSpace(strings.ReplaceAll(all[i].Healed, t.Healed, "") + " " + t.Healed) // each text once
		}
	}
	return all
}

// classTopics returns the classes that users can name and those of the rules.
func classTopics(env *frame.Env, rules []topicJSON) []topicJSON {
	classes := env.Opt.Agents.Classes()
	for _, r := range rules {
		if r.Class != "" && !slices.Contains(classes, r.Class) {
			classes = append(classes, r.Class)
		}
	}
	var all []topicJSON
	for _, c := range classes {
		t := newTopic(kindClass, explainClass(env, c))
		for _, r := range rules {
			if string(r.Class) == t.Code {
				t.Rules = append(t.Rules, r.Code)
				t.Healed = strings.TrimSpace(strings.ReplaceAll(t.Healed, r.Healed, "") + " " + r.Healed)
			}
		}
		all = append(all, t)
	}
	return all
}

// explainClass returns the explanation of the first agent that knows the class.
func explainClass(env *frame.Env, c repair.Class) repair.Explanation {
	for _, ag := range env.Opt.Agents {
		if e := ag.Guide().Class(c); e.Meaning != "" {
			return e
		}
	}
	return repair.ExplainClass(c)
}

func newTopic(kind string, e repair.Explanation) topicJSON {
	return topicJSON{Explanation: e, Kind: kind}
}

// An ExplainAnswer is the answer of explain.
type ExplainAnswer struct {
	Topics   []topicJSON          `json:"topics,omitempty"`
	Sessions []sessionJSON        `json:"sessions,omitempty"`
	APIError *show.APIErrorAnswer `json:"apiError,omitempty"`
}

// runExplain explains what the user named: a topic, an error, a session or a record.
func runExplain(ctx context.Context, env *frame.Env, name string, topics []topicJSON) error {
	if found := append(findTopics(topics, name), likeTopics(topics, name)...); len(found) > 0 {
		env.SetAnswers(ExplainAnswer{Topics: found})
		for _, t := range found {
			printTopic(env.Terminal, t)
		}
		return nil
	}
	if isRecord(name) || strings.HasPrefix(name, "ses_") {
		return explainFindings(ctx, env, name, topics)
	}
	e := culprit.Readings(env.Opt.Agents, []byte(name))[0]
	if e.Class != "" {
		return explainError(ctx, env, e, topics)
	}
	if all, _, _ := frame.NamedSessions(ctx, env, frame.Sources{}); frame.IsSession(all, name) {
		return explainFindings(ctx, env, name, topics)
	}
	if e.Recognised { // its words may also be in a title
		return explainError(ctx, env, e, topics)
	}
	if strings.ContainsAny(name, " \n") {
		return fail.New(fail.Usage, `"mend fix 'TEXT'" shows what is broken, or asks what was lost`, "mend does not know this error: %s", term.OneLine(name, 100))
	}
	return fail.New(fail.Usage, nearestTopic(topics, name), "nothing is called %q", name)
}

// spoken maps words of the output to the codes that they stand for.
var spoken = map[string]string{show.AtRisk: "latent", "at-risk": "latent"}

// findTopics returns the topics with that code, in upper or lower case. "5" and "exit 5" name an exit code.
func findTopics(topics []topicJSON, name string) []topicJSON {
	name = strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(name), "exit "), "code ")
	var found []topicJSON
	for _, t := range topics {
		if code := strings.ToLower(t.Code); code == name || code == spoken[name] || t.Kind == kindClass && show.ClassWords(code) == name || t.Kind == kindExit && t.Words == name {
			found = append(found, t)
		}
	}
	return found
}

// likeTopics returns the topics of other agents whose code has a prefix before that code, such as
// thread-archived.
func likeTopics(topics []topicJSON, name string) []topicJSON {
	return slices.DeleteFunc(slices.Clone(topics), func(t topicJSON) bool { return !strings.HasSuffix(t.Code, "-"+strings.ToLower(name)) })
}

func nearestTopic(topics []topicJSON, name string) string {
	best, distance := "", max(len(name)/2, 2)
	for _, t := range topics {
		d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(t.Code))
		if len(name) > 3 && strings.Contains(t.Code, strings.ToLower(name)) {
			d = 1
		}
		if d < distance {
			best, distance = t.Code, d
		}
	}
	if best == "" {
		return `"mend explain" lists everything it can explain`
	}
	return frame.DidYouMean([]string{"mend explain " + best})
}

// explainError explains an error of a provider or an agent.
func explainError(ctx context.Context, env *frame.Env, e repair.APIError, topics []topicJSON) error {
	var found []topicJSON
	for _, code := range []string{e.Rule, string(e.Class)} {
		if code != "" {
			found = append(found, findTopics(topics, code)...)
		}
	}
	apiError := show.APIErrorJSON(e)
	env.SetAnswers(ExplainAnswer{Topics: show.NonNil(found), APIError: &apiError})
	env.Printf("%s\n\n", wrapped(env.Terminal, e.Explanation))
	for _, t := range found {
		printTopic(env.Terminal, t)
	}
	if e.Class != "" {
		env.Printf("To repair the session: %s\n", term.Bold(`mend fix "TEXT"`))
	}
	frame.PrintHolders(ctx, env, e)
	return nil
}

// isRecord reports whether a name is the id of a message or a part.
func isRecord(name string) bool { return strings.HasPrefix(name, "msg_") }

// explainFindings explains each finding of a session, or of a record.
func explainFindings(ctx context.Context, env *frame.Env, name string, topics []topicJSON) error {
	names := []string{name}
	if isRecord(name) { // in any session
		names = nil
	}
	stores, left, err := frame.OpenNamed(ctx, env, false, names)
	if err != nil {
		return err
	}
	var found []topicJSON
	var shown []sessionJSON
	var last mend.Finding
	for _, s := range stores {
		c, heads := s.Cached(), s.Named
		if heads == nil {
			if heads, err = c.Sessions(ctx); err != nil {
				left = env.SkipStore(ctx, left, err)
			}
		}
		for f := range c.Scan(ctx, heads) {
			if isRecord(name) {
				f.Diagnoses = slices.DeleteFunc(slices.Clone(f.Diagnoses), func(d repair.Diagnosis) bool { return !strings.HasPrefix(d.Ref.String(), name) })
				if len(f.Diagnoses) == 0 {
					continue
				}
			}
			shown, last = append(shown, findingJSON(f)), f
			for _, t := range printExplained(env, f, topics) {
				if !slices.ContainsFunc(found, func(o topicJSON) bool { return o.Code == t.Code }) {
					found = append(found, t)
				}
			}
		}
	}
	if isRecord(name) && len(shown) == 0 {
		return cmp.Or(left, frame.Usagef("no finding at %s", term.Escape(name)))
	}
	env.SetAnswers(ExplainAnswer{Topics: show.NonNil(found), Sessions: show.NonNil(shown)})
	for _, t := range found {
		env.Printf("\n")
		printTopic(env.Terminal, t)
	}
	if command, _ := frame.FirstCommand(env, last); len(shown) == 1 && command != "" {
		env.Say("Next: %s", term.Command(command))
	}
	return left
}

// printExplained prints the findings of a session, and returns the topics that explain them.
func printExplained(env *frame.Env, f mend.Finding, topics []topicJSON) (found []topicJSON) {
	show.Header(env.Terminal, f.Session)
	if f.Severity() == 0 {
		env.Printf("Nothing is wrong with this session.\n")
	}
	printUnexamined(env, f)
	for _, d := range f.Diagnoses {
		env.Printf("\n%s %s\n%s\n", show.SeverityWord(d.Severity), term.Escape(d.Ref.String()), wrapped(env.Terminal, term.Escape(d.Why)))
		show.Fix(env.Terminal, d, 0)
		found = append(found, findTopics(topics, d.Rule)...)
	}
	return found
}

func printTopics(t *term.Terminal, topics []topicJSON) {
	defer t.Buffer()()
	width := t.TextWidth()
	kind := ""
	var rows []term.Row
	flush := func() {
		if kind != "" {
			t.Printf("%s\n%s\n", term.Bold(kind), term.WrapRows(rows, 0, width))
		}
		rows = nil
	}
	for _, t := range topics {
		if t.Kind != kind {
			flush()
			kind = t.Kind
		}
		rows = append(rows, term.Row{t.Code, term.FirstSentence(t.Meaning)})
	}
	flush()
	t.Printf("%s shows one of these in full.\n", term.Bold("mend explain CODE"))
}

func printTopic(t *term.Terminal, o topicJSON) {
	title := term.Bold(o.Code)
	switch {
	case o.Provider != "":
		title += term.Faint("  a rule of the " + providerName(o.Provider))
	case o.Kind == kindClass:
		title += term.Faint("  a kind of damage")
	case o.Kind == kindExit:
		title += term.Faint("  an exit code")
	}
	t.Printf("%s\n%s\n", title, wrapped(t, o.Meaning))
	rows := []term.Row{{"Error", o.Words}, {"Example", o.Example}, {"Fix", o.Fix}, {"Lost", o.Loses}, {"Update", o.Healed}, {"Tier", tierText(o)}, {"Class", string(o.Class)}, {"Rules", strings.Join(o.Rules, ", ")}}
	if o.Kind == kindExit {
		rows[0][0] = "In JSON"
	}
	rows = slices.DeleteFunc(rows, func(r term.Row) bool { return r[1] == "" })
	if len(rows) > 0 {
		t.Printf("\n%s", term.WrapRows(rows, 0, t.TextWidth()))
	}
	t.Printf("\n")
}

// tierText describes who may repair a class, "" for another topic.
func tierText(o topicJSON) string {
	if o.Kind != kindClass {
		return ""
	}
	return string(o.Tier) + ": " + o.Tier.Meaning()
}

// wrapped wraps a paragraph for the terminal.
func wrapped(t *term.Terminal, text string) string { return term.Wrap(text, t.TextWidth()) }

// providerName returns the display name of a provider's API.
func providerName(name string) string {
	names := map[string]string{
		"anthropic": "Anthropic Messages API", "openai": "OpenAI Responses API", "chat": "Chat Completions API",
		"gemini": "Gemini API", "bedrock": "Bedrock Converse API",
	}
	return cmp.Or(names[name], name)
}

func hasPrefixFold(text, start string) bool {
	return len(text) >= len(start) && strings.EqualFold(text[:len(start)], start)
}
