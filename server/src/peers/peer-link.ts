import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import { CircuitBreaker } from 'sluice/internal/engine/circuit-breaker'
import { StoreFault } from 'sluice/internal/engine/store-fault'
import { decodeAnswers, encodeJobs, type PeerAnswer, type PeerJob } from './peer-jobs.ts'

/** The methods of peers, and the field that proves that a node belongs to them. */
export const PEER_METHODS = {
  hello: '/sluice.v1.Peers/Hello',
  run: '/sluice.v1.Peers/Run',
  give: '/sluice.v1.Peers/Give',
} as const
export const PEER_FIELD = 'sluice-peer'

const MOST_JOBS = 512
/** A batch ends when its keys have so many characters: a gRPC port takes messages of a bounded size. */
const MOST_KEY_LENGTH = 32_768
/** While so many batches are in flight, jobs wait and join: the busier the owner, the larger the batches. */
const MOST_FLIGHTS = 2
const MOST_WAITING = 20_000
const MOST_ANSWER_BYTES = 4 * 1_048_576
const LOOK_MS = 5
/** A look that comes later than this says that this process stood still: what waits has its time again, once. */
const STALL_MS = 25
const SILENT_MS = 100
const PREFIX_BYTES = 5

interface Waiting {
  readonly job: PeerJob
  readonly timeoutMs: number
  dueAtMs: number
  isExcused: boolean
  readonly resolve: (answer: PeerAnswer) => void
  readonly reject: (fault: StoreFault) => void
}

/** Talks to one other node over gRPC: jobs of one turn of the event loop travel together. Nothing is sent twice. */
export class PeerLink {
  readonly address: string
  readonly #token: string
  readonly #breaker = new CircuitBreaker()
  #session: ClientHttp2Session | undefined
  #isConnected = false
  #waiting: Waiting[] = []
  readonly #flights = new Set<readonly Waiting[]>()
  #isScheduled = false
  #timer: NodeJS.Timeout | undefined
  #lookedAtMs = 0
  #isClosed = false

  constructor(address: string, token: string) {
    this.address = address
    this.#token = token
  }

