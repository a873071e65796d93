// strip.ts STORAGE SESSION: what upstream's hook does in TypeScript when the provider
// says that thinking is off: it reads the messages of a session and the parts of each
// answer, then the parts of those that think once more, and deletes the thinking.
// Nothing of it is flushed, and nothing is kept.
import { existsSync, readFileSync, readdirSync, unlinkSync } from "node:fs"
import { join } from "node:path"

const [storage, session] = process.argv.slice(2)
const thinking = new Set(["thinking", "redacted_thinking", "reasoning"])

function records(dir: string): { path: string; record: any }[] {
  if (!existsSync(dir)) return []
  const found = []
  for (const name of readdirSync(dir)) {
    if (!name.endsWith(".json")) continue
    try {
      const path = join(dir, name)
      found.push({ path, record: JSON.parse(readFileSync(path, "utf-8")) })
    } catch {}
  }
  return found
}

const messages = records(join(storage, "message", session)).map((m) => m.record)
messages.sort((a, b) => (a.time?.created ?? 0) - (b.time?.created ?? 0) || a.id.localeCompare(b.id))
const thinks = messages.filter(
  (m) => m.role === "assistant" && records(join(storage, "part", m.id)).some((p) => thinking.has(p.record.type)),
)
let removed = 0
for (const m of thinks) {
  for (const p of records(join(storage, "part", m.id))) {
    if (!thinking.has(p.record.type)) continue
    unlinkSync(p.path)
    removed++
  }
}
console.log(`${removed} parts removed from ${thinks.length} of ${messages.length} messages`)
