// mend-plugin protocol=1 version=__VERSION__
// Written by "mend install"; "mend install --remove" removes it.
//
// It sends some events of OpenCode to "mend hook" and executes the calls that mend asks
// for. Before a request it lets mend repair the session, for a limited time. If mend wants
// it, it also asks before a tool writes a file and about failed calls in a request, and
// reports what subagents do. It throws only to refuse a write. If mend cannot be started,
// it shows that once and does nothing.
import { spawn } from "node:child_process"

const COMMAND = __COMMAND__
const PROTOCOL = 1 // the oldest that it supports
const MAX_PROTOCOL = 2
const WANTED = new Set(["session.error", "session.idle", "session.status", "session.deleted", "message.updated"])
const PARTS = new Set(["message.part.updated", "message.part.delta"]) // sent only if mend asks for them
const PART_MS = 1_000 // between two equal events of a part
const MAX_PARTS = 256 // parts with a known last event
const MAX_UNREAD = 1 << 20 // bytes that mend has not read yet; more are dropped
const MAX_ANSWER = 8 << 20 // bytes of one answer
const MAX_LINE = 1 << 20 // characters of one line of mend
const GREETING_MS = 10_000
const MAX_STARTS = 3 // in a row that ended within SOON_MS
const MAX_OPEN = 32 // errors that are sent to the next hook
const SOON_MS = 60_000
const WAIT_MS = 1_500 // for an answer, until mend sends another time
const BEGUN_MS = 30_000 // for an answer once a repair has begun
const MAX_QUESTIONS = 8 // that wait for an answer
const MAX_OUTPUT = 256 << 10 // characters of the output of a tool
const MAX_FAILED = 1000 // characters of the result of a failed call
const MAX_KEPT = 4096 // results of calls, and sessions of subagents
const GONE = "mend does not run: no session is repaired. Install it again, or remove the plugin."
const GONE_MS = 12_000
const INITIATOR = "<!-- OMO_INTERNAL_INITIATOR -->" // marks a prompt that the user did not write
const FILE_TOOLS = new Set(["read", "write", "edit"])

// slim returns a message without what mend does not need.
function slim({ info, parts }) {
  const user = info.role === "user"
  return {
    info: slimInfo(info),
    parts: parts.map((p) => ({
      id: p.id,
      type: p.type,
      synthetic: p.synthetic,
      callID: p.callID,
      tool: p.tool,
      text: user && typeof p.text === "string" ? p.text.slice(-1000) : undefined,
      state: p.state && { status: p.state.status },
    })),
  }
}

function slimInfo(i) {
  const { id, sessionID, parentID, role, error, finish, time, agent, model, variant, tools, system, format } = i
  const summary = i.summary === true || undefined // of a prompt it is an object
  return { id, sessionID, parentID, role, error, finish, time, agent, model, variant, tools, system, format, summary }
}

// slimEvent returns an event without what mend does not need, or undefined for an event
// that mend does not need, such as that of an answer that has neither failed nor ended.
function slimEvent({ type, properties: p }) {
  if (!WANTED.has(type) || !p) return undefined
  if (type === "message.updated") {
    if (!p.info || (p.info.role === "assistant" && !p.info.error && !p.info.time?.completed)) return undefined
    return { type, properties: { info: slimInfo(p.info) } }
  }
  return { type, properties: { sessionID: p.sessionID, error: p.error, status: p.status, info: p.info && { id: p.info.id } } }
}

// slimArgs returns the arguments of a tool without the content of the file.
function slimArgs(args) {
  const { filePath, path, file_path, offset, overwrite } = args ?? {}
  return { filePath, path, file_path, offset, overwrite }
}

// failedText returns what the model gets from a call that failed, or undefined.
const failedText = ({ type, tool, state }) =>
  type !== "tool" ? undefined : state?.status === "error" ? state.error : tool === "invalid" ? state?.output : undefined

