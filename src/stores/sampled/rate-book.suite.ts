import type { RateReply, RateReport, Sampler } from '../../engine/ports.ts'
import { StoreFault } from '../../engine/store-fault.ts'

interface Known {
  readonly offeredPerMs: number
  readonly admitted: number
  readonly endsAtMs: number
}

interface Rates {
  readonly nodes: Map<string, Known>
  level: number
  atMs: number
  sum: number
  summedAtMs: number
}

const SUM_MS = 100

/** Does what sample.lua does; tests/parity compares both. */
export class RateBook implements Sampler {
  readonly #now: () => number
  readonly #rates = new Map<string, Rates>()
  readonly reports: RateReport[] = []
  isAway = false

  constructor(now: () => number) {
    this.#now = now
  }

  report(report: RateReport): RateReply {
    this.reports.push(report)
    if (this.isAway) throw new StoreFault('timeout', 'book', 'away')
    const { key, node, offeredPerMs, admitted, recent, refillPerMs, burst, lifeMs } = report
    const nowMs = this.#now()
    const rates = this.#rates.get(key) ?? { nodes: new Map(), level: burst, atMs: nowMs, sum: 0, summedAtMs: 0 }
    this.#rates.set(key, rates)
    const found = rates.nodes.get(node)
    let knownOffered = found?.offeredPerMs ?? 0
    if (nowMs < rates.summedAtMs) {
      rates.nodes.clear()
      knownOffered = 0
      rates.summedAtMs = 0
    }
    const refilled = Math.min(burst, rates.level + Math.max(0, nowMs - rates.atMs) * refillPerMs)
    const more = found === undefined ? recent : Math.min(admitted - found.admitted, recent)
    rates.level = Math.max(-burst, Math.min(burst, refilled - more))
    rates.atMs = nowMs
    rates.nodes.set(node, { offeredPerMs, admitted, endsAtMs: nowMs + lifeMs })
    if (nowMs - rates.summedAtMs >= SUM_MS) {
      rates.sum = 0
      for (const [name, known] of rates.nodes) {
        if (known.endsAtMs > nowMs) rates.sum += known.offeredPerMs
        else rates.nodes.delete(name)
      }
      rates.summedAtMs = nowMs
    } else rates.sum = Math.max(offeredPerMs, rates.sum + offeredPerMs - knownOffered)
    return { offeredPerMs: rates.sum, level: rates.level }
  }
}
