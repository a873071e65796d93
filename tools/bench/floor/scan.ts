// scan.ts DATABASE: what a TypeScript program does that looks for four faults in all
// sessions of a database: every row is parsed, and each message's parts are looked
// at together. The fastest of several ways to write it for bun: the rows one by one,
// in one query.
import { Database } from "bun:sqlite"

const db = new Database(process.argv[2], { readonly: true })
const roles = new Map<string, string>()
let parts = 0
let faults = 0

for (const row of db.query("SELECT id, data FROM message").iterate() as any) {
  roles.set(row.id, JSON.parse(row.data).role)
}

let message = ""
let says = false // the message has content
let spoke = false // something other than thinking stood before
const done = () => {
  if (message && !says && roles.get(message) === "assistant") faults++
}
for (const row of db.query("SELECT message_id, data FROM part ORDER BY message_id, id").iterate() as any) {
  const part = JSON.parse(row.data)
  parts++
  if (row.message_id !== message) {
    done()
    message = row.message_id
    says = spoke = false
  }
  switch (part.type) {
    case "tool": // a call that never ended
      if (part.state?.status === "pending" || part.state?.status === "running") faults++
      says = spoke = true
      break
    case "text": // blank
      if (part.text?.trim()) says = true
      else faults++
      spoke = true
      break
    case "reasoning": // behind what was said, or unsigned
      if (spoke || !part.metadata?.anthropic?.signature) faults++
      break
    case "step-start":
      spoke = false
      break
  }
}
done()
console.log(`${parts} parts, ${faults} faults`)
