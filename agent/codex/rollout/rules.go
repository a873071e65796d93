package rollout

import (
	"fmt"
	"slices"
	"sync"

	"mend/internal/request"
	"mend/repair"
)

// Guide explains the findings in a rollout.
func Guide() repair.Guide {
	return rules().Guide(repair.MissingHistory, repair.HiddenSession, repair.OtherProvider, repair.ToolResultMissing,
		repair.InvalidToolCall, repair.InvalidFile, repair.IncompleteRecord, repair.UnreadableRecord)
}

// sessionFix returns the Fixes of a rule that has one fix, which edits the whole session.
func sessionFix(text, loses string, edit func(d *draft) error) func(*repair.Fault) []repair.Fix {
	return func(*repair.Fault) []repair.Fix {
		return []repair.Fix{{
			Text: text, Loses: loses, Whole: true,
			Edit: func(d repair.Editor) error { return edit(d.(*draft)) },
		}}
	}
}

// blockFix returns the Fixes of a rule that has one fix, which edits the block of the finding.
func blockFix(text, loses string, edit func(d *draft, b *request.Block) error) func(*repair.Fault) []repair.Fix {
	return func(x *repair.Fault) []repair.Fix {
		return []repair.Fix{{
			Text: text, Loses: loses, Alike: true,
			Edit: func(d repair.Editor) error { return edit(d.(*draft), x.Target()) },
		}}
	}
}

