import type { Worker } from 'node:worker_threads'
import { SluiceError } from '../core/errors.ts'
import type { CompileOptions } from '../core/rules/compile.ts'
import { loadRules, type RuleInput } from '../core/rules/load.ts'
import type { RulePart } from '../core/rules/packed-rules.ts'
import { RulesError } from '../core/rules/problems.ts'
import { RuleUnpacker } from '../core/rules/rule-unpacker.ts'
import type { MaybePromise } from '../engine/ports.ts'
import type { LoadedRules, RuleLoader } from '../engine/rule-source.ts'
import type { FromLoader, ToLoader } from './loader-messages.ts'

/** Texts up to this length are loaded here. It takes a few milliseconds, less than a thread takes to start. */
const SHORT = 2_048
/** How long a thread without work is kept: who edits rules often does so several times. */
const IDLE_MS = 10_000
/** How long the thread may take for an answer. */
const MAX_WAIT_MS = 60_000
const MAX_HEAP_MIB = 1_024

export interface ThreadLoaderOptions {
  /** The URL of the thread's code. Default: next to this file. */
  readonly entry?: URL
  /** Texts up to this length are loaded in this thread. Default: 2,048. */
  readonly short?: number
  /** How long a thread without work is kept. Default: 10 s. */
  readonly idleMs?: number
  /** How long the thread may take for an answer. Default: a minute. */
  readonly maxWaitMs?: number
  /** The most memory that the thread's heap may take. Default: 1 GiB. */
  readonly mostHeapMib?: number
  /** Whether loaded rules come with their parts. Default: false. */
  readonly keepParts?: boolean
}

/**
 * Loads rules in a separate thread, so that this one continues to decide. The thread parses, checks and compiles; its
 * result comes back in parts, each of which takes this thread less than a millisecond. The thread starts with the first
 * load, ends when it is idle, and keeps no process alive. Any failure of it is a RulesError, after which the next load
 * starts another. Where no thread can be started, rules are loaded here.
 */
export class ThreadLoader implements RuleLoader {
  readonly #options: ThreadLoaderOptions
  #thread: Promise<Worker | undefined> | undefined
  #idle: NodeJS.Timeout | undefined

  constructor(options: ThreadLoaderOptions = {}) {
    this.#options = options
  }

