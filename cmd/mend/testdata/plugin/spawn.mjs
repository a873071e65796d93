// In place of node:child_process: hooks that do as a test says.
import { EventEmitter } from "node:events"

export const hooks = []

export function spawn() {
  if (spawn.fails) throw new Error("no process can be started")
  const hook = new EventEmitter()
  const lines = []
  Object.assign(hook, {
    lines, // that it was sent
    dead: false,
    events: () => lines.filter((l) => l.type === "event").map((l) => l.event.properties.sessionID ?? l.event.properties.info.sessionID),
    says: (line) => hook.stdout.emit("data", JSON.stringify(line) + "\n"),
    kill: () => (hook.dead = true),
    // The hook dies: at first nobody knows, and what it is sent is lost.
    dies: () => (hook.dead = true),
    isKnownDead: () => hook.emit("exit"),
    unref() {},
    stdin: Object.assign(new EventEmitter(), {
      writable: true,
      writableLength: 0,
      write: (text) => hook.dead || lines.push(JSON.parse(text)),
    }),
    stdout: Object.assign(new EventEmitter(), { setEncoding() {}, destroy() {} }),
  })
  hooks.push(hook)
  return hook
}