// slimPart returns the event of a part without its content.
function slimPart({ type, properties: p }) {
  const part = p?.part ?? { id: p?.partID, sessionID: p?.sessionID, messageID: p?.messageID }
  const { id, sessionID, messageID, tool, state } = part
  return { type, properties: { part: { id, sessionID, messageID, type: part.type, tool, state: state && { status: state.status } } } }
}

// isKilo reports whether the program is Kilo: its versions begin with 7.
const isKilo = async (client) => parseInt(await agentVersion(client).catch(() => ""), 10) >= 7

// marked returns a prompt with a mark in place of synthetic parts: Kilo does not answer a prompt with only synthetic parts.
const marked = (body) => ({ ...body, parts: body.parts.map((p) => (p.synthetic ? { ...p, synthetic: false, text: `${p.text}\n${INITIATOR}` } : p)) })

async function carryOut(client, directory, { method, session, limit, body }) {
  const path = { id: session }
  const query = { directory }
  let answer
  switch (method) {
    case "messages":
      answer = await client.session.messages({ path, query: limit ? { ...query, limit } : query })
      if (answer.data) return answer.data.map(slim)
      break
    case "busy":
      answer = await client.session.status({ query })
      if (answer.data) return (answer.data[session]?.type ?? "idle") !== "idle"
      break
    case "models":
      answer = await client.config.providers({ query })
      if (answer.data) return answer.data.providers.flatMap((p) => Object.keys(p.models).map((m) => ({ providerID: p.id, modelID: m })))
      break
    case "parent":
      answer = await client.session.get({ path, query })
      if (answer.data) return answer.data.parentID ?? ""
      break
    case "abort":
      answer = await client.session.abort({ path, query })
      break
    case "toast":
      answer = await client.tui.showToast({ body, query })
      break
    case "publish":
      answer = await client.tui.publish({ body, query })
      break
    case "prompt":
      answer = await client.session.promptAsync({ path, query, body: (await isKilo(client)) ? marked(body) : body })
      break
    default:
      throw new Error(`unknown method ${method}`)
  }
  if (answer.error) throw new Error(JSON.stringify(answer.error))
  return null
}

// A Hook runs "mend hook". The first event starts it. If it ends, it is started again, but
// not after MAX_STARTS ends in a row within SOON_MS each. The next one gets each error that
// is still open, because the one before may not have handled it.
class Hook {
  constructor(client, directory) {
    this.client = client
    this.directory = directory
    this.since = Date.now()
    this.starts = 0
    this.over = false
    this.gone = false // mend cannot be started, or ends each time
    this.seen = false // there was a prompt, so there is a screen
    this.told = false // the user was told that mend is gone
    this.questions = new Map() // by id: the questions that OpenCode waits for
    this.lastQuestion = 0
    this.wait = WAIT_MS // 0: mend answers no questions about prompts
    this.waits = {} // for other questions, by hook
    this.activity = 0 // how often a subagent is reported, in milliseconds; 0 is never
    this.children = new Map() // by session of a subagent: its parent, and when it was reported
    this.notes = new Map() // by part: what the model gets with a failed call
    this.parts = false // mend wants events of parts
    this.sentParts = new Map() // by part and state: when its last event was sent
    this.open = new Map() // by session: the newest error, its time, and to how many more hooks it is sent
  }

