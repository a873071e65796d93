// What upstream's hook reads a tree by.
import { existsSync, readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"

const types = new Set(["thinking", "redacted_thinking", "reasoning"])
export const thinks = (part: any): boolean => types.has(part.type)

// records is what stands in the files of a folder; those that cannot be read are left out.
export function records(dir: string): { path: string; record: any }[] {
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

// messages is those of a session, in their order.
export function messages(storage: string, session: string): any[] {
  const all = records(join(storage, "message", session)).map((m) => m.record)
  return all.sort((a, b) => (a.time?.created ?? 0) - (b.time?.created ?? 0) || a.id.localeCompare(b.id))
}
