// In place of node:child_process: hooks that do as a test says.
import { EventEmitter } from "node:events"

export const hooks = []

// greeting is what a hook says to a hello: this one speaks the first protocol. It answers
// the question of the start.
spawn.greeting = [{ type: "hello", protocol: 1 }]

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
      write: (text) => {
        if (hook.dead) return
        const line = JSON.parse(text)
        lines.push(line)
        if (line.type === "hello") for (const l of spawn.greeting) hook.says(l)
        if (line.type === "question" && !line.session) hook.says({ type: "reply", id: line.id })
      },
    }),
    stdout: Object.assign(new EventEmitter(), { setEncoding() {}, destroy() {} }),
  })
  hooks.push(hook)
  return hook
}