  start() {
    const began = Date.now()
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], detached: true, windowsHide: true })
    this.child = child
    this.ready = false
    this.parts = false
    this.late = undefined // a question that was not answered in time: no other is asked until it is answered
    const end = () => {
      if (this.child !== child) return
      this.child = undefined
      clearTimeout(this.greeting)
      this.starts = Date.now() - began < SOON_MS ? this.starts + 1 : 0
      if (this.starts >= MAX_STARTS) this.giveUp()
      child.kill()
      child.stdout?.destroy?.() // the rest of its output is not read
      for (const id of [...this.questions.keys()]) this.settle(id)
      if (!this.over && this.open.size > 0) this.startAgain()
    }
    for (const emitter of [child, child.stdin, child.stdout]) emitter.on("error", end)
    child.on("exit", end)
    this.greeting = setTimeout(end, GREETING_MS)
    this.greeting.unref?.()
    this.read(child, end)
    for (const handle of [child, child.stdin, child.stdout]) handle.unref?.()
    const once = process.argv[2] === "run" // OpenCode ends with the turn
    this.send({ type: "hello", protocol: PROTOCOL, max: MAX_PROTOCOL, plugin: "__VERSION__", directory: this.directory, since: this.since, once })
    for (const [session, error] of this.open) {
      this.send({ type: "event", event: error.event })
      if (--error.left === 0) this.open.delete(session)
    }
  }

  startAgain() {
    try {
      this.start()
    } catch {
      this.giveUp()
    }
  }

  giveUp() {
    this.over = this.gone = true
    this.tellGone()
  }

  // tellGone shows once on the screen that mend is gone.
  tellGone() {
    if (!this.gone || !this.seen || this.told) return
    this.told = true
    const body = { title: "mend", message: GONE, variant: "warning", duration: GONE_MS }
    Promise.resolve()
      .then(() => this.client.tui.showToast({ body, query: { directory: this.directory } }))
      .catch(() => {})
  }

  read(child, end) {
    let text = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (chunk) => {
      text += chunk
      for (let at; this.child === child && (at = text.indexOf("\n")) >= 0; text = text.slice(at + 1)) this.take(text.slice(0, at), child, end)
      if (text.length > MAX_LINE) end()
    })
  }

  take(text, child, end) {
    let line
    try {
      line = JSON.parse(text)
    } catch {
      return end()
    }
    if (line.type === "hello" && line.protocol >= PROTOCOL && line.protocol <= MAX_PROTOCOL) {
      clearTimeout(this.greeting)
      if (line.protocol === PROTOCOL) {
        this.waits = {}
        this.answersWithin(0)
      }
    } else if (line.type === "ready") {
      this.waits = line.hooks ?? {}
      this.activity = Number(line.activity) || 0
      this.parts = line.parts === true
      this.answersWithin(Number(line.wait) || 0)
    } else if (line.type === "reply") {
      if (line.id === this.late) this.late = undefined
      this.settle(line.id, line)
    } else if (line.type === "hello" || line.type === "bye") {
      this.over = true
      end()
    } else if (line.type === "call") this.answer(line, child)
  }

  // answer sends the result to the hook that made the call, never to a later one.
  answer(line, child) {
    const say = (answer) => this.child === child && this.send({ type: "answer", id: line.id, ...answer })
    if (line.method === "begin") return say({ data: this.begin(line.question) })
    carryOut(this.client, this.directory, line).then(
      (data) => say({ data }),
      (error) => say({ error: String(error?.message ?? error) }),
    )
  }

  send(line) {
    const stdin = this.child?.stdin
    if (!stdin?.writable || stdin.writableLength > MAX_UNREAD) return
    let text = JSON.stringify(line)
    if (text.length > MAX_ANSWER) {
      if (line.type !== "answer") return
      text = JSON.stringify({ type: "answer", id: line.id, error: "the answer is too long" })
    }
    stdin.write(text + "\n")
  }

  event(event) {
    if (PARTS.has(event.type)) return this.partEvent(event)
    const slimmed = slimEvent(event)
    if (!slimmed || this.over) return
    if (!this.child) this.start()
    this.remember(slimmed)
    this.send({ type: "event", event: slimmed })
  }

  // partEvent sends an event of a part, unless an equal one was sent within PART_MS.
  partEvent(event) {
    if (!this.parts || !this.child) return
    const slimmed = slimPart(event)
    const { id, state } = slimmed.properties.part
    const key = `${id} ${state?.status}`
    const now = Date.now()
    if (now - this.sentParts.get(key) < PART_MS) return
    this.sentParts.delete(key)
    this.sentParts.set(key, now)
    if (this.sentParts.size > MAX_PARTS) this.sentParts.delete(this.sentParts.keys().next().value)
    this.send({ type: "event", event: slimmed })
  }

  // ask asks mend, and returns its reply, or undefined when the time is over. A question
  // without a hook lets mend repair its session, or, without a session, the sessions of
  // the directory.
  ask(asked) {
    return new Promise((resolve) => {
      const late = this.child && this.late !== undefined
      const wait = asked.hook ? this.waits[asked.hook] : this.wait
      if (this.over || late || !(wait > 0) || this.questions.size >= MAX_QUESTIONS) return resolve()
      const id = ++this.lastQuestion
      const question = { asked, resolve, sent: false, end: Date.now() + wait }
      question.timer = setTimeout(() => this.expire(id), wait)
      this.questions.set(id, question)
      if (!this.child) this.startAgain()
      if (this.over) this.settle(id)
      else if (this.ready && this.questions.has(id)) this.sendQuestion(id, question)
    })
  }

  // answersWithin sends the questions that wait for mend to be ready.
  answersWithin(wait) {
    this.wait = wait
    this.ready = true
    for (const [id, question] of [...this.questions]) wait > 0 || question.asked.hook ? this.sendQuestion(id, question) : this.settle(id)
  }

  sendQuestion(id, question) {
    if (question.sent) return
    question.sent = true
    this.send({ type: "question", id, ...question.asked, directory: this.directory, wait: Math.max(1, question.end - Date.now()) })
  }

  // begin reports whether OpenCode still waits for the answer. From then on it waits
  // until the repair is done.
  begin(id) {
    const question = this.questions.get(id)
    if (!question) return false
    clearTimeout(question.timer)
    question.timer = setTimeout(() => this.expire(id), BEGUN_MS)
    return true
  }

  expire(id) {
    this.late = id
    this.settle(id)
  }

  settle(id, reply) {
    const question = this.questions.get(id)
    if (!question) return
    clearTimeout(question.timer)
    this.questions.delete(id)
    question.resolve(reply)
  }

  // before reports a call of a file tool, and returns why it must not run, or undefined. Before
  // a write and an edit it waits: mend must see the file as it is before the tool changes it.
  async before({ tool, sessionID, callID }, args) {
    const hook = "tool.execute.before"
    if (!this.waits[hook] || !FILE_TOOLS.has(tool)) return undefined
    const call = { tool, sessionID, callID, time: Date.now(), args: slimArgs(args) }
    if (tool === "read") return this.report(hook, call)
    return (await this.ask({ hook, session: sessionID, call }))?.refuse
  }

  // after reports that a call of a file tool succeeded.
  after({ tool, sessionID, callID }, { output, metadata }) {
    if (!this.waits["tool.execute.before"] || !FILE_TOOLS.has(tool)) return
    const read = tool === "read" ? { output: String(output).slice(-MAX_OUTPUT), truncated: metadata?.truncated } : {}
    this.report("tool.execute.after", { tool, sessionID, callID, time: Date.now(), ...read })
  }

  report(type, properties) {
    if (!this.over && this.child) this.send({ type: "event", event: { type, directory: this.directory, properties } })
  }

  // explain appends mend's texts for the model to failed calls in a request: the same text
  // in every request. A call that was sent without a text never gets one.
  async explain(messages) {
    const hook = "experimental.chat.messages.transform"
    if (!this.waits[hook] && this.notes.size === 0) return
    const failed = messages.flatMap(({ parts }) => parts).filter((part) => typeof failedText(part) === "string")
    const asked = failed.filter(({ id }) => !this.notes.has(id))
    if (asked.length > 0) {
      const calls = asked.map((part) => ({ part: part.id, tool: part.tool, status: part.state.status, text: failedText(part).slice(0, MAX_FAILED) }))
      const reply = await this.ask({ hook, session: messages[0].info.sessionID, failed: calls })
      const texts = new Map((Array.isArray(reply?.append) ? reply.append : []).map(({ part, text }) => [part, text]))
      for (const { id } of asked) keep(this.notes, id, texts.get(id))
    }
    for (const { id, state } of failed) {
      const note = this.notes.get(id)
      const key = state.status === "error" ? "error" : "output"
      if (typeof note === "string" && !state[key].endsWith(note)) state[key] += "\n" + note
    }
  }

  // observe reports what a subagent does: each change of a tool call's state, and other
  // events at most once per activity.
  observe({ type, properties: p }) {
    if (!this.activity || !p) return
    const session = p.sessionID ?? p.info?.sessionID ?? p.part?.sessionID ?? p.info?.id
    if (type === "session.created" && p.info?.parentID) {
      keep(this.children, session, { parentID: p.info.parentID, title: p.info.title, at: -Infinity, calls: new Map() })
    }
    const child = this.children.get(session)
    if (!child) return
    const time = Date.now()
    const { part } = p
    const changed = part?.type === "tool" && child.calls.get(part.callID) !== part.state?.status
    if (changed) keep(child.calls, part.callID, part.state?.status)
    if (!changed && type !== "session.status" && time - child.at < this.activity) return
    child.at = time
    if (!this.child && !this.over) this.start()
    const slimPart = part && { type: part.type, tool: part.tool, callID: part.callID, status: part.state?.status }
    this.report("mend.activity", { sessionID: session, parentID: child.parentID, title: child.title, time, status: p.status, part: slimPart })
  }

  // remember keeps the newest error of a session until a turn that began after it
  // succeeds.
  remember(event) {
    const { sessionID, error, info } = event.properties
    const session = sessionID ?? info?.sessionID ?? info?.id
    if (!session) return
    if (error || info?.error) {
      this.open.delete(session) // so that it is the newest of all
      this.open.set(session, { event, at: Date.now(), left: MAX_STARTS })
      if (this.open.size > MAX_OPEN) this.open.delete(this.open.keys().next().value)
    } else if (event.type === "session.deleted" || (info?.role === "assistant" && info.time.created > this.open.get(session)?.at)) {
      this.open.delete(session)
    }
  }
}

