import { mostAdmittedWithin, mostWithin, seededRandom } from '../../core/algorithms/oracle.suite.ts'
import type { Verdict } from '../../core/decision.ts'
import { compileLimit, type Limit, type LimitOptions } from '../../core/limit.ts'
import type {
  Charge,
  LendingStore,
  MaybePromise,
  Notice,
  NoticeListener,
  SliceReply,
  SliceRequest,
  Store,
} from '../../engine/ports.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import { LendingMemoryStore } from '../lending/lending-memory-store.ts'
import { LeasedStore } from './leased-store.ts'

/** What a schedule may do besides asking and waiting. */
export interface Weather {
  /** Messages are lost, late, doubled, and overtake each other. */
  readonly isLossy: boolean
  readonly crashes: boolean
  /** Nodes' clocks are set forward, the lender's back and forward, by up to a lease. */
  readonly clocksJump: boolean
  /** Nodes lease from a node of the middle, which leases from the store. */
  readonly isLayered: boolean
}

const LEASE_MS = 200

/** A request on its way to the lender, or its answer on the way back. */
interface Letter {
  readonly request: SliceRequest
  reply: SliceReply | undefined
  readonly receive: (reply: SliceReply) => void
  readonly giveUp: () => void
  isAnswered: boolean
}

/** Carries letters of one node when the schedule says so. */
class Wire implements LendingStore {
  readonly letters: Letter[] = []
  readonly #decisions: (() => void)[] = []
  readonly #parent: LendingStore
  isCut = false
  /** Decisions that the parent made by itself, and those of them that slices were in the way of. */
  decided = 0
  lent = 0

  constructor(parent: LendingStore) {
    this.#parent = parent
  }

  exchange(request: SliceRequest): Promise<SliceReply> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(new StoreFault('timeout', 'model', 'lost'))
      this.letters.push({ request, reply: undefined, receive: resolve, giveUp, isAnswered: false })
    })
  }

  /** Moves a letter one step: to the lender, or back. `isDoubled` leaves a copy that arrives again. */
  async carry(at: number, isDoubled: boolean): Promise<void> {
    const letter = this.letters[at % (this.letters.length || 1)]
    if (letter === undefined || this.isCut) return
    at = this.letters.indexOf(letter)
    if (letter.reply === undefined) {
      if (isDoubled) this.letters.push({ ...letter, receive() {}, giveUp() {} })
      const reply = this.#parent.exchange(letter.request)
      if (reply instanceof Promise) {
        // A lender in the middle has to ask itself. Its answer is on the way when it comes.
        this.letters.splice(at, 1)
        reply.then(
          (value) => this.letters.push({ ...letter, reply: value }),
          () => letter.giveUp(),
        )
      } else letter.reply = reply
      return
    }
    this.letters.splice(at, 1)
    letter.receive(letter.reply)
  }

  /** Lets a node give up on a letter. It may arrive all the same. */
  lose(at: number, isGone: boolean): void {
    const letter = this.letters[at]
    if (letter === undefined) return
    letter.giveUp()
    if (isGone) this.letters.splice(at, 1)
  }

  /** Keeps a decision of the parent until the schedule lets it be made. Refunds are made at once. */
  decide(charges: readonly Charge[]): MaybePromise<readonly Verdict[]> {
    if (charges[0].cost < 0) return this.#parent.decide(charges)
    return new Promise((resolve) => {
      this.#decisions.push(() => resolve(this.#noted(charges)))
    })
  }

  async #noted(charges: readonly Charge[]): Promise<readonly Verdict[]> {
    const verdicts = await this.#parent.decide(charges)
    if (charges[0].key === 'k') this.decided++
    if (verdicts[0].lent) this.lent++
    return verdicts
  }

  get isDeciding(): boolean {
    return this.#decisions.length > 0
  }

  decideNext(): void {
    this.#decisions.shift()?.()
  }

  turn(): void {
    this.isCut = !this.isCut
  }

  acquire: Store['acquire'] = (charges) => this.#parent.acquire(charges)
  release: Store['release'] = (lease) => this.#parent.release(lease)
  renew: Store['renew'] = (permits) => this.#parent.renew(permits)
  reset: Store['reset'] = (key, limit) => this.#parent.reset(key, limit)
  close(): void {}
  notify(notice: Notice): void {
    if (!this.isCut) this.#parent.notify(notice)
  }
  listen(listener: NoticeListener): () => void {
    return this.#parent.listen(listener)
  }
}

