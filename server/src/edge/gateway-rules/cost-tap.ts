import { MAX_COUNT } from 'sluice/internal/core/limit'
import type { Fields } from '../gateway/gate.ts'
import { JsonScanner } from './json-scanner.ts'
import type { SettleSource } from './planned-route.ts'
import { SseScanner } from './sse-scanner.ts'

/** Reads the real cost of a request out of its answer, as that passes by. */
export class CostTap {
  readonly #source: SettleSource
  #reader: JsonScanner | SseScanner | undefined
  #header: number | undefined

  constructor(source: SettleSource) {
    this.#source = source
  }

  responded(headers: Fields): void {
    const { header, json, sse } = this.#source
    if (header !== undefined) this.#header = costOf(fieldOf(headers, header))
    // What is compressed cannot be read in passing.
    if ((fieldOf(headers, 'content-encoding') ?? 'identity').toLowerCase() !== 'identity') return
    const isStream = (fieldOf(headers, 'content-type') ?? '').toLowerCase().startsWith('text/event-stream')
    if (isStream && sse !== undefined) this.#reader = new SseScanner(sse)
    else if (!isStream && json !== undefined) this.#reader = new JsonScanner(json)
  }

  /** Whether the body is to be heard. */
  get wantsBody(): boolean {
    return this.#source.json !== undefined || this.#source.sse !== undefined
  }

  heard(piece: Buffer): void {
    this.#reader?.push(piece)
  }

  /** Ends the reading, and returns what was found: a whole number from 0 on. A field comes before the body. */
  cost(): number | undefined {
    this.#reader?.end()
    return this.#header ?? costOf(this.#reader?.lastNumber)
  }

  /** How many events of a stream have passed: models send about one for each token. 0 for any other answer. */
  get events(): number {
    return this.#reader instanceof SseScanner ? this.#reader.events : 0
  }
}

/** Rounds up, as everywhere; what is no cost, or below 0, is none. */
function costOf(value: string | number | undefined): number | undefined {
  if (value === undefined || value === '') return undefined
  const cost = Math.ceil(Number(value))
  return Number.isFinite(cost) && cost >= 0 ? Math.min(cost, MAX_COUNT) : undefined
}

/** Returns the first field of a name in lower case. */
export function fieldOf(fields: Fields, name: string): string | undefined {
  for (let i = 0; i < fields.length; i += 2) if (fields[i].toLowerCase() === name) return fields[i + 1]
  return undefined
}
