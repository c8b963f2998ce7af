import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../server/src/net/manual-clock.suite.ts'
import { Random } from '../fuzz/random.ts'
import { until } from '../servers/until.mjs'
import { ECHO, EchoServer } from './echo-server.ts'
import { MemorySocket } from './memory-socket.ts'
import { mutate, type Session, validSession } from './session.ts'
import { answersOf, call, type Frame, PREFACE, prefixed, settings, Type } from './wire.ts'

// Whatever a client sends, in whatever pieces: the server neither throws nor hangs nor keeps anything of it. Every case is
// made from a seed, which a failure names; FUZZ_SEED=n FUZZ_RUNS=m runs others.

const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1)
const RUNS = process.env.FUZZ_RUNS === undefined ? undefined : Number(process.env.FUZZ_RUNS)
const seeds = (runs: number) => Array.from({ length: RUNS ?? runs }, (_, i) => FIRST_SEED + i)

class Bench {
  readonly clock = new ManualClock()
  readonly echo = new EchoServer({ clock: this.clock })

  /** Has a client send pieces, one in each turn of the event loop or all at once, and returns its connection. */
  async talk(pieces: readonly Buffer[], inTurns: boolean): Promise<MemorySocket> {
    const socket = new MemorySocket()
    this.echo.server.addConnection(socket)
    for (const piece of pieces) {
      if (socket.destroyed || socket.writableEnded) break
      socket.push(piece)
      if (inTurns) await nextTurn()
    }
    await nextTurn()
    await nextTurn()
    return socket
  }

  /** Ends a connection as a client does that goes away, and checks that nothing of it is left. */
  async leave(socket: MemorySocket): Promise<void> {
    socket.destroy()
    await nextTurn()
    const { connectionsOpen, streamsOpen } = this.echo.stats
    expect({ connectionsOpen, streamsOpen, held: this.echo.held, errors: this.echo.errors }).toEqual({
      connectionsOpen: 0,
      streamsOpen: 0,
      held: 0,
      errors: [],
    })
    expect(this.clock.timers, 'timers').toBeLessThanOrEqual(1)
  }
}

/** Adds the seed to whatever goes wrong. */
async function naming(seed: number, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
}

/** Cuts bytes into pieces of random sizes, most of them small. */
function chunked(random: Random, bytes: Buffer): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + random.below(random.pick([3, 10, 100, 5_000]))
    chunks.push(bytes.subarray(at, at + size))
    at += size
  }
  return chunks
}

/** What answers say: everything but when windows are opened, which depends on when data arrives. */
function tellingOf(frames: readonly Frame[]): unknown {
  const others = frames.filter(({ type }) => type === Type.PING || type === Type.SETTINGS || type === Type.GOAWAY)
  return {
    answers: [...answersOf(frames)].sort(([a], [b]) => a - b),
    others: others.map(({ type, flags, payload }) => [type, flags, payload.toString('hex')]),
  }
}

function expectAnswers(frames: readonly Frame[], { answers }: Session): void {
  const got = answersOf(frames)
  expect([...got.keys()].sort((a, b) => a - b)).toEqual([...answers.keys()])
  for (const [stream, message] of answers) {
    const { headers, data, trailers, reset } = got.get(stream)!
    expect({ headers, trailers, reset }, `stream ${stream}`).toEqual({
      headers: [':status: 200', 'content-type: application/grpc'],
      trailers: ['grpc-status: 0'],
      reset: undefined,
    })
    expect(data.equals(prefixed(message)), `message of stream ${stream}`).toBe(true)
  }
}

describe('a valid session', () => {
  it.each(seeds(60))('is answered, and the same in whatever pieces it arrives (seed %i)', (seed) =>
    naming(seed, async () => {
      const random = new Random(seed)
      const session = validSession(random, ECHO.unary)
      const bytes = Buffer.concat(session.frames)
      const bench = new Bench()
      const whole = await bench.talk([bytes], false)
      expectAnswers(whole.frames, session)
      const telling = tellingOf(whole.frames)
      await bench.leave(whole)
      for (const [pieces, inTurns] of [
        [session.frames, true],
        [chunked(random, bytes), true],
        [chunked(random, bytes), false],
      ] as const) {
        const socket = await bench.talk(pieces, inTurns)
        expect(tellingOf(socket.frames)).toEqual(telling)
        await bench.leave(socket)
      }
    }),
  )

  it('is answered the same when it is split in two at any byte, and when it comes byte by byte', async () => {
    const bytes = Buffer.concat([
      PREFACE,
      settings([4, 100_000]),
      call(1, ECHO.unary, Buffer.from('one')),
      call(3, '/no.Such/Method', Buffer.from('two')),
      call(5, ECHO.unary, Buffer.alloc(300, 7)),
    ])
    const bench = new Bench()
    const whole = await bench.talk([bytes], false)
    const telling = tellingOf(whole.frames)
    expect(answersOf(whole.frames).get(5)?.trailers).toEqual(['grpc-status: 0'])
    await bench.leave(whole)
    for (let at = 1; at < bytes.length; at++) {
      const socket = await bench.talk([bytes.subarray(0, at), bytes.subarray(at)], true)
      expect(tellingOf(socket.frames), `split at ${at}`).toEqual(telling)
      await bench.leave(socket)
    }
    const socket = await bench.talk(
      Array.from(bytes, (byte) => Buffer.of(byte)),
      true,
    )
    expect(tellingOf(socket.frames)).toEqual(telling)
    await bench.leave(socket)
  })

  it('leaves nothing behind when it is cut off at any byte', async () => {
    const { frames } = validSession(new Random(7), ECHO.unary)
    const bytes = Buffer.concat(frames).subarray(0, 3_000)
    const bench = new Bench()
    for (let end = 0; end < bytes.length; end++) await bench.leave(await bench.talk([bytes.subarray(0, end)], false))
  })
})