  load(inputs: readonly RuleInput[], options: CompileOptions): MaybePromise<LoadedRules> {
    const isShort = lengthOf(inputs) <= (this.#options.short ?? SHORT)
    // Options may hold more than can be sent.
    const { mergeDomains = false, defaults = {} } = options
    const plain = { mergeDomains, defaults }
    return isShort ? { rules: loadRules(inputs, plain) } : this.#loadAway(inputs, plain)
  }

  /** Ends the thread, if there is one. The next load starts another. */
  close(): void {
    clearTimeout(this.#idle)
    const ending = this.#thread
    this.#thread = undefined
    void ending?.then((thread) => thread?.terminate())
  }

  async #loadAway(inputs: readonly RuleInput[], options: CompileOptions): Promise<LoadedRules> {
    clearTimeout(this.#idle)
    try {
      const thread = await this.#running()
      if (thread === undefined) return { rules: loadRules(inputs, options) }
      return await this.#receive(thread, { type: 'load', inputs, options })
    } catch (error) {
      if (!(error instanceof ThreadFault)) throw error
      this.close()
      throw new RulesError([new SluiceError('RELOAD_FAILED', namesOf(inputs), error.message)])
    } finally {
      clearTimeout(this.#idle)
      this.#idle = setTimeout(() => this.close(), this.#options.idleMs ?? IDLE_MS)
      this.#idle.unref?.()
    }
  }

  /** Returns the thread that runs, or else a new one. */
  #running(): Promise<Worker | undefined> {
    if (this.#thread !== undefined) return this.#thread
    const starting = startThread(this.#options)
    this.#thread = starting
    const forget = (): void => {
      if (this.#thread === starting) this.#thread = undefined
    }
    void starting.then((thread) => (thread === undefined ? forget() : thread.once('exit', forget)))
    return starting
  }

  async #receive(thread: Worker, first: ToLoader): Promise<LoadedRules> {
    const { keepParts = false, maxWaitMs = MAX_WAIT_MS } = this.#options
    const unpacker = new RuleUnpacker()
    const parts: RulePart[] = []
    for (let message = first; ; message = { type: 'next' }) {
      const part = partOf(await ask(thread, message, maxWaitMs))
      if (keepParts) parts.push(part)
      const rules = unpacker.add(part)
      if (rules !== undefined) return keepParts ? { rules, parts } : { rules }
      // Other work has its turn first. Otherwise a quick thread could answer before this turn ends, again and again.
      await nextTurn()
    }
  }
}

/** Lets the event loop go round. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function partOf(answer: FromLoader): RulePart {
  if (answer.type === 'part') return answer.part
  if (answer.type !== 'refused')
    throw new ThreadFault(answer.type === 'fault' ? answer.reason : 'the thread was restarted')
  const errors = answer.errors.map(({ code, where, detail }) => new SluiceError(code, where, detail))
  throw new RulesError(errors, answer.omitted)
}

/** What happened to a thread that did not do its work. */
class ThreadFault extends Error {}

/**
 * Returns a thread that is ready, or nothing where there can be none: on a platform without threads, in a bundle
 * without the thread's code, where the process may not start any.
 */
async function startThread(options: ThreadLoaderOptions): Promise<Worker | undefined> {
  let thread: Worker | undefined
  try {
    const { Worker } = await import('node:worker_threads')
    // The first time, the import takes two milliseconds, and so does the start.
    await nextTurn()
    const entry = options.entry ?? new URL('./loader-thread.js', import.meta.url)
    const resourceLimits = { maxOldGenerationSizeMb: options.mostHeapMib ?? MAX_HEAP_MIB }
    // Flags that preload code into the process are of no use here.
    thread = new Worker(entry, { name: 'sluice rules', execArgv: [], resourceLimits })
    thread.unref?.()
    // Once it is ready, callers that wait for an answer learn of its end; in between it is not needed.
    thread.on('error', () => {})
    await answered(thread, MAX_WAIT_MS)
    return thread
  } catch {
    await thread?.terminate()
    return undefined
  }
}

function ask(thread: Worker, message: ToLoader, maxWaitMs: number): Promise<FromLoader> {
  const answer = answered(thread, maxWaitMs)
  thread.postMessage(message)
  return answer
}

/** Returns the next message of a thread. It rejects with a ThreadFault when there will be none. */
function answered(thread: Worker, maxWaitMs: number): Promise<FromLoader> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      clearTimeout(timeout)
      thread.off('message', onMessage).off('error', onError).off('exit', onExit)
    }
    const onMessage = (message: FromLoader): void => {
      settle()
      resolve(message)
    }
    const fail = (reason: string): void => {
      settle()
      reject(new ThreadFault(reason))
    }
    const onError = (error: unknown): void => fail(reasonOf(error))
    const onExit = (code: number): void => fail(`it ended with exit code ${code}`)
    const timeout = setTimeout(() => fail(`no answer within ${maxWaitMs} ms`), maxWaitMs)
    timeout.unref?.()
    thread.on('message', onMessage).on('error', onError).on('exit', onExit)
  })
}

function reasonOf(error: unknown): string {
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY') return 'it ran out of memory'
  return error instanceof Error ? error.message.split('\n')[0] : String(error)
}

/** Adds up the lengths of texts. The length of an object is unknown. */
function lengthOf(inputs: readonly RuleInput[]): number {
  return inputs.reduce((sum, input) => sum + ('text' in input ? input.text.length : Number.POSITIVE_INFINITY), 0)
}

function namesOf(inputs: readonly RuleInput[]): string {
  const [first, ...others] = inputs
  return others.length === 0 ? (first?.file ?? 'rules') : `${first.file} and ${others.length} more`
}
