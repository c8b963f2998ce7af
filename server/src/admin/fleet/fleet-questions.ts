import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { NoticeListener } from 'sluice/internal/engine/ports'
import type { RedisStore } from 'sluice/internal/stores/redis/redis-store'

/** Whose a list is: that of this node, or of all nodes on the same Redis. */
export type FleetScope = 'fleet' | 'node'

/** A list that several nodes answered. */
export interface FleetList<T> {
  readonly items: readonly T[]
  /** How many nodes it is made of. */
  readonly nodes: number
  /** How many more there are that did not answer in time, or were too many to ask. */
  readonly nodesLeftOut: number
}

/** What a question is about, in texts. */
export type About = readonly string[]

/** The answers of other nodes, by their ids, and how many gave none. */
export interface FleetAnswers<T> {
  readonly answers: ReadonlyMap<string, T>
  readonly leftOut: number
}

type Shared = Pick<RedisStore, 'answers' | 'notify'> & { listen(listener: NoticeListener): () => void }

export interface FleetQuestionsParts {
  /** The id of this node. */
  readonly node: string
  /** Undefined: there are no other nodes. */
  readonly redis: (() => Promise<Shared>) | undefined
  /** The other nodes that are there, and how many are away. */
  readonly others: () => { readonly ids: readonly string[]; readonly away: number }
  readonly nowMs?: () => number
}

/** How long to wait between looks for answers: 1.3 seconds in all. */
const LOOKS_MS = [10, 20, 40, 80, 160, 320, 640]
/** Who asks the same within this time gets the same answers. */
const KEPT_MS = 1_000
/** Questions in flight, of this node and of others. One more is answered without the other nodes, or not at all. */
const MAX_ASKED = 8
const MAX_ANSWERING = 8
/** How many questions of others a node answers in a second. */
const MAX_ANSWERS_A_SECOND = 40
/** An answer has no more characters than that. */
export const MAX_ANSWER = 262_144

/**
 * FleetQuestions has nodes ask each other through Redis: a notice asks, and each node that hears it writes its answer
 * into a note that lives for seconds. While no node asks, nothing is written.
 */
export class FleetQuestions {
  readonly #parts: FleetQuestionsParts
  readonly #nowMs: () => number
  readonly #kept = new Map<string, { readonly atMs: number; readonly found: Promise<FleetAnswers<unknown>> }>()
  readonly #answers = new Map<string, (about: About) => Promise<unknown>>()
  #asked = 0
  #answering = 0
  #second = { atMs: 0, answers: 0 }
  #unlisten: (() => void) | undefined
  #isStopped = false

  constructor(parts: FleetQuestionsParts) {
    this.#parts = parts
    this.#nowMs = parts.nowMs ?? Date.now
  }

  /** Says what this node answers when it is asked by a name: plain data. */
  answer(name: string, answer: (about: About) => Promise<unknown>): void {
    this.#answers.set(name, answer)
  }

  /** listen begins to answer. It resolves when questions are heard, or never will be. */
  async listen(): Promise<void> {
    const shared = await this.#parts.redis?.().catch(() => undefined)
    if (shared === undefined || this.#isStopped) return
    this.#unlisten = shared.listen({
      noticed: ({ kind, key }) => {
        if (kind === 'ask') void this.#heard(key)
      },
      connected() {},
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#unlisten?.()
  }

  /**
   * ask returns what other nodes answer, as far as `read` understands it. It never rejects: a node that does not answer
   * in time, or in another form, is left out.
   */
  async ask<T>(name: string, about: About, read: (answer: unknown) => T | undefined): Promise<FleetAnswers<T>> {
    const { answers, leftOut } = await this.#found(name, about)
    const understood = new Map<string, T>()
    for (const [node, answer] of answers) {
      const value = read(answer)
      if (value !== undefined) understood.set(node, value)
    }
    return { answers: understood, leftOut: leftOut + answers.size - understood.size }
  }

  #found(name: string, about: About): Promise<FleetAnswers<unknown>> {
    const nowMs = this.#nowMs()
    for (const [question, { atMs }] of this.#kept) {
      if (nowMs - atMs < KEPT_MS && nowMs >= atMs) break
      this.#kept.delete(question)
    }
    const question = JSON.stringify([name, ...about])
    const known = this.#kept.get(question)
    if (known !== undefined) return known.found
    const { ids, away } = this.#parts.others()
    const { redis } = this.#parts
    if (redis === undefined || ids.length === 0) return Promise.resolve({ answers: NONE, leftOut: ids.length + away })
    if (this.#asked >= MAX_ASKED) return Promise.resolve({ answers: NONE, leftOut: ids.length + away })
    this.#asked++
    const found = this.#gather(redis, [name, ...about], ids)
      .catch(() => NONE)
      .then((answers) => ({ answers, leftOut: ids.length + away - answers.size }))
      .finally(() => {
        this.#asked--
      })
    this.#kept.set(question, { atMs: nowMs, found })
    return found
  }

  async #gather(
    redis: () => Promise<Shared>,
    question: readonly string[],
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, unknown>> {
    const shared = await redis()
    const id = randomBytes(8).toString('hex')
    shared.notify({ kind: 'ask', key: JSON.stringify([id, this.#parts.node, ...question]) })
    const answers = new Map<string, unknown>()
    for (const waitMs of LOOKS_MS) {
      await pause(waitMs, undefined, { ref: false })
      const missing = ids.filter((node) => !answers.has(node))
      const texts = await Promise.all(missing.map((node) => shared.answers.read(id, node)))
      texts.forEach((text, i) => {
        if (text !== undefined) answers.set(missing[i], parsed(text))
      })
      if (answers.size === ids.length) break
    }
    return answers
  }

  /** #heard answers a question of another node. It never rejects. */
  async #heard(text: string): Promise<void> {
    const question = questionIn(text)
    if (question === undefined || question.asker === this.#parts.node) return
    const answered = this.#answers.get(question.name)
    if (answered === undefined || !this.#mayAnswer()) return
    this.#answering++
    try {
      const answer = JSON.stringify(await answered(question.about))
      if (answer.length > MAX_ANSWER) return
      await (await this.#parts.redis?.())?.answers.put(question.id, this.#parts.node, answer)
    } catch {
      // Who asked finds no answer, and says so.
    } finally {
      this.#answering--
    }
  }

  #mayAnswer(): boolean {
    const nowMs = this.#nowMs()
    if (Math.abs(nowMs - this.#second.atMs) >= 1_000) this.#second = { atMs: nowMs, answers: 0 }
    return ++this.#second.answers <= MAX_ANSWERS_A_SECOND && this.#answering < MAX_ANSWERING
  }
}

const NONE: ReadonlyMap<string, unknown> = new Map()
const MAX_ABOUT = 64
const ID = /^[0-9a-f]{16}$/

interface Question {
  readonly id: string
  readonly asker: string
  readonly name: string
  readonly about: About
}

/** Reads what was published. Undefined: it is no question. */
function questionIn(text: string): Question | undefined {
  const value = parsed(text)
  if (!Array.isArray(value) || value.length > 3 + MAX_ABOUT || !value.every((each) => typeof each === 'string'))
    return undefined
  const [id = '', asker = '', name = '', ...about] = value as string[]
  return ID.test(id) ? { id, asker, name, about } : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
