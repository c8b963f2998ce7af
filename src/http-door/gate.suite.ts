import type { Clock } from '../core/clock.ts'
import { Gate, type GateOptions, type Pass } from './gate.ts'
import { targetPath } from './request-path.ts'
import type { RequestReader } from './request-reader.ts'

/** A request without a framework. */
export interface SimpleRequest {
  readonly ip?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly method?: string
  readonly url?: string
}

export const simpleReader: RequestReader<SimpleRequest> = {
  address: ({ ip }) => ip,
  peer: ({ ip }) => ip,
  header: ({ headers }, name) => headers?.[name],
  method: ({ method }) => method ?? 'GET',
  url: ({ url }) => url ?? '/',
  route: ({ url }) => ({ path: targetPath(url ?? '/'), caseSensitive: true, strict: true }),
}

/** A clock that a test sets. */
export class TestClock implements Clock {
  now = 1_700_000_000_000

  nowMs(): number {
    return this.now
  }
}

/** Makes a gate in memory, on a clock of the test's. */
export function gateOf(options: GateOptions<SimpleRequest>): {
  gate: Gate<SimpleRequest>
  clock: TestClock
  errors: unknown[]
  enter(request?: SimpleRequest): Pass
} {
  const clock = new TestClock()
  const errors: unknown[] = []
  const gate = new Gate({ clock, onError: (error) => void errors.push(error), ...options }, simpleReader)
  const enter = (request: SimpleRequest = { ip: '203.0.113.7' }): Pass => {
    const pass = gate.enter(request)
    if (pass instanceof Promise) throw new Error('the gate needed a promise')
    return pass
  }
  return { gate, clock, errors, enter }
}

/** Reads what a gate would send, as an object. */
export function fieldsOf(gate: Gate<SimpleRequest>, pass: Pass): Record<string, string> {
  const { names, values, length } = gate.fields(pass)
  return Object.fromEntries(Array.from({ length }, (_, i) => [names[i], values[i]]))
}
