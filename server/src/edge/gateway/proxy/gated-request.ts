import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { Admission, EndKind, Fields, Pass } from '../gate.ts'
import { AskedRequest } from './asked-request.ts'
import { Phase } from './phase.ts'

/** Asks the gate about a request, and reports to it what becomes of an admitted one. */
export abstract class GatedRequest extends AskedRequest {
  protected phase: number = Phase.gate
  protected pass: Pass | undefined

  /** Hears what the gate has decided, and `undecided` that it could not. */
  protected abstract decided(admission: Admission): void
  protected abstract undecided(): void
  /** Called when the gate takes its time. */
  protected abstract waitsForGate(): void

  /** Asks the gate before anything is read of the body, and answers where it refuses. */
  protected isTurnedAway(): boolean {
    try {
      const refusal = this.gateway.gate.before?.(this)
      if (refusal === undefined) return false
      this.decided(refusal)
    } catch (error) {
      this.#failed(error)
    }
    return true
  }

  /** Asks about the request, first about one whose body is still to come where `isEntering`. */
  protected askGate(isEntering = false): void {
    const { gate } = this.gateway
    this.phase = Phase.gate
    let admission: MaybePromise<Admission>
    try {
      admission = isEntering && gate.enter !== undefined ? gate.enter(this) : gate.admit(this, this.pass)
    } catch (error) {
      this.#failed(error)
      return
    }
    if (!(admission instanceof Promise)) {
      this.#take(admission)
      return
    }
    this.waitsForGate()
    admission.then(
      (value) => this.#take(value),
      (error: unknown) => this.#failed(error),
    )
  }

  protected notifyResponded(status: number, fields: Fields): void {
    if (this.pass?.responded !== undefined) this.#guard(() => this.pass?.responded?.(status, fields))
  }

  protected notifyHeard(piece: Buffer): void {
    if (this.pass?.heard !== undefined) this.#guard(() => this.pass?.heard?.(piece))
  }

  protected notifyEnded(kind: EndKind): void {
    const { pass } = this
    this.pass = undefined
    if (pass !== undefined) this.#guard(() => pass.ended(kind))
  }

  protected notifyLeft(): void {
    if (this.whenLeft !== undefined) this.#guard(this.whenLeft)
  }

  #take(admission: Admission): void {
    if (admission.kind === 'admitted') this.pass = admission
    // The client left, or its time was over, while the gate was thinking.
    if (this.phase === Phase.done) this.notifyEnded('abort')
    else this.decided(admission)
  }

  #failed(error: unknown): void {
    this.gateway.failed(error)
    if (this.phase === Phase.done) return
    this.notifyEnded('unserved')
    this.undecided()
  }

  /** Keeps what a gate throws away from the connection. */
  #guard(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.gateway.failed(error)
    }
  }
}
