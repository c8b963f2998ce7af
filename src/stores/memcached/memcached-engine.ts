import { StoreFault } from '../../engine/store-fault.ts'
import type { CasEngine, CasResult, CasWrite, Stored, TimeSample } from '../cas/cas-engine.ts'
import { storedName } from '../cas/stored-name.ts'
import { MetaConnection, type MetaReply } from './meta-connection.ts'

export interface MemcachedServer {
  readonly host: string
  readonly port: number
}

/** Keys are shorter than 250 bytes. */
const MAX_NAME = 249
/** A longer time to live is taken for a date. */
const MAX_RELATIVE_S = 2_592_000
const SECOND_MS = 1_000

/**
 * Keeps counters in Memcached, each under the CAS token that the server gives it. There are no transactions: of a group
 * of several counters, what was written is taken back when another part could not be. Memcached removes what has
 * expired, and, when it is full, what has not been used for longest.
 */
export class MemcachedEngine implements CasEngine {
  readonly name: string
  readonly isAtomic = false
  readonly maxNames = 256
  readonly #servers: readonly { readonly name: string; readonly connection: MetaConnection }[]

  constructor(servers: readonly MemcachedServer[]) {
    const names = servers.map(({ host, port }) => `${host}:${port}`)
    this.name = `memcached ${names.join(',')}`
    this.#servers = servers.map((server, i) => ({
      name: names[i],
      connection: new MetaConnection(`memcached ${names[i]}`, server),
    }))
  }

  async read(names: readonly string[]): Promise<readonly (Stored | undefined)[]> {
    return all(
      names.map(async (name) => {
        const key = storedName(name, MAX_NAME)
        const reply = await this.#connectionOf(key).ask(`mg ${key} v c\r\n`)
        if (reply.code === 'EN') return undefined
        if (reply.code !== 'VA' || reply.value === undefined) throw this.#faultOf(reply)
        return { text: reply.value.toString('latin1'), version: tokenOf(reply) ?? '' }
      }),
    )
  }

  async write(writes: readonly CasWrite[]): Promise<readonly CasResult[]> {
    return all(
      writes.map(async ({ name, text, base, ttlMs }): Promise<CasResult> => {
        const key = storedName(name, MAX_NAME)
        const mode = base === undefined ? 'ME' : `C${base}`
        const head = `ms ${key} ${text.length} T${secondsOf(ttlMs)} ${mode} c\r\n`
        const reply = await this.#connectionOf(key).ask(Buffer.from(`${head}${text}\r\n`, 'latin1'))
        if (reply.code === 'HD') return { isWritten: true, version: tokenOf(reply) ?? '' }
        if (reply.code === 'NF') return { isWritten: false, found: undefined }
        if (reply.code === 'EX' || reply.code === 'NS') return { isWritten: false }
        throw this.#faultOf(reply)
      }),
    )
  }

  /** Memcached does it alone. */
  async expire(): Promise<boolean> {
    return false
  }

  /** The clock of the first server, which shows whole seconds. */
  async time(): Promise<TimeSample> {
    const reply = await this.#servers[0].connection.ask('stats\r\n', true)
    const line = reply.flags.find((each) => each.startsWith('STAT time '))
    const seconds = Number(line?.slice('STAT time '.length))
    if (!(seconds > 0)) throw this.#faultOf(reply)
    return { ms: seconds * SECOND_MS, withinMs: SECOND_MS }
  }

  async close(): Promise<void> {
    for (const { connection } of this.#servers) connection.close()
  }

  /** Returns the server of a key: that for which the two together have the highest hash, so that one more moves few. */
  #connectionOf(key: string): MetaConnection {
    let best = this.#servers[0]
    if (this.#servers.length === 1) return best.connection
    let highest = -1
    for (const server of this.#servers) {
      const hash = hashOf(`${server.name} ${key}`)
      if (hash > highest) {
        highest = hash
        best = server
      }
    }
    return best.connection
  }

  #faultOf({ code, flags }: MetaReply): StoreFault {
    const detail = `${code} ${flags.slice(0, 8).join(' ')}`
    return new StoreFault('unavailable', this.name, detail)
  }
}

/** Returns the CAS token among the flags of a reply. */
function tokenOf({ flags }: MetaReply): string | undefined {
  return flags.find((flag) => flag.startsWith('c'))?.slice(1)
}

function secondsOf(ttlMs: number): number {
  // Memcached's seconds end up to one early.
  const seconds = Math.ceil(ttlMs / SECOND_MS) + 1
  return seconds <= MAX_RELATIVE_S ? seconds : Math.floor(Date.now() / SECOND_MS) + seconds
}

/** Waits for all, so that no write is on its way when the first fault is reported. */
async function all<T>(calls: readonly Promise<T>[]): Promise<readonly T[]> {
  const ended = await Promise.allSettled(calls)
  return ended.map((each) => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  })
}

/** FNV-1a, and another round of mixing: its high bits alone hardly change with the last character. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}