// rules are the rules of Codex, and the provider's rules that Codex fixes in its own way.
var rules = sync.OnceValue(func() *repair.Rules {
	removeCompaction := func(d *draft) error {
		_, err := d.RemoveCompaction()
		return err
	}
	setProvider := func(x *repair.Fault) []repair.Fix {
		c := x.State.(*State)
		text := fmt.Sprintf("The session gets the provider %s, in the rollout and in the index.", c.src.Providers.Current)
		if slices.ContainsFunc(c.items, item.isEncrypted) {
			text += " If it rejects reasoning that " + c.provider() + " encrypted, mend fix with its error removes that."
		}
		return sessionFix(text, "", (*draft).setProvider)(x)
	}
	dropCompaction := sessionFix("The compaction is removed: the whole history is sent again.", "The summary, which "+
		"only the provider could read.", removeCompaction)
	reasoning := blockFix("The reasoning of this answer is removed. Its calls and texts stay.",
		"The encrypted reasoning, which only the provider could read, and its summary.", (*draft).dropReasoning)
	dropReasoning := func(x *repair.Fault) []repair.Fix {
		if b := x.Target(); b != nil && b.Type == request.Summary {
			return dropCompaction(x)
		}
		return reasoning(x)
	}
	return repair.NewRules(
		map[repair.Class]repair.Explanation{repair.OtherProvider: {
			Tier:    repair.Ask,
			Meaning: "The session belongs to a model provider other than the one that the agent uses for new sessions.",
			Fix:     "The session gets the provider of the settings.",
			Loses:   "Nothing. That provider may reject reasoning that the other one encrypted.",
		}},
		repair.Rule{
			Code: "rollout-name", Class: repair.HiddenSession, Severity: repair.Broken,
			Meaning: "The file is not named like a rollout of this session, so Codex does not find it.",
			Words:   "no rollout found for thread id",
			Fixes:   sessionFix("The file gets the name and the folder where Codex finds it.", "", (*draft).setName),
		},
		repair.Rule{
			Code: "session-meta", Class: repair.UnreadableRecord, Severity: repair.Broken,
			Meaning: "The first line of a rollout is not the record of its session: it is missing, torn, of another " +
				"session, or has an invalid value. Codex does not open the rollout.",
			Words: "failed to read session metadata",
			Fixes: sessionFix("The first line is rebuilt from the name of the file, the index of Codex and the other lines.",
				"", (*draft).setMeta),
		},
		repair.Rule{
			Code: "fork-base", Class: repair.MissingHistory, Severity: repair.Broken,
			Meaning: "The beginning of a fork is in the rollout of the session that it was forked from, and that rollout " +
				"does not exist. Codex does not open the fork.",
			Words: "invalid paginated history lineage … missing source rollout",
			NoFix: "Bring back the session that it was forked from.",
		},
		repair.Rule{
			Code: "fork-refused", Class: repair.MissingHistory, Severity: repair.Broken,
			Meaning: "The provider refuses the beginning of a fork, which is in the rollout of the session that it was " +
				"forked from.",
			NoFix: "Repair the session that it was forked from. Its forks then work, too.",
		},
		repair.Rule{
			Code: "fork-offset", Class: repair.MissingHistory, Severity: repair.Broken,
			Meaning: "A fork names the byte where its beginning ends in the rollout of the session that it was forked from, " +
				"and that rollout became longer or shorter. So Codex sends another beginning, or does not open the fork.",
			Words: "cutoff byte offset is past the source rollout",
			Fixes: sessionFix("The fork names the byte where its beginning ends now.", "", (*draft).setForkOffset),
		},
		repair.Rule{
			Code: "rollout-packed", Class: repair.UnreadableRecord, Severity: repair.Broken,
			Meaning: "A compressed rollout (.jsonl.zst) is cut short or damaged, so Codex does not open it.",
			Words:   "failed to scan paginated model context lineage: incomplete frame",
			NoFix: "mend does not repair that. mend restore brings back a kept copy. \"mend scan SESSION --text\" " +
				"prints what can be read.",
		},
		repair.Rule{
			Code: "rollout-empty", Class: repair.UnreadableRecord, Severity: repair.Broken, Shown: repair.NotLoaded,
			Meaning: "Nothing in the rollout can be read: no message is left.",
			NoFix: "Only a copy helps: mend restore, if mend kept one. If the file has text in another encoding than " +
				"UTF-8, such as UTF-16, a text editor can save it as UTF-8.",
		},
		repair.Rule{
			Code: "thread-path", Class: repair.HiddenSession, Severity: repair.Broken,
			Meaning: "The index of Codex (state_5.sqlite) has another path for the rollout, and no rollout is there.",
			Words:   "no rollout found for thread id",
			Fixes:   sessionFix("The index gets the path of the rollout.", "", (*draft).setPath),
		},
		repair.Rule{
			Code: "thread-elsewhere", Class: repair.HiddenSession, Severity: repair.Latent,
			Meaning: "The index of Codex names another file for the session, such as the original of a copied folder, and " +
				"Codex continues that one.",
			NoFix: "mend does not decide which of the two is right, and changes neither.",
		},
		repair.Rule{
			Code: "thread-unlisted", Class: repair.HiddenSession, Severity: repair.Broken, Shown: repair.Hidden,
			Meaning: "The index of Codex has no first message of the session. Codex does not list such a session.",
			Fixes:   sessionFix("The index gets the first prompt.", "", (*draft).setFirst),
		},
		repair.Rule{
			Code: "provider-gone", Class: repair.OtherProvider, Severity: repair.Broken,
			Meaning: "The session belongs to a model provider that is no longer in the settings of Codex (config.toml). " +
				"Codex does not continue it.",
			Words: "This chat uses model provider “…”, which is no longer configured", Fixes: setProvider,
		},
		repair.Rule{
			Code: "provider-other", Class: repair.OtherProvider, Severity: repair.Latent,
			Meaning: "The session belongs to a model provider other than the one of new sessions. Codex continues it with " +
				"its own provider; codex exec resume does not continue it.",
			Words: "Cannot change this thread's model provider from `…` to `…` on resume", Fixes: setProvider,
		},
		repair.Rule{
			Code: "thread-archived", Class: repair.HiddenSession, Severity: repair.Note, Shown: repair.Archived,
			Meaning: "The session is archived, so Codex does not list it.",
			Fixes: func(x *repair.Fault) []repair.Fix {
				if !x.State.(*State).src.Restore {
					return nil
				}
				return sessionFix("The session is no longer archived.", "The time at which it was archived.", (*draft).unarchive)(x)
			},
		},
		repair.Rule{
			Code: "ordinal-missing", Class: repair.IncompleteRecord, Severity: repair.Broken,
			Meaning: "The last record has no ordinal, for example because an older version or another tool appended it. " +
				"Codex does not open the rollout.",
			Words: "final paginated rollout record is missing an ordinal",
			Fixes: sessionFix("The lines get ordinals.", "", (*draft).setOrdinals),
		},
		repair.Rule{
			Code: "ordinal-order", Class: repair.IncompleteRecord, Severity: repair.Latent,
			Meaning: "Ordinals are missing, duplicate, or too low. Codex may leave these records out when it shows " +
				"the history.",
			Healed: "Codex 0.171.0 continues, and does not show these records.",
			Fixes:  sessionFix("The lines get ordinals, and Codex shows all of them.", "", (*draft).setOrdinals),
		},
		repair.Rule{
			Code: "line-shared", Class: repair.MissingHistory, Severity: repair.Broken,
			Meaning: "A line holds a complete record, and Codex does not read it because of what is before or after it " +
				"on the line.",
			Example: "two records on one line; NUL bytes before a record",
			Fixes:   sessionFix("Each record is put on a line of its own.", "", reread(splitRecords)),
		},
		repair.Rule{
			Code: "rollout-encoding", Class: repair.UnreadableRecord, Severity: repair.Broken,
			Meaning: "A line has bytes that are not UTF-8, and the session is not in the index of Codex. Codex then " +
				"does not open it.",
			Words: "list_turns is not supported yet",
			Fixes: sessionFix("U+FFFD (�) replaces the bytes that are not UTF-8.", "Those bytes.", reread(markInvalid)),
		},
		repair.Rule{
			Code: "line-encoding", Class: repair.MissingHistory, Severity: repair.Broken,
			Meaning: "A record has bytes that are not UTF-8. Codex skips it.",
			Fixes:   sessionFix("U+FFFD (�) replaces the bytes that are not UTF-8.", "Those bytes.", reread(markInvalid)),
		},
		repair.Rule{
			Code: "record-member", Class: repair.MissingHistory, Severity: repair.Broken,
			Meaning: "A record has a value that Codex does not accept, such as a number in place of a text, or a part of " +
				"an unknown type. Codex skips the record.",
			NoFix: "mend does not guess the right value.",
		},
		repair.Rule{
			Code: "meta-again", Class: repair.MissingHistory, Severity: repair.Broken,
			Meaning: "A session record is in the middle of the rollout, for example because two files were joined. Codex " +
				"sends nothing that is before it.",
			NoFix: "mend does not repair that. mend restore brings back a kept copy, and mend undo reverts a repair.",
		},
		repair.Rule{
			Code: "line-torn", Class: repair.LostContent, Severity: repair.Lost,
			Meaning: "A line holds only a part of a record. Codex skips it silently. What was said there is lost.",
			NoFix:   "The rest of the record is not in the file. If mend kept it: mend restore.",
		},
		repair.Rule{
			Code: "line-scrap", Class: repair.UnreadableRecord, Severity: repair.Note,
			Meaning: "A line holds no record that can be read. Codex skips it. As far as can be seen, the model misses " +
				"nothing: the line is before a compaction, about what Codex shows on the screen, or not part of a record.",
			NoFix: "It does no harm.",
		},
		repair.Rule{
			Code: "unknown-type", Class: repair.UnreadableRecord, Severity: repair.Latent,
			Meaning: "A record or an item has a type that Codex " + Version + " does not know and leaves out. A newer " +
				"version may have written it, and may send it.",
			NoFix: "Continue the session with the version that wrote it. mend judges what it knows, and leaves these " +
				"records as they are.",
		},
		repair.Rule{
			Code: "compacted-empty", Class: repair.MissingHistory, Severity: repair.Broken,
			Meaning: "A compaction replaced the history with nothing, so the model knows nothing of what was said before.",
			Fixes:   sessionFix("The compaction is removed: the whole history is sent again.", "", removeCompaction),
		},
		repair.Rule{
			Code: "O2",
			Fixes: func(x *repair.Fault) []repair.Fix {
				return sessionFix("The output is moved after its call, and the ids of the provider's items in these turns are "+
					"removed, so their content is sent in full.", "", func(d *draft) error { return d.moveAfterCall(x.Target()) })(x)
			},
		},
		repair.Rule{Code: "O4", Fixes: blockFix("The duplicate line is removed.", "", (*draft).dropCopy)},
		repair.Rule{Code: "O13", Fixes: dropReasoning},
		repair.Rule{Code: "encrypted", Fixes: dropReasoning},
		repair.Rule{
			Code: "encrypted-marker", Class: repair.EncryptedReasoning, Severity: repair.Latent,
			Meaning: "A text that is not encrypted is in the place of encrypted reasoning or of an encrypted summary, for " +
				"example because the rollout was made anonymous. A provider that checks it rejects the request.",
			Words: "could not be verified",
			NoFix: "If the provider rejects it, mend fix with its error removes encrypted reasoning, or the compaction whose " +
				"summary it cannot read.",
		},
		repair.Rule{
			Code: "O14", Class: repair.EncryptedReasoning,
			Meaning: "Reasoning has a readable text, as from another provider. This one accepts only the encrypted form.",
			Fix:     "The text of the reasoning is removed. Its encrypted form and its summary stay.",
			Loses:   "The text of the reasoning.",
			Why: func(*repair.Fault) string {
				return "Reasoning would be sent with a text beside its encrypted form; the provider rejects that."
			},
			Fixes: blockFix("The text of the reasoning is removed. Its encrypted form and its summary stay.",
				"The text of the reasoning.", func(d *draft, b *request.Block) error {
					return d.setMember(b, []byte("null"), "content")
				}),
		},
	)
})
