// What the plugin does when its hook ends. It is run by TestPluginRestarts, with
// the plugin and spawn.mjs beside it.
import assert from "node:assert/strict"
import { beforeEach, test } from "node:test"
import { MendPlugin } from "./plugin.mjs"
import { hooks, spawn } from "./spawn.mjs"

const prompt = (session, created = 1) => ({ type: "message.updated", properties: { info: { id: "msg_1", sessionID: session, role: "user", time: { created } } } })
const refused = (session) => ({ type: "session.error", properties: { sessionID: session, error: { name: "APIError" } } })
const failed = (session) => ({
  type: "message.updated",
  properties: { info: { id: "msg_2", sessionID: session, role: "assistant", error: { name: "APIError" }, time: { created: 2, completed: 3 } } },
})
const well = (session, created) => ({ type: "message.updated", properties: { info: { id: "msg_3", sessionID: session, role: "assistant", time: { created, completed: created } } } })
const deleted = (session) => ({ type: "session.deleted", properties: { info: { id: session } } })
const turn = () => new Promise((done) => setImmediate(done))

const client = { session: { messages: async () => ({ data: [] }) }, tui: {} }
let tell

async function plugin() {
  const { event } = await MendPlugin({ client, directory: "/p" })
  tell = (...events) => events.forEach((e) => event({ event: e }))
}

beforeEach(async () => {
  hooks.length = 0
  spawn.fails = false
  client.session.messages = async () => ({ data: [] })
  await plugin()
})

const end = (hook) => {
  hook.dies()
  hook.isKnownDead()
}

for (const error of [refused, failed]) {
  test(`${error.name}: a hook dies behind the error, and the next one hears of it at once`, () => {
    tell(prompt("ses_1"), error("ses_1"))
    end(hooks[0])
    assert.equal(hooks.length, 2)
    assert.deepEqual(hooks[1].events(), ["ses_1"])
    assert.equal(hooks[1].lines[0].type, "hello")
    assert.equal(hooks[1].lines[0].since, hooks[0].lines[0].since)
  })

  test(`${error.name}: a hook is dead before the error, and nobody knows yet`, () => {
    tell(prompt("ses_1"))
    hooks[0].dies()
    tell(error("ses_1"))
    hooks[0].isKnownDead()
    assert.deepEqual(hooks[1].events(), ["ses_1"])
  })

  test(`${error.name}: a hook no longer reads`, () => {
    tell(prompt("ses_1"))
    hooks[0].stdin.writableLength = 2 << 20
    tell(error("ses_1"))
    assert.deepEqual(hooks[0].events(), ["ses_1"], "of the prompt alone")
    end(hooks[0])
    assert.deepEqual(hooks[1].events(), ["ses_1"])
  })
}

test("the broken pipe is seen before the exit", () => {
  tell(prompt("ses_1"))
  hooks[0].dies()
  tell(failed("ses_1"))
  hooks[0].stdin.emit("error", new Error("EPIPE"))
  hooks[0].isKnownDead()
  assert.equal(hooks.length, 2)
  assert.deepEqual(hooks[1].events(), ["ses_1"])
})

test("the first event starts a hook, which hears it once", () => {
  tell(failed("ses_1"))
  assert.equal(hooks.length, 1)
  assert.deepEqual(hooks[0].events(), ["ses_1"])
})

test("each session is told once, with its newest error", () => {
  tell(failed("ses_1"), failed("ses_2"), refused("ses_1"), failed("ses_1"))
  end(hooks[0])
  assert.deepEqual(hooks[1].events(), ["ses_2", "ses_1"])
})

test("without an open error a hook is started with the next event", () => {
  tell(prompt("ses_1"))
  end(hooks[0])
  assert.equal(hooks.length, 1)
  tell(prompt("ses_2"))
  assert.deepEqual(hooks[1].events(), ["ses_2"])
})

test("an error is open until a later turn ends well, or the session is gone", () => {
  tell(failed("ses_1"), failed("ses_2"), failed("ses_3"))
  tell(well("ses_1", 1), prompt("ses_1", Date.now() + 1000), well("ses_2", Date.now() + 1000), deleted("ses_3"))
  end(hooks[0])
  assert.deepEqual(hooks[1].events(), ["ses_1"])
})

test("an error without a session is not kept", () => {
  tell({ type: "session.error", properties: { error: { name: "APIError" } } })
  end(hooks[0])
  assert.equal(hooks.length, 1)
})

test("hooks that always die are given up", () => {
  tell(failed("ses_1"))
  for (let n = 0; n < 10; n++) hooks.forEach(end)
  tell(failed("ses_1"), prompt("ses_1"))
  assert.equal(hooks.length, 3)
})

test("hooks that die after long are given up for the error", (t) => {
  const clock = Date.now
  t.after(() => (Date.now = clock))
  let hours = 0
  Date.now = () => clock() + hours * 3_600_000
  tell(failed("ses_1"))
  for (; hours < 10; hooks.forEach(end)) hours++
  assert.equal(hooks.length, 4, "the first, and three that were told again")
  tell(failed("ses_1"))
  assert.equal(hooks.length, 5)
})

test("a hook that takes leave is not started again", () => {
  tell(failed("ses_1"))
  hooks[0].says({ type: "bye", reason: "off" })
  hooks[0].isKnownDead()
  tell(failed("ses_1"))
  assert.equal(hooks.length, 1)
})

test("no further process can be started: the agent takes no harm", () => {
  tell(failed("ses_1"))
  spawn.fails = true
  end(hooks[0])
  spawn.fails = false
  tell(failed("ses_1"))
  assert.equal(hooks.length, 1)
})

test("an answer goes to the hook that asked", async () => {
  let answerOld
  client.session.messages = () => new Promise((done) => (answerOld = () => done({ data: [] })))
  tell(failed("ses_1"))
  const call = { type: "call", id: 1, method: "messages", session: "ses_1" }
  hooks[0].says(call)
  end(hooks[0])
  hooks[1].says({ ...call, method: "explode" })
  await turn()
  answerOld()
  await turn()
  const answers = hooks[1].lines.filter((l) => l.type === "answer")
  assert.deepEqual(answers, [{ type: "answer", id: 1, error: "unknown method explode" }])
})

test("what is kept is bounded", () => {
  for (let n = 0; n < 1000; n++) tell(failed(`ses_${n}`))
  end(hooks[0])
  assert.equal(hooks[1].events().length, 32)
  assert.equal(hooks[1].events().at(-1), "ses_999")
})
