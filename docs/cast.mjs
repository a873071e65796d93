// Makes the first frame of a recording the answer of its first command, for readers that do
// not play it: node cast.mjs FILE. Everything before the first pause becomes one event.
import { readFileSync, writeFileSync } from "node:fs"

const PAUSE = 1 // seconds
const file = process.argv[2]
const [header, ...events] = readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line))
const end = events.findIndex(([time], i) => i + 1 < events.length && events[i + 1][0] - time > PAUSE)
const first = [0, "o", events.slice(0, end + 1).map(([, , text]) => text).join("")]
const shift = events[end][0]
const rest = events.slice(end + 1).map(([time, kind, text]) => [time - shift, kind, text])
writeFileSync(file, [header, first, ...rest].map((line) => JSON.stringify(line) + "\n").join(""))
