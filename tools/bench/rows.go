package main

// The commands that the table is made of.
const (
	readTree = iota
	statTree
	scanTree
	bunTree
	againTree
	empty
	readDB
	scanDB
	bunDB
	againDB
	keepDB
	readTranscripts
	statTranscripts
	scanTranscripts
	bunTranscripts
	againTranscripts
	commands
)

var rows = []row{
	{"full scan of a tree", "÷ C: read all, 2 threads", scanTree, readTree, ratio, 2.5},
	{"full scan of a tree", "CPU ÷ C: read all, 2 threads", scanTree, readTree, cpuRatio, 2.5},
	{"full scan of a tree", "upstream's way on bun, in one pass ÷ mend", scanTree, bunTree, gain, 1.3},
	{"full scan of a tree", "CPU of upstream's way on bun ÷ mend", scanTree, bunTree, cpuGain, 1.3},
	{"scan the tree again, nothing changed", "÷ C: stat all, 2 threads", againTree, statTree, ratio, 2},
	{"memory of a scan of a tree", "peak", scanTree, empty, memory, 50},
	{"full scan of a database", "bun:sqlite with JSON.parse ÷ mend", scanDB, bunDB, gain, 1.3},
	{"full scan of a database", "CPU of bun:sqlite with JSON.parse ÷ mend", scanDB, bunDB, cpuGain, 1.3},
	{"scan the database again, nothing changed", "beyond an empty Go program", againDB, empty, over, 15},
	{"memory of a scan of a database", "peak", scanDB, empty, memory, 50},
	{"first keep of a database", "÷ scan", keepDB, scanDB, ratio, 3},
	{"full scan of transcripts of Claude Code", "÷ C: read all and walk the bytes, 2 threads", scanTranscripts, readTranscripts, ratio, 2.5},
	{"full scan of transcripts of Claude Code", "JSON.parse on bun, in one pass ÷ mend", scanTranscripts, bunTranscripts, gain, 1.3},
	{"scan the transcripts again, nothing changed", "÷ C: stat all, 2 threads", againTranscripts, statTranscripts, ratio, 2},
	{"memory of a scan of transcripts", "peak", scanTranscripts, empty, memory, 66},
}

// measured are the goals of what benchmarks of internal/mend measure, by the names that they give their rows
// and their figures.
var measured = []struct {
	work, benchmark string
	name, unit      string
	measure         string
	goal            float64
}{
	{"check before a request", "Preflight", "database/200_messages", "cpu-ms/op", "CPU ms", 10},
	{"check before a request", "Preflight", "database/2000_messages", "cpu-ms/op", "CPU ms", 60},
	{"check before a request", "Preflight", "tree/2000_messages", "of-reading", "CPU ÷ reading the session's files, in Go", 1.5},
	{"keep at the end of a turn", "KeepTurn", "database/200_messages", "cpu-ms/op", "CPU ms", 50},
	{"keep at the end of a turn", "KeepTurn", "database/2000_messages", "cpu-ms/op", "CPU ms", 50},
	{"keep at the end of a turn", "KeepTurn", "database/20000_messages", "cpu-ms/op", "CPU ms", 500},
	{"keep at the end of a turn", "KeepTurn", "transcript/2000_messages", "cpu-ms/op", "CPU ms", 50},
	{"keep at the end of a turn", "KeepTurn", "transcript/20000_messages", "cpu-ms/op", "CPU ms", 500},
	{"keep at the end of a turn", "KeepTurn", "tree/2000_messages", "cpu-ms/op", "CPU ms", 50},
	{"first copy of a session", "KeepTurn", "database/200_messages", "of-session", "keep.db ÷ size of the session", 0.4},
	{"first copy of a session", "KeepTurn", "database/2000_messages", "of-session", "keep.db ÷ size of the session", 0.4},
	{"salvage of a database of 216 MB", "Salvage", "database", "of-copy", "÷ copy of the file, in Go", 4},
}
