import { Duplex } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ManualClock } from '../../server/src/net/manual-clock.suite.ts'
import { Random } from '../fuzz/random.ts'
import { ECHO, EchoServer } from './echo-server.ts'
import { HostileSession } from './hostile-session.ts'
import { MemorySocket } from './memory-socket.ts'
import { mutate } from './session.ts'
import { call, PREFACE, settings, Type } from './wire.ts'

const LIMITS = {
  maxConcurrentStreams: 64,
  maxMessageBytes: 65_536,
  maxPendingBytes: 131_072,
  maxQueuedBytes: 131_072,
  maxOutputBytes: 131_072,
  outputHighWaterBytes: 65_536,
  maxHeldBytes: 262_144,
  maxConnections: 8,
}
const PATHS = [ECHO.unary, ECHO.unary, ECHO.hold, ECHO.late, ECHO.crash, `/x/${'é'.repeat(900)}`, '/no.Such/Method']
const STEPS = 60
/** The head of a frame, and what we let it promise. */
const MAX_FRAME_BYTES = 16_384 + 9
const MAX_STREAMS = LIMITS.maxConcurrentStreams * 4
/** A connection without a call holds its tables, and what is not read yet. */
const MAX_AT_REST_BYTES = 16_384
/** What is written for what is read. Measured are up to 6, where calls of 40 bytes are refused in 240. */
const MAX_AMPLIFICATION = 12
/** What a connection is told in any case: settings, windows, and why it ends. */
const ALLOWANCE_BYTES = 4_000

/** A connection without a network whose other end reads only when it likes. */
class Attacker extends Duplex {
  readonly session: HostileSession
  /** Frames that the server may not have read yet: it stops while nobody reads its answers. */
  frames = 0
  settingsFrames = 0
  #held: (() => void) | undefined
  #reads = true

  constructor(random: Random) {
    super()
    this.session = new HostileSession(random, PATHS)
    this.on('error', () => {})
  }

  get isGone(): boolean {
    return this.destroyed || this.writableEnded
  }

  /** Says that the server has read all of it, if it has. */
  forget(): void {
    if (this.readableLength > 0) return
    this.frames = 0
    this.settingsFrames = 0
  }

  set reads(reads: boolean) {
    this.#reads = reads
    if (reads) this.#held?.()
  }

  override _read(): void {}

  override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
    const take = (): void => {
      this.#held = undefined
      done()
    }
    if (this.#reads) take()
    else this.#held = take
  }
}

/** A proper client of the same server. */
class Neighbour {
  readonly socket = new MemorySocket()
  #stream = -1

  start(echo: EchoServer): void {
    echo.server.addConnection(this.socket)
    this.socket.push(Buffer.concat([PREFACE, settings()]))
  }

