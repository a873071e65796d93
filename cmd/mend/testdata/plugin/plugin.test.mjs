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
let tell, ask

async function plugin() {
  const { event, "chat.message": chatMessage } = await MendPlugin({ client, directory: "/p" })
  ask = (sessionID) => {
    const question = { settled: false }
    question.end = chatMessage({ sessionID }, {}).then(() => (question.settled = true))
    return question
  }
  tell = (...events) => events.forEach((e) => event({ event: e }))
}

beforeEach(async () => {
  hooks.length = 0
  spawn.fails = false
  spawn.greeting = [{ type: "hello", protocol: 1 }]
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

// Questions before a request.
const answering = [{ type: "hello", protocol: 2 }, { type: "ready", wait: 1000 }]
const questions = (hook) => hook.lines.filter((l) => l.type === "question")
const settled = async (question) => (await turn(), question.settled)

async function answeringPlugin(t) {
  hooks.length = 0
  spawn.greeting = answering
  t.mock.timers.enable({ apis: ["setTimeout"] })
  await plugin()
}

test("a prompt waits until mend has answered", async (t) => {
  await answeringPlugin(t)
  const question = ask("ses_1")
  assert.equal(await settled(question), false)
  const { id, ...rest } = questions(hooks[0]).at(-1)
  assert.equal(rest.session, "ses_1")
  assert.ok(rest.wait > 0 && rest.wait <= 1000)
  hooks[0].says({ type: "reply", id, repair: "quail" })
  assert.equal(await settled(question), true)
})

test("a prompt waits no longer than mend has said, and a mend that is late is not asked again until it answers", async (t) => {
  await answeringPlugin(t)
  const question = ask("ses_1")
  await turn()
  const { id } = questions(hooks[0]).at(-1)
  t.mock.timers.tick(1000)
  assert.equal(await settled(question), true)
  assert.equal(await settled(ask("ses_1")), true)
  hooks[0].says({ type: "call", id: 7, method: "begin", question: id })
  assert.deepEqual(hooks[0].lines.at(-1), { type: "answer", id: 7, data: false }, "no repair begins too late")
  hooks[0].says({ type: "reply", id, error: "too late" })
  const again = ask("ses_1")
  assert.equal(await settled(again), false)
})

test("a repair that has begun is waited for", async (t) => {
  await answeringPlugin(t)
  const question = ask("ses_1")
  await turn()
  const { id } = questions(hooks[0]).at(-1)
  hooks[0].says({ type: "call", id: 7, method: "begin", question: id })
  assert.deepEqual(hooks[0].lines.at(-1), { type: "answer", id: 7, data: true })
  t.mock.timers.tick(5000)
  assert.equal(await settled(question), false)
  t.mock.timers.tick(30_000)
  assert.equal(await settled(question), true, "but not for ever")
})

test("a hook that ends is waited for no longer", async (t) => {
  await answeringPlugin(t)
  const question = ask("ses_1")
  await turn()
  end(hooks[0])
  assert.equal(await settled(question), true)
})

for (const [name, greeting] of [
  ["a mend of the first protocol", [{ type: "hello", protocol: 1 }]],
  ["a mend that has it switched off", [{ type: "hello", protocol: 2 }, { type: "ready", wait: 0 }]],
  ["a mend that takes leave", [{ type: "bye", reason: "off" }]],
]) {
  test(`${name} is never waited for`, async (t) => {
    hooks.length = 0
    spawn.greeting = greeting
    t.mock.timers.enable({ apis: ["setTimeout"] })
    await plugin()
    assert.equal(await settled(ask("ses_1")), true)
    assert.equal(hooks.flatMap(questions).length, 0)
  })
}

test("a mend that says nothing costs one wait, not one for each prompt", async (t) => {
  hooks.length = 0
  spawn.greeting = []
  t.mock.timers.enable({ apis: ["setTimeout"] })
  const started = plugin()
  await turn()
  t.mock.timers.tick(1500)
  await started
  for (let n = 0; n < 5; n++) assert.equal(await settled(ask("ses_1")), true)
})

test("without mend a prompt does not wait", async (t) => {
  hooks.length = 0
  spawn.fails = true
  t.mock.timers.enable({ apis: ["setTimeout"] })
  await plugin()
  assert.equal(await settled(ask("ses_1")), true)
})
