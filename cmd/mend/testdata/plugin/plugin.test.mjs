// Tests of the plugin when its hook ends. TestPluginRestarts runs this file, with the plugin
// and spawn.mjs beside it.
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

const toasts = []
const client = { session: { messages: async () => ({ data: [] }) }, tui: { showToast: async ({ body }) => toasts.push(body.message) } }
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
  toasts.length = 0
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
  test(`${error.name}: a hook dies after the error, and the next one gets the error at once`, () => {
    tell(prompt("ses_1"), error("ses_1"))
    end(hooks[0])
    assert.equal(hooks.length, 2)
    assert.deepEqual(hooks[1].events(), ["ses_1"])
    assert.equal(hooks[1].lines[0].type, "hello")
    assert.equal(hooks[1].lines[0].since, hooks[0].lines[0].since)
  })

  test(`${error.name}: a hook dies before the error, and the plugin does not know it yet`, () => {
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

test("the first event starts a hook, which gets the event once", () => {
  tell(failed("ses_1"))
  assert.equal(hooks.length, 1)
  assert.deepEqual(hooks[0].events(), ["ses_1"])
})

test("each session is reported once, with its newest error", () => {
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

test("an error is open until a later turn succeeds, or the session is deleted", () => {
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

test("the user is told once that mend is missing, if there is a screen", async () => {
  tell(failed("ses_1"))
  for (let n = 0; n < 10; n++) hooks.forEach(end)
  await turn()
  assert.deepEqual(toasts, [])
  for (let n = 0; n < 2; n++) await ask("ses_1").end
  await turn()
  assert.equal(toasts.length, 1)
  assert.match(toasts[0], /mend does not run/)
})

test("no notification is shown for a hook that says bye", async () => {
  tell(failed("ses_1"))
  hooks[0].says({ type: "bye", reason: "off" })
  await ask("ses_1").end
  await turn()
  assert.deepEqual(toasts, [])
})

test("hooks that die after a long time are given up for the error", (t) => {
  const clock = Date.now
  t.after(() => (Date.now = clock))
  let hours = 0
  Date.now = () => clock() + hours * 3_600_000
  tell(failed("ses_1"))
  for (; hours < 10; hooks.forEach(end)) hours++
  assert.equal(hooks.length, 4, "the first, and three that got the error again")
  tell(failed("ses_1"))
  assert.equal(hooks.length, 5)
})

test("a hook that says bye is not started again", () => {
  tell(failed("ses_1"))
  hooks[0].says({ type: "bye", reason: "off" })
  hooks[0].isKnownDead()
  tell(failed("ses_1"))
  assert.equal(hooks.length, 1)
})

test("no further process can be started: the agent continues", () => {
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

test("Kilo, which answers no synthetic prompt, gets a prompt with a mark", async (t) => {
  const sent = []
  client.session.promptAsync = async ({ body }) => (sent.push(body.parts), {})
  t.after(() => delete client.global)
  tell(failed("ses_1"))
  for (const version of ["1.18.34", "7.7.9"]) {
    client.global = { health: async () => ({ data: { version } }) }
    hooks[0].says({ type: "call", id: 1, method: "prompt", session: "ses_1", body: { parts: [{ type: "text", text: "go on", synthetic: true }, { type: "file", url: "x" }] } })
    await turn()
  }
  assert.deepEqual(sent, [
    [{ type: "text", text: "go on", synthetic: true }, { type: "file", url: "x" }],
    [{ type: "text", text: "go on\n<!-- OMO_INTERNAL_INITIATOR -->", synthetic: false }, { type: "file", url: "x" }],
  ])
})

test("the number of kept errors is limited", () => {
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

test("a prompt waits no longer than mend allows, and a late mend is not asked again until it answers", async (t) => {
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

test("a prompt waits for a repair that has begun", async (t) => {
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

test("a prompt no longer waits for a hook that ends", async (t) => {
  await answeringPlugin(t)
  const question = ask("ses_1")
  await turn()
  end(hooks[0])
  assert.equal(await settled(question), true)
})

for (const [name, greeting] of [
  ["a mend with protocol 1", [{ type: "hello", protocol: 1 }]],
  ["a mend with questions switched off", [{ type: "hello", protocol: 2 }, { type: "ready", wait: 0 }]],
  ["a mend that says bye", [{ type: "bye", reason: "off" }]],
]) {
  test(`a prompt never waits for ${name}`, async (t) => {
    hooks.length = 0
    spawn.greeting = greeting
    t.mock.timers.enable({ apis: ["setTimeout"] })
    await plugin()
    assert.equal(await settled(ask("ses_1")), true)
    assert.equal(hooks.flatMap(questions).length, 0)
  })
}

test("a silent mend costs one wait, not one for each prompt", async (t) => {
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

// The other hooks: mend names the hooks in which the plugin asks it.

const ready = { type: "ready", wait: 10, hooks: { "tool.execute.before": 1000, "experimental.chat.messages.transform": 1000 }, activity: 1000 }

async function hookedPlugin(t, greeting = [{ type: "hello", protocol: 2 }, ready]) {
  hooks.length = 0
  spawn.greeting = greeting
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] })
  return await MendPlugin({ client, directory: "/p" })
}

const outcome = (promise) => promise.then((value) => ({ value }), (error) => ({ error: error.message }))
const call = (tool) => ({ tool, sessionID: "ses_1", callID: "c1" })
const asked = () => hooks[0].lines.filter((l) => l.type === "question" && l.hook)
const told = (type) => hooks[0].lines.filter((l) => l.type === "event" && l.event.type === type).map((l) => l.event)

test("a write is refused if mend says so, and only then", async (t) => {
  const p = await hookedPlugin(t)
  const before = p["tool.execute.before"]
  const refused = outcome(before(call("write"), { args: { filePath: "/a", content: "x".repeat(9) } }))
  const { id, hook, session, call: sent } = asked()[0]
  assert.deepEqual([hook, session, sent.args], ["tool.execute.before", "ses_1", { filePath: "/a" }], "without the content")
  hooks[0].says({ type: "reply", id, refuse: "read it first" })
  assert.deepEqual(await refused, { error: "read it first" })
  const allowed = outcome(before(call("write"), { args: 7 }))
  hooks[0].says({ type: "reply", id: id + 1 })
  assert.deepEqual(await allowed, { value: undefined })
  const strange = outcome(before(call("write"), { args: {} }))
  hooks[0].says({ type: "reply", id: id + 2, refuse: { toString: 7 } })
  assert.deepEqual(await strange, { value: undefined })
})

test("a mend that is late or dies refuses no write", async (t) => {
  const p = await hookedPlugin(t)
  const before = () => outcome(p["tool.execute.before"](call("write"), { args: { filePath: "/a" } }))
  const late = before()
  t.mock.timers.tick(1000)
  assert.deepEqual(await late, { value: undefined })
  assert.deepEqual(await before(), { value: undefined }, "it is not asked again until it has answered")
  assert.equal(asked().length, 1)
  hooks[0].says({ type: "reply", id: asked()[0].id, refuse: "too late" })
  const dying = before()
  end(hooks[0])
  assert.deepEqual(await dying, { value: undefined })
})

test("an edit waits until mend has seen the file", async (t) => {
  const p = await hookedPlugin(t)
  let began = false
  const before = p["tool.execute.before"](call("edit"), { args: { filePath: "/a", oldString: "x" } }).then(() => (began = true))
  await new Promise(setImmediate)
  assert.equal(began, false)
  const { id, call: sent } = asked()[0]
  assert.deepEqual([sent.tool, sent.args], ["edit", { filePath: "/a" }])
  hooks[0].says({ type: "reply", id })
  await before
})

test("calls of file tools are reported without waiting", async (t) => {
  const p = await hookedPlugin(t)
  for (const tool of ["read", "edit", "bash"]) {
    if (tool !== "edit") await p["tool.execute.before"](call(tool), { args: { filePath: "/a", oldString: "x", offset: 3 } })
    await p["tool.execute.after"](call(tool), { output: "1: x", metadata: { truncated: false } })
  }
  assert.deepEqual(told("tool.execute.before").map((e) => [e.directory, e.properties.tool, e.properties.args]), [
    ["/p", "read", { filePath: "/a", offset: 3 }],
  ])
  assert.deepEqual(told("tool.execute.after").map((e) => [e.properties.tool, e.properties.output, e.properties.truncated]), [
    ["read", "1: x", false],
    ["edit", undefined, undefined],
  ])
})

const failure = (id, text = "oldString not found") => ({ id, type: "tool", tool: "edit", state: { status: "error", error: text } })
const request = (...parts) => ({ messages: [{ info: { sessionID: "ses_1" }, parts: [{ type: "text", text: "hi" }, ...parts] }] })

test("failed calls get the same text in every request, also without mend", async (t) => {
  const p = await hookedPlugin(t)
  const send = async (...parts) => {
    const output = request(...parts)
    const { length } = asked()
    const done = p["experimental.chat.messages.transform"]({}, output)
    if (asked().length > length) {
      const { id, failed } = asked().at(-1)
      hooks[0].says({ type: "reply", id, append: failed.filter((f) => f.part !== "prt_2").map((f) => ({ part: f.part, text: "[mend] read it" })) })
    }
    await done
    return output.messages[0].parts.slice(1).map((part) => part.state.error ?? part.state.output)
  }
  assert.deepEqual(await send(failure("prt_1"), failure("prt_2", "other")), ["oldString not found\n[mend] read it", "other"])
  const invalid = { id: "prt_3", type: "tool", tool: "invalid", state: { status: "completed", output: "no JSON" } }
  const bash = { id: "prt_4", type: "tool", tool: "bash", state: { status: "completed", output: "oldString not found" } }
  assert.deepEqual(await send(failure("prt_1"), invalid, bash), ["oldString not found\n[mend] read it", "no JSON\n[mend] read it", "oldString not found"])
  assert.deepEqual(asked().map((q) => q.failed.map((f) => f.part)), [["prt_1", "prt_2"], ["prt_3"]], "each is asked about once")
  const same = failure("prt_1")
  await send(same)
  assert.deepEqual(await send(same), ["oldString not found\n[mend] read it"], "once, also in an object that is used again")
  end(hooks[0])
  assert.deepEqual(await send(failure("prt_1")), ["oldString not found\n[mend] read it"])
})

test("a call that was sent without a text never gets one", async (t) => {
  const p = await hookedPlugin(t)
  const first = p["experimental.chat.messages.transform"]({}, request(failure("prt_1")))
  t.mock.timers.tick(1000)
  await first
  hooks[0].says({ type: "reply", id: asked()[0].id, append: [{ part: "prt_1", text: "[mend] read it" }] })
  const output = request(failure("prt_1"))
  await p["experimental.chat.messages.transform"]({}, output)
  assert.equal(output.messages[0].parts[1].state.error, "oldString not found")
  assert.equal(asked().length, 1)
})

test("replies of any form do no harm", async (t) => {
  const p = await hookedPlugin(t)
  for (const reply of [{ append: 7 }, { append: [{ part: "prt_9", text: 7 }] }, {}]) {
    const output = request(failure("prt_9"))
    const done = p["experimental.chat.messages.transform"]({}, output)
    if (asked().length > 0) hooks[0].says({ type: "reply", id: asked().at(-1).id, ...reply })
    await done
    assert.equal(output.messages[0].parts[1].state.error, "oldString not found")
  }
})

test("the activity of a subagent is reported at intervals, and its tools when they change", async (t) => {
  const p = await hookedPlugin(t)
  const happens = (type, properties) => p.event({ event: { type, properties } })
  const part = (sessionID, type, status) => ({ part: { sessionID, type, tool: "bash", callID: "c1", state: status && { status, output: "secret" } } })
  await happens("session.created", { info: { id: "ses_1" } })
  await happens("message.part.updated", part("ses_1", "text"))
  await happens("session.created", { info: { id: "ses_2", parentID: "ses_1", title: "look" } })
  for (let n = 0; n < 9; n++) await happens("message.part.delta", { sessionID: "ses_2", delta: "x" })
  for (const status of ["running", "running", "completed"]) await happens("message.part.updated", part("ses_2", "tool", status))
  t.mock.timers.tick(1000)
  await happens("message.part.updated", part("ses_2", "text"))
  await happens("session.status", { sessionID: "ses_2", status: { type: "busy" } })
  const seen = told("mend.activity").map(({ properties: e }) => [e.sessionID, e.parentID, e.title, e.part?.status ?? e.part?.type ?? e.status?.type])
  assert.deepEqual(seen.map((e) => e[3]), [undefined, "running", "completed", "text", "busy"])
  assert.deepEqual(seen[0].slice(0, 3), ["ses_2", "ses_1", "look"])
  assert.ok(!JSON.stringify(hooks[0].lines).includes("secret"))
})

test("a mend that does not want these hooks gets no lines about them", async (t) => {
  const p = await hookedPlugin(t, [{ type: "hello", protocol: 2 }, { type: "ready", wait: 10 }])
  const { length } = hooks[0].lines
  await p["tool.execute.before"](call("write"), { args: { filePath: "/a" } })
  await p["tool.execute.after"](call("write"), { output: "" })
  await p["experimental.chat.messages.transform"]({}, request(failure("prt_1")))
  await p.event({ event: { type: "session.created", properties: { info: { id: "ses_2", parentID: "ses_1" } } } })
  assert.equal(hooks[0].lines.length, length)
})
