// A replacement of node:child_process: hooks that a test controls.
import { EventEmitter } from "node:events"

export const hooks = []

// greeting has the lines with which a hook answers a hello: by default it supports only protocol 1.
spawn.greeting = [{ type: "hello", protocol: 1 }]

export function spawn() {
  if (spawn.fails) throw new Error("no process can be started")
  const hook = new EventEmitter()
  const lines = []
  Object.assign(hook, {
    lines, // the lines that it was sent
    dead: false,
    events: () => lines.filter((l) => l.type === "event").map((l) => l.event.properties.sessionID ?? l.event.properties.info.sessionID),
    says: (line) => hook.stdout.emit("data", JSON.stringify(line) + "\n"),
    kill: () => (hook.dead = true),
    // The hook dies. The plugin does not know it until isKnownDead, and lines sent to the hook are lost.
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
