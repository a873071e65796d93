// mend-plugin protocol=1 version=__VERSION__
// Written by "mend plugin install"; "mend plugin uninstall" removes it.
//
// It sends some events of OpenCode to "mend hook" and carries out its calls. Before a
// request is made it lets mend repair the session, for a limited time. It never
// throws: without mend it does nothing.
import { spawn } from "node:child_process"

const COMMAND = __COMMAND__
const PROTOCOL = 1 // the oldest that it speaks
const MAX_PROTOCOL = 2
const WANTED = new Set(["session.error", "session.idle", "session.status", "session.deleted", "message.updated"])
const MAX_UNREAD = 1 << 20 // bytes that mend has not read yet; more are dropped
const MAX_ANSWER = 8 << 20 // bytes of one answer
const MAX_LINE = 1 << 20 // characters of one line of mend
const GREETING_MS = 10_000
const MAX_STARTS = 3 // that ended soon
const MAX_OPEN = 32 // errors that are told to a hook that follows
const SOON_MS = 60_000
const WAIT_MS = 1_500 // for an answer, until mend says how long
const BEGUN_MS = 30_000 // for an answer after a repair has begun
const MAX_QUESTIONS = 8 // that are open

// slim leaves out of a message what mend does not look at.
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
  const { id, sessionID, parentID, role, error, finish, time, agent, model, variant, tools } = i
  const summary = i.summary === true || undefined // of a prompt it is an object
  return { id, sessionID, parentID, role, error, finish, time, agent, model, variant, tools, summary }
}

// slimEvent is the event as mend needs it, or undefined for one that it need not
// know: of the answers only those that failed or have ended.
function slimEvent({ type, properties: p }) {
  if (!WANTED.has(type) || !p) return undefined
  if (type === "message.updated") {
    if (!p.info || (p.info.role === "assistant" && !p.info.error && !p.info.time?.completed)) return undefined
    return { type, properties: { info: slimInfo(p.info) } }
  }
  if (type === "session.status" && p.status?.type !== "idle") return undefined
  return { type, properties: { sessionID: p.sessionID, error: p.error, status: p.status, info: p.info && { id: p.info.id } } }
}

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
    case "abort":
      answer = await client.session.abort({ path, query })
      break
    case "toast":
      answer = await client.tui.showToast({ body, query })
      break
    case "prompt":
      answer = await client.session.promptAsync({ path, query, body })
      break
    default:
      throw new Error(`unknown method ${method}`)
  }
  if (answer.error) throw new Error(JSON.stringify(answer.error))
  return null
}

// A Hook is "mend hook", started with the first event and again if it ends, but
// not for ever. What it was told may have died with it: the next one hears of every
// error that is still open.
class Hook {
  constructor(client, directory) {
    this.client = client
    this.directory = directory
    this.since = Date.now()
    this.starts = 0
    this.over = false
    this.questions = new Map() // by id: those that OpenCode waits for
    this.lastQuestion = 0
    this.wait = WAIT_MS // 0 if mend answers no questions
    this.open = new Map() // by session: the newest error, when it came, and to how many more hooks it is told
  }

  start() {
    const began = Date.now()
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], detached: true, windowsHide: true })
    this.child = child
    this.ready = false
    this.late = undefined // a question that was not answered in time: the next are not asked until it is
    const end = () => {
      if (this.child !== child) return
      this.child = undefined
      clearTimeout(this.greeting)
      this.starts = Date.now() - began < SOON_MS ? this.starts + 1 : 0
      if (this.starts >= MAX_STARTS) this.over = true
      child.kill()
      child.stdout?.destroy?.() // what it still says is not read
      for (const id of [...this.questions.keys()]) this.settle(id)
      if (!this.over && this.open.size > 0) this.startAgain()
    }
    for (const emitter of [child, child.stdin, child.stdout]) emitter.on("error", end)
    child.on("exit", end)
    this.greeting = setTimeout(end, GREETING_MS)
    this.greeting.unref?.()
    this.read(child, end)
    for (const handle of [child, child.stdin, child.stdout]) handle.unref?.()
    this.send({ type: "hello", protocol: PROTOCOL, max: MAX_PROTOCOL, plugin: "__VERSION__", directory: this.directory, since: this.since })
    for (const [session, error] of this.open) {
      this.send({ type: "event", event: error.event })
      if (--error.left === 0) this.open.delete(session)
    }
  }

  startAgain() {
    try {
      this.start()
    } catch {
      this.over = true
    }
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
      if (line.protocol === PROTOCOL) this.answersWithin(0)
    } else if (line.type === "ready") this.answersWithin(Number(line.wait) || 0)
    else if (line.type === "reply") {
      if (line.id === this.late) this.late = undefined
      this.settle(line.id)
    } else if (line.type === "hello" || line.type === "bye") {
      this.over = true
      end()
    } else if (line.type === "call") this.answer(line, child)
  }

  // answer answers the hook that called, not one that came after it.
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
    const slimmed = slimEvent(event)
    if (!slimmed || this.over) return
    if (!this.child) this.start()
    this.remember(slimmed)
    this.send({ type: "event", event: slimmed })
  }

  // ask lets mend repair a session, or without one those of the directory, and returns
  // when it has answered or the time is over.
  ask(session, version) {
    return new Promise((resolve) => {
      const late = this.child && this.late !== undefined
      if (this.over || late || this.wait === 0 || this.questions.size >= MAX_QUESTIONS) return resolve()
      const id = ++this.lastQuestion
      const question = { session, version, resolve, sent: false, end: Date.now() + this.wait }
      question.timer = setTimeout(() => this.expire(id), this.wait)
      this.questions.set(id, question)
      if (!this.child) this.startAgain()
      if (this.over) this.settle(id)
      else if (this.ready) this.sendQuestion(id, question)
    })
  }

  // answersWithin sends the questions that wait for mend to be ready.
  answersWithin(wait) {
    this.wait = wait
    this.ready = wait > 0
    for (const [id, question] of [...this.questions]) this.ready ? this.sendQuestion(id, question) : this.settle(id)
  }

  sendQuestion(id, question) {
    if (question.sent) return
    question.sent = true
    const { session, version, end } = question
    this.send({ type: "question", id, session, version, directory: this.directory, wait: Math.max(1, end - Date.now()) })
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

  settle(id) {
    const question = this.questions.get(id)
    if (!question) return
    clearTimeout(question.timer)
    this.questions.delete(id)
    question.resolve()
  }

  // remember keeps the newest error of a session until a turn that was begun behind
  // it ends well.
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

// agentVersion returns the version of OpenCode, or undefined if it does not tell.
async function agentVersion(client) {
  const answer = await (client.global?.health?.() ?? client._client?.get?.({ url: "/global/health" }))
  return answer?.data?.version
}

export const MendPlugin = async ({ client, directory }) => {
  const hook = new Hook(client, directory)
  const ask = async (...question) => {
    try {
      await hook.ask(...question)
    } catch {
      hook.over = true
    }
  }
  let version
  await ask() // for prompts that name no model OpenCode reads the session before chat.message
  return {
    "chat.message": async ({ sessionID }) => {
      version ??= await agentVersion(client).catch(() => undefined)
      await ask(sessionID, version)
    },
    event: async ({ event }) => {
      try {
        hook.event(event)
      } catch {
        hook.over = true
      }
    },
  }
}
