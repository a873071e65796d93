// strip.ts STORAGE SESSION: what upstream's hook does in TypeScript when the provider
// says that thinking is off: it reads the messages of a session and the parts of each
// answer, then the parts of those that think once more, and deletes the thinking.
// Nothing of it is flushed, and nothing is kept.
import { unlinkSync } from "node:fs"
import { join } from "node:path"
import { messages, records, thinks } from "./records"

const [storage, session] = process.argv.slice(2)
const parts = (message: any) => records(join(storage, "part", message.id))

const all = messages(storage, session)
const found = all.filter((m) => m.role === "assistant" && parts(m).some((p) => thinks(p.record)))
let removed = 0
for (const m of found) {
  for (const p of parts(m)) {
    if (!thinks(p.record)) continue
    unlinkSync(p.path)
    removed++
  }
}
console.log(`${removed} parts removed from ${found.length} of ${all.length} messages`)
