import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { RedisNotes } from 'sluice/internal/stores/redis/redis-notes'
import { partKey } from '../api/parts.ts'
import type { NodeState } from './node-note.ts'
import { type Figures, NO_FIGURES, type NodeNote, noteText, readNote } from './node-note.ts'

/** A node that has written nothing for this long counts as away. Nodes write every second. */
export const AWAY_MS = 5_000
/** How long a silent node is still listed, unless one of its name is started. */
export const LISTED_MS = 600_000
/** For so long others can read that a node has left: with many nodes, each reads the notes less often. */
const LEFT_MS = 60_000
/** A node reads no more than so many notes a second: of many nodes, less often. */
const READ_A_SECOND = 16

/** What a node reports about itself at this moment. */
export type OwnState = Omit<
  NodeState,
  'id' | 'name' | 'host' | 'isHere' | 'isAway' | 'startedAtMs' | 'seenAtMs' | 'listedUntilMs' | 'version'
>

export interface FleetNodesParts {
  /** What this node is called. It may change once: when the admin port is known. */
  readonly name: () => string
  readonly version: string
  readonly state: () => OwnState
  /** Undefined: there are no other nodes. */
  readonly notes: (() => Promise<RedisNotes>) | undefined
  readonly nowMs?: () => number
}

/** A Heard is the last note of another node, and when it was heard, by the clock of this one. */
interface Heard {
  readonly note: NodeNote
  readonly heardAtMs: number
  /** When this node heard of it for the first time. */
  readonly knownSinceMs: number
}

/**
 * Knows the nodes on the same Redis: each has a note there, which it writes every second. Whether one is silent is
 * judged by the clock of the reader: a note that stays the same was not written. A node that is started again takes the
 * place of the one before: both have the same name.
 */
export class FleetNodes {
  readonly #parts: FleetNodesParts
  readonly #nowMs: () => number
  readonly id = randomBytes(8).toString('hex')
  readonly #startedAtMs: number
  readonly #heard = new Map<string, Heard>()
  #readAtMs = Number.NEGATIVE_INFINITY
  #beating: Promise<void> | undefined

  constructor(parts: FleetNodesParts) {
    this.#parts = parts
    this.#nowMs = parts.nowMs ?? Date.now
    this.#startedAtMs = this.#nowMs()
  }

  /**
   * Writes the note of this node, and reads the others. While Redis does not answer it does nothing more. It never
   * rejects.
   */
  beat(figures: Figures): Promise<void> {
    this.#beating ??= this.#exchange(figures).finally(() => {
      this.#beating = undefined
    })
    return this.#beating
  }

  async list(): Promise<readonly NodeState[]> {
    const nowMs = this.#nowMs()
    const { isLeaving: _leaving, figures: _figures, atMs: _at, ...own } = this.#note(NO_FIGURES)
    const here: NodeState = { ...own, isHere: true, isAway: false, seenAtMs: nowMs, listedUntilMs: undefined }
    return [here, ...[...this.#heard.values()].map((heard) => stateOf(heard, nowMs))]
  }

  /** The ids of the other nodes that are up, and how many are silent. */
  ids(): { readonly ids: readonly string[]; readonly away: number } {
    const nowMs = this.#nowMs()
    const there = [...this.#heard].filter(([, heard]) => !isAway(heard, nowMs))
    return { ids: there.map(([id]) => id), away: this.#heard.size - there.length }
  }

  /** Counts the other nodes, and returns the last figures of the ones that are up. */
  others(): { readonly there: readonly Figures[]; readonly away: number } {
    const nowMs = this.#nowMs()
    const all = [...this.#heard.values()]
    const there = all.filter((heard) => !isAway(heard, nowMs))
    return { there: there.map(({ note }) => note.figures), away: all.length - there.length }
  }

  /** Lets the others know that this node shuts down. It never rejects. */
  async leave(): Promise<void> {
    await this.#beating
    await this.#put({ ...this.#note(NO_FIGURES), isLeaving: true }).catch(() => {})
  }

  async #exchange(figures: Figures): Promise<void> {
    try {
      // Whether Redis is there is known when it is connected.
      await this.#parts.notes?.()
      await this.#put(this.#note(figures))
      const everyMs = 1_000 * Math.ceil(this.#heard.size / READ_A_SECOND)
      // A beat that comes a little early is not the one before.
      if (this.#nowMs() - this.#readAtMs >= everyMs - 500) await this.#read()
    } catch {
      // The state of the store says that Redis is unavailable. Nodes whose notes stay the same count as away.
    }
    this.#forget()
  }

  async #put(note: NodeNote): Promise<void> {
    const notes = await this.#parts.notes?.()
    await notes?.put(this.id, noteText(note), note.isLeaving ? LEFT_MS : LISTED_MS, note.atMs)
  }

  async #read(): Promise<void> {
    const notes = await this.#parts.notes?.()
    if (notes === undefined) return
    const { notes: texts } = await notes.others(this.id)
    this.#readAtMs = this.#nowMs()
    for (const [id, text] of texts) {
      const note = readNote(text)
      if (note !== undefined && note.id === id) this.#hear(id, note)
    }
    this.#forget()
  }

  #hear(id: string, note: NodeNote): void {
    const before = this.#heard.get(id)
    if (note.isLeaving) this.#heard.delete(id)
    else if (before?.note.atMs !== note.atMs) {
      const nowMs = this.#nowMs()
      // The first note may be an old one. Its time is that of another clock, which is better than none.
      const heardAtMs = before === undefined ? Math.min(nowMs, note.atMs) : nowMs
      this.#heard.set(id, { note, heardAtMs, knownSinceMs: before?.knownSinceMs ?? nowMs })
    }
  }

  #forget(): void {
    const nowMs = this.#nowMs()
    for (const [id, heard] of this.#heard) {
      if (nowMs - heard.heardAtMs > LISTED_MS || this.#isReplaced(heard)) this.#heard.delete(id)
    }
  }

  /**
   * Returns whether a node of the same name has been started since this one was last heard. Two nodes of one name that
   * both run are both heard again and again, and both listed.
   */
  #isReplaced({ note: { name, startedAtMs }, heardAtMs }: Heard): boolean {
    const isNewer = (started: number, knownSinceMs: number): boolean =>
      started > startedAtMs && heardAtMs < knownSinceMs
    if (name === this.#parts.name() && isNewer(this.#startedAtMs, this.#startedAtMs)) return true
    for (const { note, knownSinceMs } of this.#heard.values()) {
      if (note.name === name && isNewer(note.startedAtMs, knownSinceMs)) return true
    }
    return false
  }

  #note(figures: Figures): NodeNote {
    const { version, state } = this.#parts
    const own = {
      id: this.id,
      name: this.#parts.name(),
      host: hostname().slice(0, 256),
      startedAtMs: this.#startedAtMs,
      version,
    }
    return { ...own, ...state(), atMs: this.#nowMs(), isLeaving: false, figures }
  }
}

function isAway({ heardAtMs }: Heard, nowMs: number): boolean {
  return nowMs - heardAtMs > AWAY_MS
}

function stateOf(heard: Heard, nowMs: number): NodeState {
  const { isLeaving: _leaving, figures: _figures, atMs: _at, ...node } = heard.note
  const { heardAtMs: seenAtMs } = heard
  const away = isAway(heard, nowMs)
  return { ...node, isHere: false, isAway: away, seenAtMs, listedUntilMs: away ? seenAtMs + LISTED_MS : undefined }
}

export const NODES = partKey<Pick<FleetNodes, 'list'>>('nodes')
