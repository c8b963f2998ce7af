import type { ServerResponse } from 'node:http'
import type { Ending } from './ending.ts'
import { isClosed } from './node-response.ts'

/**
 * Observes how a request ends, once: with the status when the answer was handed over completely. If the client leaves
 * before that, the handler may continue to work, and the request ends with the handler. Frameworks whose handlers are
 * promises report that (`workEnded`); for others it is known when they end the response, destroy it, or when what they
 * piped into it has no output any more. The end of a handler that does none of that is never observed.
 */
export class AnswerWatch {
  readonly #response: ServerResponse
  readonly #ending: Ending
  /** Whether `workEnded` is called when the handler has ended. */
  #isPromised: boolean
  #hasLeft = false
  #isWorkOver = false
  #isOver = false

  constructor(response: ServerResponse, ending: Ending, isPromised = false) {
    this.#response = response
    this.#ending = ending
    this.#isPromised = isPromised
    if (!isPromised) this.#watchDestroy()
    // A client that left while the limiter was asked has left already.
    if (isClosed(response)) this.#close()
    else {
      response.once('finish', () => this.#end(response.statusCode))
      response.once('close', () => this.#close())
    }
  }

  /** Says that the handler has ended, or never began. */
  workEnded(): void {
    this.#isWorkOver = true
    if (this.#hasLeft) this.#end(undefined)
  }

  /** Records that the handler's promise was not all of its work: it answers later. */
  workGoesOn(): void {
    this.#isPromised = false
    if (this.#hasLeft) this.#watchHandler()
    else this.#watchDestroy()
  }

  /** #close: Fastify's inject() closes without ever saying that it has finished, but ends first. */
  #close(): void {
    const response = this.#response
    if (response.writableFinished) this.#end(response.statusCode)
    if (this.#isOver || this.#hasLeft) return
    this.#hasLeft = true
    this.#ending.left()
    if (this.#isWorkOver || response.writableEnded) this.#end(undefined)
    else if (!this.#isPromised) this.#watchHandler()
  }

  #watchHandler(): void {
    const { end } = this.#response
    const wrapped = (...of: Parameters<typeof end>): ServerResponse => {
      this.workEnded()
      return end.apply(this.#response, of)
    }
    this.#response.end = wrapped as typeof end
    this.#response.once('unpipe', () => this.workEnded())
  }

  /** Distinguishes a handler that gives up from a client that leaves: both close the connection. */
  #watchDestroy(): void {
    const { destroy } = this.#response
    this.#response.destroy = (error) => {
      this.workEnded()
      return destroy.call(this.#response, error)
    }
  }

  #end(status: number | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#ending.ended(status)
  }
}