interface Node {
  readonly wire: Wire
  readonly store: LeasedStore
  clock: { aheadMs: number }
}

/** What a schedule did: admissions at the way the lender's clock has gone forward until then. */
export interface Played {
  readonly admitted: [timeMs: number, hits: number][]
  readonly refused: number
  /** What the parent decided about the counter by itself, and how often slices were in the way. */
  readonly decided: number
  readonly lent: number
  /** What is left when everybody has given back, and a window and the leases have passed. */
  readonly leftAtEnd: number
  /** A sentence on what is wrong, if anything is. */
  readonly complaint: string | undefined
}

/** Runs one random schedule of several nodes on one counter. The same seed gives the same schedule. */
export async function playSchedule(
  seed: number,
  options: LimitOptions,
  weather: Weather,
  steps: number,
): Promise<Played> {
  const random = seededRandom(seed)
  const below = (count: number): number => Math.floor(random() * count)
  const oneOf = <T>(list: readonly T[]): T => list[below(list.length)]
  const limit = compileLimit(options)
  const time = { realMs: 1_000_000, lenderAheadMs: 0, forwardMs: 0 }
  const lender = new LendingMemoryStore({ clock: { nowMs: () => time.realMs + time.lenderAheadMs } })
  const admitted: [number, number][] = []
  let refused = 0
  let complaint: string | undefined
  let made = 0
  const wires: Wire[] = []

  const makeNode = (parent: LendingStore): Node => {
    const clock = { aheadMs: below(1000) }
    const wire = new Wire(parent)
    wires.push(wire)
    const nowMs = (): number => time.realMs + clock.aheadMs
    const node = `n${made++}.`
    const minHits = oneOf([1, 2, 4])
    const options = { clock: { nowMs }, node, leaseMs: LEASE_MS, minHits, isTimed: false }
    return { wire, clock, store: new LeasedStore(wire, options) }
  }
  const middle = weather.isLayered ? makeNode(lender) : undefined
  const nodes = Array.from({ length: 2 + below(3) }, () => makeNode(middle?.store ?? lender))
  const all = (): Node[] => (middle === undefined ? nodes : [middle, ...nodes])

  const crash = (): void => {
    nodes[below(nodes.length)] = makeNode(middle?.store ?? lender)
  }
  const askOften = (node: Node): void => {
    for (let i = 0; i < 6; i++) ask(node, 1)
  }
  const ask = (node: Node, cost: number, withOther = false): void => {
    const charges: Charge[] = [{ key: 'k', limit, cost, enforce: true, policy: LEASED }]
    // Another rule decides too, exactly, and often refuses: then what was taken of the slice goes back.
    if (withOther) charges.push({ key: 'other', limit: OTHER, cost: 1, enforce: true })
    const note = (allowed: boolean, remaining: number): void => {
      if (allowed) admitted.push([time.forwardMs, cost])
      else refused++
      if (remaining > limit.capacity) complaint = `remaining ${remaining} is more than the limit ${limit.capacity}`
    }
    const heard = (verdicts: readonly Verdict[]): void => {
      note(
        verdicts.every(({ allowed }) => allowed),
        verdicts[0].remaining,
      )
    }
    const verdicts = node.store.decide(charges)
    if (verdicts instanceof Promise) verdicts.then(heard, () => {})
    else heard(verdicts)
  }
  // What was taken of a slice is admitted now, or not at all: no time passes while another rule is asked.
  const decideAll = async (): Promise<void> => {
    while (wires.some((wire) => wire.isDeciding)) {
      for (const wire of wires) wire.decideNext()
      await flush()
    }
  }
  const pass = async (ms: number): Promise<void> => {
    await decideAll()
    time.realMs += ms
    time.forwardMs += ms
  }
  const lastJump = { realMs: Number.NEGATIVE_INFINITY }
  const jump = async (): Promise<void> => {
    await decideAll()
    const node = nodes[below(nodes.length)]
    if (below(3) === 0) node.clock.aheadMs += below(3 * LEASE_MS)
    else if (below(2) === 0) time.lenderAheadMs -= below(2 * limit.windowMs)
    else if (time.realMs - lastJump.realMs > 2 * LEASE_MS) {
      // Twice a lease is kept for clocks that run apart: more than one step of a lease within that is beyond the promise.
      lastJump.realMs = time.realMs
      const ms = below(LEASE_MS)
      time.lenderAheadMs += ms
      time.forwardMs += ms
    }
  }
  const acts: [weight: number, act: () => unknown][] = [
    [36, () => ask(oneOf(nodes), below(8) === 0 ? 1 + below(4) : 1)],
    [4, () => askOften(oneOf(nodes))],
    [6, () => ask(oneOf(nodes), 1, true)],
    [26, () => oneOf(all()).wire.carry(below(weather.isLossy ? 4 : 1), weather.isLossy && below(10) === 0)],
    [4, () => oneOf(all()).wire.decideNext()],
    [12, () => pass(below(30))],
    [6, () => pass(below(3) === 0 ? below(2 * limit.windowMs) : below(LEASE_MS))],
    [8, () => oneOf(all()).store.tick()],
    [2, () => void oneOf(all()).store.drain()],
    [weather.isLossy ? 2 : 0, () => oneOf(all()).wire.lose(below(4), below(2) === 0)],
    [weather.isLossy ? 1 : 0, () => oneOf(all()).wire.turn()],
    [weather.crashes ? 1 : 0, () => crash()],
    [weather.clocksJump ? 5 : 0, () => jump()],
  ]
  const stir = async (): Promise<void> => {
    let dice = random() * acts.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, act] of acts) {
      dice -= weight
      if (dice < 0) {
        await act()
        return
      }
    }
  }
  for (let i = 0; i < steps; i++) {
    await stir()
    await flush()
  }

  // Everybody comes back, gives back, and time passes: nothing of the budget is lost for good.
  for (const wire of wires) wire.isCut = false
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 40 && wires.some((wire) => wire.letters.length > 0); i++) {
      for (const wire of wires) await wire.carry(0, false)
      await flush()
    }
  }
  await decideAll()
  await settle()
  for (const node of [...nodes, ...(middle ? [middle] : [])]) {
    void node.store.drain()
    await settle()
  }
  await pass(4 * LEASE_MS)
  await settle()
  // Letters that were late may have brought new slices, of which nobody knows any more.
  await pass(4 * LEASE_MS)
  lender.exchange({ ...PROBE, limit })
  await pass(2 * limit.windowMs + 1)
  const { held, free } = lender.exchange({ ...PROBE, limit, sequence: 2 })
  const [decided, lent] = [sumOf(wires, 'decided'), sumOf(wires, 'lent')]
  return { admitted, refused, decided, lent, leftAtEnd: held + free, complaint }
}

