import { isIP } from 'node:net'
import type { HealthCheck, Upstream } from '../options.ts'
import type { Member } from './member.ts'

const EVERY_MS = 5_000
const TIMEOUT_MS = 2_000
const FAILURES = 3
const SUCCESSES = 2

/** Probes every address repeatedly, and takes out addresses that do not answer 2xx. */
export class HealthChecks {
  readonly after: (delayMs: number, run: () => void) => () => void
  readonly #members: readonly Member[]
  readonly #upstream: Upstream
  readonly #check: HealthCheck
  readonly #rows = new Map<Member, number>()
  #calledOff: (() => void) | undefined
  #isStopped = false

  constructor(members: readonly Member[], upstream: Upstream, after: HealthChecks['after']) {
    this.#members = members
    this.#upstream = upstream
    this.#check = upstream.health as HealthCheck
    this.after = after
  }

  start(): void {
    if (this.#isStopped) return
    for (const member of this.#members) {
      void probe(member, this.#check, this.#upstream.http2 === true).then((isWell) => this.#judge(member, isWell))
    }
    this.#calledOff = this.after(this.#check.everyMs ?? EVERY_MS, () => this.start())
  }

  stop(): void {
    this.#isStopped = true
    this.#calledOff?.()
  }

  /** Counts how often in a row a check says other than what is believed. */
  #judge(member: Member, isWell: boolean): void {
    if (isWell === member.isHealthy) {
      this.#rows.delete(member)
      return
    }
    const row = (this.#rows.get(member) ?? 0) + 1
    this.#rows.set(member, row)
    const { failures = FAILURES, successes = SUCCESSES } = this.#check
    if (row < (isWell ? successes : failures)) return
    this.#rows.delete(member)
    member.isHealthy = isWell
  }
}

/** Asks once. It never throws. */
function probe({ endpoint }: Member, check: HealthCheck, isHttp2: boolean): Promise<boolean> {
  const { path, timeoutMs = TIMEOUT_MS } = check
  const { url, tls, host } = endpoint
  const servername = tls?.servername ?? (isIP(host) === 0 ? host : '')
  return new Promise((resolve) => {
    if (isHttp2) return probeHttp2(url, path, timeoutMs, { ...tls, servername }, resolve)
    const { request } = process.getBuiltinModule(endpoint.scheme === 'https' ? 'node:https' : 'node:http')
    const asked = request(new URL(path, url), { ...tls, servername, agent: false, timeout: timeoutMs }, (response) => {
      response.resume()
      resolve(isGood(response.statusCode))
      asked.destroy()
    })
    asked.on('timeout', () => asked.destroy(new Error('timeout')))
    asked.on('error', () => resolve(false))
    asked.on('close', () => resolve(false))
    asked.end()
  })
}

function probeHttp2(
  url: string,
  path: string,
  timeoutMs: number,
  tls: object,
  resolve: (isWell: boolean) => void,
): void {
  const { connect } = process.getBuiltinModule('node:http2')
  const session = connect(url, tls)
  const settle = (isWell: boolean): void => {
    clearTimeout(timer)
    resolve(isWell)
    session.destroy()
  }
  const timer = setTimeout(() => settle(false), timeoutMs).unref()
  session.on('error', () => settle(false))
  const stream = session.request({ ':path': path })
  stream.on('error', () => settle(false))
  stream.on('response', (headers) => settle(isGood(headers[':status'])))
  stream.end()
}

function isGood(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300
}
