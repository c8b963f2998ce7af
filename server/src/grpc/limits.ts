import { type BudgetRates, DEFAULT_BUDGETS } from './budgets.ts'
import { MAX_WINDOW_BYTES } from './frames.ts'

/** Bounds what clients may ask of a server. All are per connection unless they say otherwise. */
export interface GrpcLimits {
  /**
   * Connections of the whole server, including those in a TLS handshake. Above that, idle ones of the address with the
   * most are closed; without idle ones, new connections are closed immediately. 20,000.
   */
  readonly maxConnections: number
  /**
   * Bytes that the whole server holds for its clients: requests, answers, headers and tables, and 512 for each call.
   * Above that, connections of the address that holds the most are closed, the heaviest first. 67,108,864.
   */
  readonly maxHeldBytes: number
  /** Calls in flight; more are refused with REFUSED_STREAM, which clients may retry. 1,024. */
  readonly maxConcurrentStreams: number
  /** The size of a request's message; larger ones are answered RESOURCE_EXHAUSTED. 65,536. */
  readonly maxMessageBytes: number
  /** The size of a message that came as gzip, unpacked; larger ones are answered RESOURCE_EXHAUSTED. 1,048,576. */
  readonly maxUnpackedBytes: number
  /**
   * What messages may unpack to in a second, beyond 64 KiB each and 16 times what was sent; past it they are answered
   * RESOURCE_EXHAUSTED. Four times that for an address, and sixteen times for the server. 4,194,304.
   */
  readonly unpackRateBytes: number
  /** The size of a header list as HPACK counts it (RFC 9113, 6.5.2). 32,768. */
  readonly maxHeaderListBytes: number
  /** Fields in a header list. 128. */
  readonly maxHeaderFields: number
  /** The size of a header block as sent, over all its frames. 32,768. */
  readonly maxHeaderBlockBytes: number
  /** CONTINUATION frames in one header block. 8. */
  readonly maxContinuations: number
  /** Settings in a SETTINGS frame; past it the connection ends. 32. */
  readonly maxSettingsEntries: number
  /** The flow control window of a connection; less than 65,535 counts as that. 1,048,576. */
  readonly connectionWindowBytes: number
  /**
   * Requests that are not complete or not answered yet, in memory; the call that goes past is answered
   * RESOURCE_EXHAUSTED. 4,194,304, or three of the largest messages.
   */
  readonly maxPendingBytes: number
  /** Answers that wait for the client to open its flow control windows; past it the connection ends. 8,388,608. */
  readonly maxQueuedBytes: number
  /** Answers that the client does not read from its socket; past it the connection ends. 8,388,608. */
  readonly maxOutputBytes: number
  /** Unread answers at which we stop reading requests and pause streaming calls. 262,144. */
  readonly outputHighWaterBytes: number
  /** From connecting to the client's SETTINGS; also the time for a TLS handshake. 10 s. */
  readonly prefaceTimeoutMs: number
  /** From the first byte of a frame, or of a header block, to its last. 10 s. */
  readonly frameTimeoutMs: number
  /** From a call's headers to the end of its message. 60 s. */
  readonly requestTimeoutMs: number
  /** Without a call and without a frame. 15 min. */
  readonly idleTimeoutMs: number
  /** Answers waiting, and less than 1,024 bytes of them taken. 30 s. */
  readonly stallTimeoutMs: number
  /**
   * The age at which a connection is asked to close, less up to a tenth so that not all close at the same time. 24 h.
   */
  readonly maxConnectionAgeMs: number
  /** How long its calls may take to end after that. 1 h. */
  readonly connectionAgeGraceMs: number
  /** What a client may do again and again before its connection ends; see BudgetRates. */
  readonly budgets: BudgetRates
}

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

export const DEFAULT_LIMITS: GrpcLimits = Object.freeze({
  maxConnections: 20_000,
  maxHeldBytes: 67_108_864,
  maxConcurrentStreams: 1_024,
  maxMessageBytes: 65_536,
  maxUnpackedBytes: 1_048_576,
  unpackRateBytes: 4_194_304,
  maxHeaderListBytes: 32_768,
  maxHeaderFields: 128,
  maxHeaderBlockBytes: 32_768,
  maxContinuations: 8,
  maxSettingsEntries: 32,
  connectionWindowBytes: 1_048_576,
  maxPendingBytes: 4_194_304,
  maxQueuedBytes: 8_388_608,
  maxOutputBytes: 8_388_608,
  outputHighWaterBytes: 262_144,
  prefaceTimeoutMs: 10 * SECOND_MS,
  frameTimeoutMs: 10 * SECOND_MS,
  requestTimeoutMs: 60 * SECOND_MS,
  idleTimeoutMs: 15 * MINUTE_MS,
  stallTimeoutMs: 30 * SECOND_MS,
  maxConnectionAgeMs: 24 * HOUR_MS,
  connectionAgeGraceMs: HOUR_MS,
  budgets: DEFAULT_BUDGETS,
})

/** So many of the largest messages can be on their way, by default: one that grows takes its own length twice. */
const MESSAGES_PENDING = 3

const MOST: Partial<Record<keyof GrpcLimits, number>> = {
  maxConcurrentStreams: 0x7fff_ffff,
  maxMessageBytes: 0x3fff_ffff,
  maxHeaderListBytes: 0x7fff_ffff,
  connectionWindowBytes: MAX_WINDOW_BYTES,
}

/** Limits that differ from the defaults. Times may be Infinity. */
export type GrpcLimitOptions = Partial<Omit<GrpcLimits, 'budgets'>> & { readonly budgets?: Partial<BudgetRates> }

/** Fills in the defaults. It throws a RangeError for a limit that is no positive whole number. */
export function resolveLimits(options: GrpcLimitOptions = {}): GrpcLimits {
  const { budgets, ...numbers } = options
  const chosen = Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== undefined))
  const maxPendingBytes = Math.max(DEFAULT_LIMITS.maxPendingBytes, MESSAGES_PENDING * (numbers.maxMessageBytes ?? 0))
  const limits = { ...DEFAULT_LIMITS, maxPendingBytes, ...chosen, budgets: { ...DEFAULT_BUDGETS, ...budgets } }
  for (const name of Object.keys(options) as (keyof GrpcLimits)[]) {
    if (!Object.hasOwn(DEFAULT_LIMITS, name)) throw new RangeError(`${name} is not a limit of a GrpcServer`)
    if (name !== 'budgets') requireLimit(name, limits[name])
  }
  return Object.freeze(limits)
}

function requireLimit(name: keyof GrpcLimits, value: number): void {
  const most = MOST[name] ?? Number.MAX_SAFE_INTEGER
  const isTime = name.endsWith('Ms')
  if (isTime && value === Number.POSITIVE_INFINITY) return
  if (Number.isInteger(value) && value >= 1 && value <= most) return
  throw new RangeError(
    `${name} is ${value}; it must be a whole number from 1 to ${most}${isTime ? ' or Infinity' : ''}`,
  )
}
