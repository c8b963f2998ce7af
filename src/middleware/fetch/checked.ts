import type { Decision } from '../../core/combine.ts'
import { Budget } from '../../http-door/budget.ts'
import type { Caller } from '../../http-door/caller.ts'
import type { Gate, Pass } from '../../http-door/gate.ts'
import { addFields, changeable, isFixed, watchBody } from '../../http-door/web-response.ts'

/**
 * What a limiter decided about one request. For an allowed request, report how it ended, with `answer` or with `end`:
 * refunds are made then, and permits of `concurrency` limits are released. A client that leaves does not end it: the
 * handler may still be working.
 */
export class Checked {
  readonly allowed: boolean
  /** The rate limit fields, to be sent with the answer. */
  readonly headers: Headers
  /** The answer to a request that is refused. */
  readonly response: Response | undefined
  readonly #gate: Gate<Request>
  readonly #pass: Pass
  readonly #request: Request
  #isAnswered = false

  constructor(gate: Gate<Request>, pass: Pass, request: Request, response: Response | undefined) {
    this.#gate = gate
    this.#pass = pass
    this.#request = request
    this.allowed = pass.allowed
    this.headers = new Headers()
    const { names, values, length } = gate.fields(pass)
    for (let i = 0; i < length; i++) this.headers.set(names[i], values[i])
    this.response = response && this.#withFields(response)
    if (pass.isOpen) this.#watchClient()
  }

  /** Continue only after this long: a leaky bucket says so. */
  get delayMs(): number {
    return this.#pass.delayMs
  }

  /** What remains of the tightest limit; undefined where none applied. */
  get budget(): Budget | undefined {
    return this.#pass.decision.tightest === undefined ? undefined : new Budget(this.#pass)
  }

  /** Takes what the request has cost in the end, where `cost` was an estimate. */
  settle(cost: number): Promise<Decision | undefined> {
    return this.#pass.settle(cost)
  }

  get decision(): Decision {
    return this.#pass.decision
  }

  get caller(): Caller | undefined {
    return this.#pass.caller
  }

  /** Returns the app's answer with the fields on it, and ends the request when its body was sent or given up. */
  answer(response: Response): Response {
    const answered = this.#withFields(response)
    if (!this.#pass.isOpen) return answered
    this.#isAnswered = true
    const { status } = answered
    const hasLeft = this.#request.signal.aborted
    if (!hasLeft && !isFixed(answered)) return watchBody(answered, (isWhole) => this.end(isWhole ? status : undefined))
    this.end(hasLeft ? undefined : status)
    return answered
  }

  /**
   * Reports that the handler has ended: with the status of the answer, or nothing if the client did not get it. Only
   * the first call counts.
   */
  end(status?: number): void {
    this.#gate.end(this.#pass, status)
  }

  #withFields(response: Response): Response {
    const fields = this.#gate.fields(this.#pass)
    if (fields.length === 0 || isFixed(response)) return response
    const answered = changeable(response)
    addFields(this.#request, answered.headers, fields, this.#pass.decision)
    return answered
  }

  #watchClient(): void {
    const { signal } = this.#request
    if (signal.aborted) this.#leave()
    else signal.addEventListener('abort', () => this.#leave(), { once: true })
  }

  #leave(): void {
    if (this.#isAnswered) this.end()
    else this.#gate.left(this.#pass)
  }
}
