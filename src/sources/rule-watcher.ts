import { SluiceError } from '../core/errors.ts'
import type { RuleText } from '../core/rules/load.ts'
import { RulesError } from '../core/rules/problems.ts'
import type { RuleReceiver } from '../engine/rule-source.ts'
import { fingerprint, readRuleFiles } from './rule-files.ts'

export type { RuleReceiver }

const POLL_MS = 200
/** How often files that change during a read are read again, if a caller waits for the answer. */
const MAX_READS = 5

/**
 * Keeps a receiver up to date with rule files. It looks at their times and sizes five times a second and reads them
 * when two looks in a row agree on a change, so that a file that is still being written is left alone: a change is in
 * force after less than half a second. Looking, instead of asking the system for events, sees every way to change a
 * file: plain writes, renames, the symbolic links of a Kubernetes ConfigMap, network file systems.
 */
export class RuleWatcher {
  readonly #paths: readonly string[]
  readonly #receiver: RuleReceiver
  readonly #schedule: (look: () => void) => () => void
  #loaded: string | undefined
  #seen: string | undefined
  #cancel: (() => void) | undefined
  #isStopped = false
  #lastTurn: Promise<unknown> = Promise.resolve()

  constructor(paths: readonly string[], receiver: RuleReceiver, schedule = every(POLL_MS)) {
    this.#paths = paths
    this.#receiver = receiver
    this.#schedule = schedule
  }

  /** Reads the files, and watches them from then on. It returns whether they are in force. */
  async start(): Promise<boolean> {
    const isGood = await this.reload()
    this.#again()
    return isGood
  }

  /** Ends the watch. What is being read is not reported any more. */
  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  /** Reads the files immediately, changed or not. Returns whether they are in force. */
  reload(): Promise<boolean> {
    return this.#inTurn(async () => {
      let settled: Reading | undefined
      for (let reads = 1; settled === undefined; reads++) {
        const reading = await this.#read(await fingerprint(this.#paths))
        if (reading.isWhole || reads === MAX_READS) settled = reading
      }
      return this.#report(settled)
    })
  }

  /** Compares the files with what was read last. */
  look(): Promise<void> {
    return this.#inTurn(async () => {
      const mark = await fingerprint(this.#paths)
      const isStable = mark === this.#seen
      this.#seen = mark
      if (!isStable || mark === this.#loaded) return
      const reading = await this.#read(mark)
      if (reading.isWhole) await this.#report(reading)
    })
  }

  /**
   * Does one thing at a time. Otherwise a look that began before a reload could end after it and put older rules in
   * force.
   */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(work)
    this.#lastTurn = turn.catch(() => undefined)
    return turn
  }

  /** Reads all files. The result is whole when none of them changed meanwhile: no mix of two versions. */
  async #read(mark: string): Promise<Reading> {
    const result = await readRuleFiles(this.#paths).catch((error: unknown) => this.#asRulesError(error))
    return { result, mark, isWhole: (await fingerprint(this.#paths)) === mark }
  }

  async #report({ result, mark }: Reading): Promise<boolean> {
    if (this.#isStopped) return false
    this.#loaded = mark
    this.#seen = mark
    try {
      if (!(result instanceof RulesError)) return await this.#receiver.apply(result)
      this.#receiver.refuse(result)
    } catch (error) {
      this.#receiver.refuse(this.#asRulesError(error))
    }
    return false
  }

  /** Whatever goes wrong while rules are read, those in force stay in force. */
  #asRulesError(error: unknown): RulesError {
    if (error instanceof RulesError) return error
    return new RulesError([new SluiceError('RULE_SYNTAX', this.#paths.join(', '), String(error))])
  }

  #again(): void {
    if (this.#isStopped) return
    this.#cancel = this.#schedule(() => {
      void this.look().then(() => this.#again())
    })
  }
}

/** What the files said, or why they could not be read, and the fingerprint they had before. */
interface Reading {
  readonly result: readonly RuleText[] | RulesError
  readonly mark: string
  readonly isWhole: boolean
}

/** Calls back once after a time, without keeping the process alive for it. */
function every(ms: number): (look: () => void) => () => void {
  return (look) => {
    const timer = setTimeout(look, ms)
    timer.unref?.()
    return () => clearTimeout(timer)
  }
}
