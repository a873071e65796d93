// tree.ts STORAGE PASSES: what upstream's hook does in TypeScript to find what is wrong
// in all sessions of a tree, by five searches. In one pass each record is read once for
// all of them; as it runs, in five, once for each.
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { messages, records, thinks } from "./records"

const [storage, passes] = process.argv.slice(2)
const says = (p: any) => (p.type === "text" ? !!p.text?.trim() : ["tool", "tool_use", "tool_result"].includes(p.type))

type Search = (role: string, parts: any[]) => boolean
const searches: Search[] = [
  (_, parts) => !parts.some(says), // empty messages
  (_, parts) => parts.some((p) => p.type === "text" && !p.text?.trim()), // blank texts
  (role, parts) => role === "assistant" && parts.some(thinks),
  (role, parts) => role === "assistant" && parts.some(thinks) && !parts.some(says),
  (role, parts) => {
    if (role !== "assistant" || parts.length === 0) return false
    const first = [...parts].sort((a, b) => a.id.localeCompare(b.id))[0]
    return !thinks(first)
  },
]

function search(session: string, wanted: Search[]): number {
  let hits = 0
  for (const m of messages(storage, session)) {
    const parts = records(join(storage, "part", m.id)).map((p) => p.record)
    for (const s of wanted) if (s(m.role, parts)) hits++
  }
  return hits
}

let hits = 0
for (const session of readdirSync(join(storage, "message"))) {
  if (passes === "1") hits += search(session, searches)
  else for (const s of searches) hits += search(session, [s])
}
console.log(`${hits} hits`)
