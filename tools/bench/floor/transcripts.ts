// transcripts.ts PROJECTS: each line of each transcript of Claude Code is parsed once, and its blank
// texts are counted: the least that a scan in TypeScript does.
import { readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"

const [projects] = process.argv.slice(2)
let records = 0
let blank = 0
for (const project of readdirSync(projects)) {
  for (const name of readdirSync(join(projects, project))) {
    if (!name.endsWith(".jsonl")) continue
    for (const line of readFileSync(join(projects, project, name), "utf-8").split("\n")) {
      if (line === "") continue
      const { message } = JSON.parse(line)
      records++
      if (!Array.isArray(message?.content)) continue
      for (const block of message.content) if (block.type === "text" && !block.text?.trim()) blank++
    }
  }
}
console.log(`${records} records, ${blank} blank texts`)
