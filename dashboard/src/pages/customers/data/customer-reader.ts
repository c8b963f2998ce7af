import { ask } from '../../../api/client.ts'
import type { CustomerParts, CustomerWithParts } from '../../../api/operations.ts'
import { ApiProblem } from '../../../api/problem.ts'

type PartName = Exclude<keyof CustomerParts, 'problems'>

const FIGURES: readonly PartName[] = ['limits', 'refusals']
const ALL: readonly PartName[] = [...FIGURES, 'keys', 'overrides', 'grants', 'blocks', 'usage', 'changes']
/** Others change records, too. */
const RECORDS_MS = 15_000

/** A CustomerRead is what is known of a customer: each part as it was read last, or why it could not be. */
export interface CustomerRead {
  readonly customer: CustomerWithParts
  readonly parts: Partial<CustomerParts>
  readonly problems: ReadonlyMap<string, ApiProblem>
}

type Include = (names: readonly PartName[], signal: AbortSignal) => Promise<CustomerWithParts>

/** CustomerReader reads a customer with one request: what was used each time, and records when they are due. What was read before stays. */
export class CustomerReader {
  readonly #include: Include
  readonly #nowMs: () => number
  #dueMs = 0
  #last: CustomerRead | undefined

  constructor(include: Include, nowMs: () => number = Date.now) {
    this.#include = include
    this.#nowMs = nowMs
  }

  /** ofCustomer reads from the admin API. */
  static ofCustomer(id: string): CustomerReader {
    return new CustomerReader(async (names, signal) => {
      const query = { include: names.join() }
      return (await ask('readCustomer', { params: { customer_id: id }, query, signal })).body
    })
  }

  async read(signal: AbortSignal): Promise<CustomerRead> {
    const nowMs = this.#nowMs()
    const isWhole = nowMs >= this.#dueMs
    const names = isWhole ? ALL : FIGURES
    const customer = await this.#include(names, signal)
    const { problems = [], ...parts } = customer.included ?? {}
    const others = [...(this.#last?.problems ?? [])].filter(([name]) => !names.some((each) => each === name))
    const found = problems.map(({ part, code, detail }) => [part, new ApiProblem(503, code, detail)] as const)
    // What could not be read is tried again with the next figures.
    if (isWhole && found.length === 0) this.#dueMs = nowMs + RECORDS_MS
    this.#last = { customer, parts: { ...this.#last?.parts, ...parts }, problems: new Map([...others, ...found]) }
    return this.#last
  }

  /** forget has everything read again next time. */
  forget(): void {
    this.#dueMs = 0
  }
}