function sumOf(wires: readonly Wire[], field: 'decided' | 'lent'): number {
  return wires.reduce((sum, wire) => sum + wire[field], 0)
}

const PROBE: SliceRequest = {
  key: 'k',
  limit: compileLimit({ limit: 1, window: 1 }),
  holder: 'probe',
  sequence: 1,
  spent: 0,
  confirmed: 0,
  keep: 0,
  need: 0,
  ahead: 0,
  cost: 1,
  leaseMs: 1,
  timeoutMs: 1,
}

const OTHER = compileLimit({ algorithm: 'fixed_window', limit: 1, window: 100 })
const LEASED = { consistency: 'leased', onStoreFailure: 'open', localShare: 1, timeoutMs: 5 } as const

/** Returns a sentence when some span holds more than the algorithm by itself would admit. */
export function overAdmitted(limit: Limit, admitted: Played['admitted'], extra: number): string | undefined {
  for (const share of [0, 0.1, 0.5, 0.9, 1]) {
    const spanMs = Math.max(1, Math.round(limit.windowMs * share))
    const [most, bound] = [mostWithin(admitted, spanMs), mostAdmittedWithin(limit, spanMs) + extra]
    if (most > bound) return `${most} in ${spanMs} ms, where ${bound} is the most`
  }
  return undefined
}

/** Returns the most that any window of a fixed window's grid holds. */
export function inOneWindow(limit: Limit, admitted: Played['admitted']): number {
  const windows = new Map<number, number>()
  for (const [timeMs, hits] of admitted) {
    const window = Math.floor((timeMs + 1_000_000) / limit.windowMs)
    windows.set(window, (windows.get(window) ?? 0) + hits)
  }
  return Math.max(0, ...windows.values())
}

/** Lets everything happen that needs no more news: promises that wait for promises, at most so many deep. */
async function flush(): Promise<void> {
  for (let i = 0; i < DEEPEST; i++) await undefined
}

const DEEPEST = 16