  /** Has the node do a job. Rejects with a StoreFault. */
  submit(job: PeerJob, timeoutMs: number): Promise<PeerAnswer> {
    if (this.#waiting.length >= MOST_WAITING)
      return Promise.reject(new StoreFault('overloaded', this.address, `${MOST_WAITING} decisions wait for this peer`))
    return new Promise((resolve, reject) => {
      const dueAtMs = performance.now() + timeoutMs
      this.#waiting.push({ job, timeoutMs, dueAtMs, isExcused: false, resolve, reject })
      this.#schedule()
    })
  }

  /** Calls a method, and returns the message of the answer. Rejects with a StoreFault. */
  call(path: string, message: Uint8Array, timeoutMs: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const stream = this.#open(path)
      const timer = setTimeout(() => fail('timeout', `no answer within ${timeoutMs} ms`), timeoutMs)
      const parts: Buffer[] = []
      let bytes = 0
      let status = ''
      const fail = (reason: 'timeout' | 'broken' | 'offline' | 'unavailable', detail: string): void => {
        clearTimeout(timer)
        stream.close(constants.NGHTTP2_CANCEL)
        reject(new StoreFault(reason, this.address, detail))
      }
      stream.on('response', (head) => {
        status = String(head['grpc-status'] ?? '')
      })
      stream.on('trailers', (tail) => {
        status = String(tail['grpc-status'] ?? status)
      })
      stream.on('data', (part: Buffer) => {
        bytes += part.length
        if (bytes > MOST_ANSWER_BYTES) fail('broken', 'the answer is too long')
        else parts.push(part)
      })
      stream.on('error', (error) => fail(this.#isConnected ? 'broken' : 'offline', error.message))
      stream.on('close', () => {
        clearTimeout(timer)
        if (status !== '0') fail(status === '' ? 'offline' : 'unavailable', `status ${status || 'missing'}`)
        else if (bytes < PREFIX_BYTES) fail('broken', 'the answer has no message')
        else resolve(Buffer.concat(parts).subarray(PREFIX_BYTES))
      })
      const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.length)
      framed.writeUInt8(0, 0)
      framed.writeUInt32BE(message.length, 1)
      framed.set(message, PREFIX_BYTES)
      stream.end(framed)
    })
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#session?.destroy()
    const fault = new StoreFault('offline', this.address, 'the peer left')
    for (const { reject } of this.#waiting.splice(0)) reject(fault)
  }

  #open(path: string): ClientHttp2Stream {
    const session = this.#session ?? this.#connect()
    return session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      [PEER_FIELD]: this.#token,
    })
  }

  #connect(): ClientHttp2Session {
    const session = connect(`http://${this.address}`)
    this.#session = session
    this.#isConnected = false
    const gone = (): void => {
      if (this.#session === session) this.#session = undefined
    }
    session.on('connect', () => {
      this.#isConnected = true
    })
    session.on('goaway', gone)
    session.on('close', gone)
    session.on('error', () => {
      gone()
      session.destroy()
    })
    session.unref()
    return session
  }

  #schedule(): void {
    if (this.#isScheduled || this.#flights.size >= MOST_FLIGHTS) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#flush()
    })
    if (this.#timer !== undefined) return
    this.#lookedAtMs = performance.now()
    this.#timer = setInterval(() => this.#look(), LOOK_MS)
    this.#timer.unref()
  }

  #flush(): void {
    const nowMs = performance.now()
    while (this.#waiting.length > 0 && this.#flights.size < MOST_FLIGHTS && !this.#isClosed) {
      const batch = this.#waiting.splice(0, batchLength(this.#waiting))
      if (this.#breaker.allows(nowMs)) this.#send(batch)
      else {
        const fault = new StoreFault('breaker_open', this.address, 'waiting for the peer to recover')
        for (const { reject } of batch) reject(fault)
      }
    }
  }

  #send(batch: readonly Waiting[]): void {
    this.#flights.add(batch)
    const jobs = batch.map(({ job }) => job)
    const longestMs = Math.max(...batch.map(({ timeoutMs }) => timeoutMs))
    this.call(PEER_METHODS.run, encodeJobs(jobs), longestMs + STALL_MS)
      .then((bytes) => {
        const answers = decodeAnswers(bytes, jobs)
        this.#breaker.succeeded()
        const elsewhere = new StoreFault('unavailable', this.address, 'the counters are on another node')
        batch.forEach(({ resolve, reject }, i) => {
          const answer = answers[i]
          if (answer === undefined) reject(elsewhere)
          else resolve(answer)
        })
      })
      .catch((error: unknown) => {
        this.#breaker.failed(performance.now(), SILENT_MS)
        const fault = error instanceof StoreFault ? error : new StoreFault('broken', this.address, String(error))
        for (const { reject } of batch) reject(fault)
      })
      .finally(() => {
        this.#flights.delete(batch)
        if (this.#waiting.length > 0) this.#schedule()
      })
  }

  /** Answers what is due, whatever the node does. */
  #look(): void {
    const nowMs = performance.now()
    const lateMs = nowMs - this.#lookedAtMs - LOOK_MS
    this.#lookedAtMs = nowMs
    const fault = new StoreFault('timeout', this.address, 'no answer within the deadline')
    for (const batch of [this.#waiting, ...this.#flights]) {
      for (const one of batch) {
        if (lateMs > STALL_MS && !one.isExcused) {
          one.isExcused = true
          one.dueAtMs = nowMs + one.timeoutMs
        } else if (one.dueAtMs <= nowMs) one.reject(fault)
      }
    }
    this.#waiting = this.#waiting.filter(({ dueAtMs }) => dueAtMs > nowMs)
    if (this.#waiting.length > 0 || this.#flights.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** Returns how many of the jobs that wait go together: at least one. */
function batchLength(waiting: readonly Waiting[]): number {
  let characters = 0
  for (let i = 0; i < Math.min(waiting.length, MOST_JOBS); i++) {
    for (const { key } of waiting[i].job.charges) characters += key.length
    if (characters > MOST_KEY_LENGTH && i > 0) return i
  }
  return Math.min(waiting.length, MOST_JOBS)
}