// keep sets a value of a map. A map with more than MAX_KEPT values loses the oldest one.
function keep(map, key, value) {
  map.set(key, value)
  if (map.size > MAX_KEPT) map.delete(map.keys().next().value)
}

// agentVersion returns the version of OpenCode, or undefined if OpenCode does not report it.
async function agentVersion(client) {
  const answer = await (client.global?.health?.() ?? client._client?.get?.({ url: "/global/health" }))
  return answer?.data?.version
}

// useModel sets another model for a prompt. The variant stays, unless mend names one.
function useModel(message, model) {
  if (typeof model?.providerID !== "string" || typeof model.modelID !== "string" || !message?.model) return
  const { providerID, modelID, variant } = model
  message.model = { ...message.model, providerID, modelID }
  if (!variant) return
  if ("variant" in message) message.variant = variant
  else message.model.variant = variant
}

export const MendPlugin = async ({ client, directory }) => {
  const hook = new Hook(client, directory)
  // safely returns what f returns. An error ends the hook and does not reach OpenCode.
  const safely = async (f) => {
    try {
      return await f()
    } catch {
      hook.giveUp()
    }
  }
  let known
  const version = async () => (known ??= await agentVersion(client).catch(() => undefined))
  await safely(() => hook.ask({})) // for prompts that name no model OpenCode reads the session before chat.message
  return {
    "chat.message": async ({ sessionID, model }, output) => {
      const { message } = output ?? {}
      hook.seen = true
      hook.tellGone()
      const prompt = { model: message?.model, named: model !== undefined, agent: message?.agent }
      const reply = await safely(async () => hook.ask({ session: sessionID, version: await version(), ...prompt }))
      useModel(message, reply?.model)
    },
    "tool.execute.before": async (call, { args }) => {
      const refusal = await safely(() => hook.before(call, args))
      if (refusal && typeof refusal === "string") throw new Error(refusal)
    },
    "tool.execute.after": async (call, result) => safely(() => hook.after(call, result)),
    "experimental.chat.messages.transform": async (_, { messages }) => safely(() => hook.explain(messages)),
    event: async ({ event }) =>
      safely(() => {
        hook.event(event)
        hook.observe(event)
      }),
  }
}
