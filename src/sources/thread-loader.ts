import type { Worker } from 'node:worker_threads'
import { SluiceError } from '../core/errors.ts'
import type { CompileOptions } from '../core/rules/compile.ts'
import { loadRules, type RuleInput, type RuleText } from '../core/rules/load.ts'
import type { RulePart } from '../core/rules/packed-rules.ts'
import { RulesError } from '../core/rules/problems.ts'
import { type RuleFigures, RuleMemory } from '../core/rules/rule-memory.ts'
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
  #lastTurn: Promise<unknown> = Promise.resolve()

  constructor(options: ThreadLoaderOptions = {}) {
    this.#options = options
  }

  load(inputs: readonly RuleInput[], options: CompileOptions): MaybePromise<LoadedRules> {
    const isShort = lengthOf(inputs) <= (this.#options.short ?? SHORT)
    const plain = plainOf(options)
    return isShort
      ? { rules: loadRules(inputs, plain) }
      : this.#away(inputs, (thread) => this.#load(thread, inputs, plain))
  }

  /**
   * Compiles a text together with others, and returns what it comes to alone. A load of the same texts that follows
   * compiles none of them again.
   */
  check(own: RuleText, others: readonly RuleInput[], options: CompileOptions): MaybePromise<RuleFigures> {
    const inputs = [...others, own]
    const plain = plainOf(options)
    const isShort = lengthOf(inputs) <= (this.#options.short ?? SHORT)
    return isShort
      ? checkHere(own, inputs, plain)
      : this.#away(inputs, (thread) => this.#check(thread, own, others, plain))
  }

  /** Ends the thread, if there is one. The next load starts another. */
  close(): void {
    clearTimeout(this.#idle)
    const ending = this.#thread
    this.#thread = undefined
    void ending?.then((thread) => thread?.terminate())
  }

  /** Has the thread do one thing after the other: its answers do not say what they are about. */
  #away<T>(inputs: readonly RuleInput[], work: (thread: Worker | undefined) => Promise<T>): Promise<T> {
    const done = this.#lastTurn.then(() => this.#withThread(inputs, work))
    this.#lastTurn = done.catch(() => {})
    return done
  }

  async #withThread<T>(inputs: readonly RuleInput[], work: (thread: Worker | undefined) => Promise<T>): Promise<T> {
    clearTimeout(this.#idle)
    try {
      return await work(await this.#running())
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

  async #check(thread: Worker | undefined, own: RuleText, others: readonly RuleInput[], options: CompileOptions) {
    if (thread === undefined) return checkHere(own, [...others, own], options)
    const answer = await ask(thread, { type: 'check', own, others, options }, this.#options.maxWaitMs ?? MAX_WAIT_MS)
    return answer.type === 'checked' ? answer.figures : refuse(answer)
  }

  async #load(thread: Worker | undefined, inputs: readonly RuleInput[], options: CompileOptions): Promise<LoadedRules> {
    if (thread === undefined) return { rules: loadRules(inputs, options) }
    let message: ToLoader = { type: 'load', inputs, options }
    const { keepParts = false, maxWaitMs = MAX_WAIT_MS } = this.#options
    const unpacker = new RuleUnpacker()
    const parts: RulePart[] = []
    for (;;) {
      const answer = await ask(thread, message, maxWaitMs)
      const part = answer.type === 'part' ? answer.part : refuse(answer)
      if (keepParts) parts.push(part)
      const rules = unpacker.add(part)
      if (rules !== undefined) return keepParts ? { rules, parts } : { rules }
      message = { type: 'next' }
      // Other work has its turn first. Otherwise a quick thread could answer before this turn ends, again and again.
      await nextTurn()
    }
  }
}

/** Lets the event loop go round. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Options may hold more than can be sent. */
function plainOf({ mergeDomains = false, defaults = {} }: CompileOptions): CompileOptions {
  return { mergeDomains, defaults }
}

function checkHere(own: RuleText, inputs: readonly RuleInput[], options: CompileOptions): RuleFigures {
  const memory = new RuleMemory()
  memory.load(inputs, options)
  return memory.figuresOf(own.text, options)
}

/** Throws what an answer says in place of the one that was expected. */
function refuse(answer: FromLoader): never {
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