  /** Makes a call, and says whether it is answered within a few turns. */
  async isAnswered(): Promise<boolean> {
    this.#stream += 2
    this.socket.push(call(this.#stream, ECHO.unary, Buffer.of(1)))
    for (let turn = 0; turn < 3; turn++) await nextTurn()
    return this.socket
      .takeFrames()
      .some(({ type, flags, stream }) => type === Type.HEADERS && stream === this.#stream && (flags & 1) !== 0)
  }
}

/** What runs came to see, for whoever wants to know whether a fuzzer is any good. */
export interface Totals {
  steps: number
  connections: number
  mostHeld: number
  mostStreams: number
  mostWalked: number
  mostAmplified: number
  readonly closedFor: Record<string, number>
}

export const newTotals = (): Totals => ({
  steps: 0,
  connections: 0,
  mostHeld: 0,
  mostStreams: 0,
  mostWalked: 0,
  mostAmplified: 0,
  closedFor: {},
})

/**
 * Has attackers send what a seed stands for, beside a proper client. It throws where the server gives in: where it
 * holds more than it may, does more than what was sent is worth, lets the other client wait, fails, or keeps something.
 */
export async function fuzzFrames(seed: number, totals: Totals = newTotals()): Promise<void> {
  await new Fuzz(new Random(seed), totals).run()
}

class Fuzz {
  readonly #random: Random
  readonly #totals: Totals
  readonly #clock = new ManualClock()
  readonly #echo = new EchoServer({ clock: this.#clock, limits: LIMITS })
  readonly #neighbour = new Neighbour()
  #attackers: Attacker[] = []
  #connections = 1

  constructor(random: Random, totals: Totals) {
    this.#random = random
    this.#totals = totals
  }

  async run(): Promise<void> {
    const random = this.#random
    this.#neighbour.start(this.#echo)
    const crowd = 1 + random.below(4)
    for (let step = 0; step < STEPS; step++) {
      while (this.#attackers.length < crowd) this.#join()
      await this.#step(random.pick(this.#attackers))
      this.#attackers = this.#attackers.filter((each) => !each.isGone || this.#retire(each))
    }
    await this.#end()
  }

  /** Ends an attacker that the server has hung up on; it need not wait for that to be noticed. */
  #retire(attacker: Attacker): false {
    attacker.destroy()
    return false
  }

  #join(): void {
    const attacker = new Attacker(this.#random)
    this.#attackers.push(attacker)
    this.#connections++
    this.#echo.server.addConnection(attacker)
    attacker.push(Buffer.concat([PREFACE, settings([4, this.#random.pick([0, 1, 65_535])])]))
  }

  async #step(attacker: Attacker): Promise<void> {
    const random = this.#random
    const frames = attacker.session.next()
    const sent = random.chance(0.02) ? mutate(random, frames) : frames
    // Damage may put in a few frames more than there were.
    attacker.frames += sent.length + 5
    attacker.settingsFrames += frames.filter((each) => each[3] === Type.SETTINGS).length
    const count = this.#attackers.reduce((sum, each) => sum + each.frames, 0)
    const settingsFrames = this.#attackers.reduce((sum, each) => sum + each.settingsFrames, 0)
    const { streamsWalked, streamsOpen } = this.#echo.stats
    attacker.reads = random.chance(0.7)
    for (const piece of pieces(random, Buffer.concat(sent))) attacker.push(piece)
    await nextTurn()
    await nextTurn()
    this.#check()
    // Each frame may have one look, and a SETTINGS frame two at every stream: to set it, and to send on it.
    const most = count + 2 * (1 + settingsFrames) * Math.min(streamsOpen + count, MAX_STREAMS)
    this.#checkWork(this.#echo.stats.streamsWalked - streamsWalked, most)
    for (const each of this.#attackers) each.forget()
    if (random.chance(0.2)) this.#echo.release()
    if (random.chance(0.1)) this.#clock.advance(random.pick([100, 2_000, 20_000]))
    if (!(await this.#neighbour.isAnswered())) fail('the other client is not answered')
  }

  #check(): void {
    const { bytesHeld, bytesRead, bytesWritten, streamsOpen } = this.#echo.stats
    if (bytesHeld < 0 || bytesHeld > LIMITS.maxHeldBytes) fail(`${bytesHeld} bytes are held`)
    const allowed = ALLOWANCE_BYTES * this.#connections + MAX_AMPLIFICATION * bytesRead
    if (bytesWritten > allowed) fail(`${bytesWritten} bytes are written for ${bytesRead}`)
    if (this.#echo.errors.length > 0) fail(`an error: ${String(this.#echo.errors[0])}`)
    const totals = this.#totals
    totals.steps++
    totals.mostHeld = Math.max(totals.mostHeld, bytesHeld)
    totals.mostStreams = Math.max(totals.mostStreams, streamsOpen)
    const spent = Math.max(0, bytesWritten - ALLOWANCE_BYTES * this.#connections)
    totals.mostAmplified = Math.max(totals.mostAmplified, spent / bytesRead)
  }

  #checkWork(walked: number, most: number): void {
    if (walked > most) fail(`${walked} looks at streams, where ${most} would do`)
    this.#totals.mostWalked = Math.max(this.#totals.mostWalked, walked / most)
  }

  /** Has all attackers give up their calls: nothing is to be held for them any more. */
  async #rest(): Promise<void> {
    this.#echo.release()
    await this.#giveUp()
    // Calls that are open still were not given up: that was swallowed by a frame whose head promised more. The largest ends with this.
    const { stats } = this.#echo
    if (stats.streamsOpen > 0 && stats.bytesHeld > this.#mostAtRest) {
      for (let sent = 0; sent < MAX_FRAME_BYTES; ) sent += await this.#giveUp()
    }
    const { bytesHeld, streamsOpen } = this.#echo.stats
    if (bytesHeld > this.#mostAtRest) fail(`${bytesHeld} bytes are held for ${streamsOpen} calls`)
  }

  get #mostAtRest(): number {
    return MAX_AT_REST_BYTES * (this.#attackers.length + 1)
  }

  /** Returns how much every attacker sent at the least. */
  async #giveUp(): Promise<number> {
    let least = MAX_FRAME_BYTES
    for (const attacker of this.#attackers) {
      attacker.reads = true
      const frames = Buffer.concat(attacker.session.giveUp())
      least = Math.min(least, frames.length)
      if (!attacker.isGone) attacker.push(frames)
    }
    for (let turn = 0; turn < 4; turn++) await nextTurn()
    return Math.max(1, least)
  }

  async #end(): Promise<void> {
    await this.#rest()
    const { stats } = this.#echo
    if (this.#neighbour.socket.destroyed) fail('the other client was hung up on')
    this.#totals.connections += this.#connections
    for (const [reason, count] of Object.entries(stats.closedFor)) {
      this.#totals.closedFor[reason] = (this.#totals.closedFor[reason] ?? 0) + count
    }
    for (const each of [...this.#attackers, this.#neighbour.socket]) each.destroy()
    await nextTurn()
    await nextTurn()
    const { connectionsOpen, streamsOpen, bytesHeld } = stats
    const { held } = this.#echo
    if (connectionsOpen + streamsOpen + bytesHeld + held === 0) return
    fail(`left behind: ${JSON.stringify({ connectionsOpen, streamsOpen, bytesHeld, held })}`)
  }
}

function pieces(random: Random, bytes: Buffer): Buffer[] {
  if (random.chance(0.5) || bytes.length === 0) return [bytes]
  const at = random.below(bytes.length)
  return [bytes.subarray(0, at), bytes.subarray(at)]
}

function fail(message: string): never {
  throw new Error(message)
}