describe('a session that is damaged', () => {
  it.each(seeds(25))('ends in answers or a GOAWAY, and leaves nothing behind (seed %i)', (seed) =>
    naming(seed, async () => {
      const random = new Random(seed * 1_000_003)
      const bench = new Bench()
      for (let n = 0; n < 50; n++) {
        const path = random.pick([ECHO.unary, ECHO.unary, ECHO.hold, ECHO.stream, ECHO.crash])
        const bytes = Buffer.concat(mutate(random, validSession(random, path).frames))
        const pieces = random.chance(0.5) ? [bytes] : chunked(random, bytes)
        const socket = await bench.talk(pieces, random.chance(0.2))
        expectBounded(socket, bytes, path)
        await bench.leave(socket)
      }
    }),
  )

  /** An answer may be a little larger than what asked for it, never much. Streams are asked for more. */
  function expectBounded(socket: MemorySocket, input: Buffer, path: string): void {
    const { frames } = socket
    if (path !== ECHO.stream) expect(socket.output.length).toBeLessThan(2_000 + 20 * input.length)
    expect(frames.filter(({ type }) => type === Type.GOAWAY).length).toBeLessThanOrEqual(2)
    expect(() => answersOf(frames)).not.toThrow()
  }
})

describe('random bytes', () => {
  it.each(seeds(30))('end in a GOAWAY, and leave nothing behind (seed %i)', (seed) =>
    naming(seed, async () => {
      const random = new Random(seed * 7_919)
      const bench = new Bench()
      for (let n = 0; n < 40; n++) {
        const bytes = random.bytes(random.below(400))
        // Without a preface nobody gets past the door; with it and SETTINGS, the rest is read as frames.
        const start = random.pick([[], [PREFACE], [PREFACE, settings()]])
        const socket = await bench.talk([...start, ...chunked(random, bytes)], false)
        expect(socket.output.length).toBeLessThan(2_000 + 20 * bytes.length)
        expect(() => socket.frames).not.toThrow()
        await bench.leave(socket)
      }
    }),
  )
})

describe('connections that have ended', () => {
  it('are held by nothing, whatever happened on them', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const random = new Random(FIRST_SEED)
    const bench = new Bench()
    const sockets: WeakRef<MemorySocket>[] = []
    for (let n = 0; n < 300; n++) {
      const path = random.pick([ECHO.unary, ECHO.hold, ECHO.late, ECHO.stream, ECHO.crash])
      const { frames } = validSession(random, path)
      const bytes = Buffer.concat(random.chance(0.5) ? frames : mutate(random, frames))
      const socket = await bench.talk(chunked(random, bytes), false)
      sockets.push(new WeakRef(socket))
      await bench.leave(socket)
    }
    bench.echo.forget()
    // Streams of Node.js let go of their last chunks a few turns later.
    await until('they are let go of', () => {
      collect()
      return sockets.filter((each) => each.deref() !== undefined).length <= 1
    })
  })
})

describe('a client that falls silent', () => {
  it.each(seeds(30))('is hung up on in the end, whatever it sent before (seed %i)', (seed) =>
    naming(seed, async () => {
      const random = new Random(seed * 104_729)
      const bench = new Bench()
      const bytes = Buffer.concat(validSession(random, random.pick([ECHO.unary, ECHO.hold])).frames)
      const socket = await bench.talk([bytes.subarray(0, random.below(bytes.length))], false)
      for (let hour = 0; hour < 30 && !socket.destroyed; hour++) {
        bench.clock.advance(3_600_000)
        await nextTurn()
      }
      expect(socket.destroyed).toBe(true)
      await bench.leave(socket)
    }),
  )
})
