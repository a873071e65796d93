package main

// The commands that the table is made of. Those that write put back what they
// changed, or are put back, so their order counts.
const (
	nothing = iota
	flushed
	readTree
	statTree
	loadTree
	scanTree
	bunOnePass
	bunFivePasses
	againTree
	changedTree
	readCold
	scanCold
	readDB
	statDB
	scanDB
	bunDB
	againDB
	readVariedTree
	scanVariedTree
	bunVariedDB
	scanVariedDB
	readTranscripts
	statTranscripts
	scanTranscripts
	bunTranscripts
	againTranscripts
	repairTranscript
	undoTranscript
	first
	status
	logFew
	showFew
	logMany
	showMany
	repairCounted
	undo
	repair
	undoCounted
	stripFloor
	stripBun
	strip
	rewriteFloor
	rewrite
	commands
)

// Why goals are missed, as profiles tell it.
const (
	whyScan  = "Three fifths are calls, of which mend makes one more for each file than C, for its stamp. A sixteenth is looking through the JSON, an eighth the loading and simulation of sessions that do not show at a glance that nothing is wrong."
	whyRead  = "The calls are C's, and one more for each file, for its stamp. Where calls are dear, as in a virtual machine, that one is most of what the goal allows."
	whyStat  = "The calls are C's; the rest is the start of the process, the memory that it touches first, and sorting and summing up the stamps."
	whyDB    = "A third is SQLite, as much the sessions that are loaded and simulated since they do not show at a glance that nothing is wrong; a seventh is looking through the JSON. To read the file format without SQLite was tried, and saved a tenth."
	whyFloor = whyDB + " The system reads a file that it keeps in large pages several times as fast as another: then to look at each byte of JSON once, on two cores, takes most of what the goal allows."
	whyFirst = "A third of the time until then is the start of the process, the rest the list of the sessions and one that is loaded and simulated whole."
	whyUndo  = "More than half is the start of the process, as the row about mend without a verb tells."
	whyStart = "A process that links the same libraries and does nothing takes twice what an empty one does."
	whyProof = "A quarter is reading the session, a sixth the plan and its proof, for which the session is rendered and checked as every version of the agent would send it, before the change and after. " +
		"The rest is the journal, which keeps both images of each record, compressed and sealed, the change itself, and their flushes (`go test ./txn -bench Rewrite` has these alone)."
)

var rows = []row{
	{"full scan of the tree", "÷ C: read all, 2 threads", scanTree, readTree, ratio, 1.8, whyScan},
	{"the reading alone", "÷ C: read all, 2 threads", loadTree, readTree, ratio, 1.15, whyRead},
	{"full scan of the tree", "upstream's way on bun, in one pass ÷ mend", scanTree, bunOnePass, gain, 3, whyScan},
	{"full scan of the tree", "upstream's way on bun, as it runs ÷ mend", scanTree, bunFivePasses, gain, 13, whyScan},
	{"full scan of the tree, cold cache", "÷ C: read all, 32 threads", scanCold, readCold, ratio, 1.3, ""},
	{"scan the tree again, nothing changed", "÷ C: stat all, 2 threads", againTree, statTree, ratio, 1.3, whyStat},
	{"scan the tree again, one session changed", "÷ the same with nothing changed", changedTree, againTree, ratio, 1.05, ""},
	{"full scan of the database", "÷ C: read the file once", scanDB, readDB, ratio, 2.5, whyFloor},
	{"full scan of the database", "bun:sqlite with JSON.parse ÷ mend", scanDB, bunDB, gain, 4, whyDB},
	{"scan the database again, nothing changed", "÷ Go: stat of the file and its -wal", againDB, statDB, ratio, 1.5, whyStart},
	{"full scan of a varied tree", "÷ C: read all, 2 threads", scanVariedTree, readVariedTree, ratio, 2.5, ""},
	{"full scan of a varied database", "bun:sqlite with JSON.parse ÷ mend", scanVariedDB, bunVariedDB, gain, 1.5, ""},
	{"memory of a scan of a varied tree", "peak", scanVariedTree, nothing, memory, 50, ""},
	{"memory of a scan of a varied database", "peak", scanVariedDB, nothing, memory, 50, ""},
	{"full scan of transcripts of Claude Code", "÷ C: read all and walk the bytes, 2 threads", scanTranscripts, readTranscripts, ratio, 2.5, whyLines},
	{"full scan of transcripts of Claude Code", "JSON.parse on bun, in one pass ÷ mend", scanTranscripts, bunTranscripts, gain, 1.3, ""},
	{"scan the transcripts again, nothing changed", "beyond twice C: stat all, 2 threads", againTranscripts, statTranscripts, over, 20, ""},
	{"memory of a scan of transcripts", "peak", scanTranscripts, nothing, memory, 66, ""},
	{"repair of one line of a transcript", "beyond a Go program with 6 flushes", repairTranscript, flushed, over, 50, ""},
	{"undo of it", "beyond a Go program with 6 flushes", undoTranscript, flushed, over, 50, ""},
	{"first finding, three times the parts", "share of the scan", first, first, share, 2, whyFirst},
	{"strip thinking from a session of 500 messages", "÷ C: read, journal, fsync, unlink, syncfs", strip, stripFloor, ratio, 1.3, whyProof},
	{"strip thinking from a session of 500 messages", "upstream's way on bun ÷ mend", strip, stripBun, gain, 1, whyProof},
	{"1,000 part files rewritten in one repair", "÷ renameio one by one", rewrite, rewriteFloor, ratio, 0.5, whyProof},
	{"repair of one part", "flushes, journal not growing", repairCounted, nothing, flushes, 6, ""},
	{"undo of it", "flushes, journal not growing", undoCounted, nothing, flushes, 6, ""},
	{"undo of it", "beyond a Go program with 6 flushes", undo, flushed, over, 15, whyUndo},
	{"mend", "beyond an empty Go program", status, nothing, over, 15, ""},
	{"log -n 20", "beyond an empty Go program", logMany, nothing, over, 15, ""},
	{"show ID", "beyond an empty Go program", showMany, nothing, over, 15, ""},
	{"log -n 20 after 10,000 repairs", "÷ after 20", logMany, logFew, ratio, 1.1, ""},
	{"show ID after 10,000 repairs", "÷ after 20", showMany, showFew, ratio, 1.1, ""},
}
