import { StoreFault } from '../../../engine/store-fault.ts'
import type { Args, Asker, RedisConnection, Reply } from '../connection/connection.ts'
import type { FunctionUse } from './function-use.ts'
import type { Script } from './scripts.ts'

/** One run of a script. The first key decides where; without keys, it is a function, and goes to the shard. */
export interface Call {
  readonly connection: RedisConnection
  readonly shard: string
  readonly script: Script
  /** Which servers can run functions. Default: none is asked to. */
  readonly functions?: FunctionUse | undefined
  readonly keys: readonly string[]
  readonly args: readonly (string | Buffer)[]
}

/**
 * Replies that mean that nothing was done, and that the server cannot work now. LOADING: it has just started; READONLY:
 * it is a replica now; OOM, MISCONF: it accepts no writes; CLUSTERDOWN, MASTERDOWN: its cluster has no owner for the
 * slot; BUSY: another script hangs; NOREPLICAS: too few copies; NOPERM, NOAUTH: an ACL forbids it. Redis 6.2 puts the
 * code of a script's error into the middle of a longer message, with a special sentence for ACLs.
 */
const UNAVAILABLE =
  /(?:^|[ :]-)(?:LOADING|READONLY|OOM|MISCONF|CLUSTERDOWN|MASTERDOWN|BUSY|NOREPLICAS|NOPERM|NOAUTH|TRYAGAIN)\b|The user executing the script can't/
/** What a server says that has become a replica. */
const NOT_A_MASTER = /^(READONLY|MASTERDOWN)\b/
const READONLY = /(?:^|[ :]-)READONLY\b/

/** What node-redis says of a command that it did not send. */
const NOT_SENT: ReadonlySet<string> = new Set(['The client is offline', 'The client is closed'])
/** What the server says begins with a code. */
const CODE = /^[A-Z][A-Z0-9]* /

const TRY_AGAIN_MS = 1

/** Receives how the run of a script ended; a failure as a StoreFault. */
export interface ScriptAsker {
  answered(reply: Reply): void
  failed(fault: StoreFault): void
  /**
   * Called first for a call that the server could not run, and of which nothing was done. Returns whether the asker
   * handles it another way, and wants no answer.
   */
  takeBack?(): boolean
  /** See Asker. */
  readonly isPrompt?: boolean
  /** Returns whether there is still time to try again. It is asked when a slot is moving. */
  isWorthwhile(): boolean
}

/**
 * Runs a script: as a function of the server where that can be, else by its hash. Only what was certainly not done is
 * sent again: when the server does not know the function or the script (it is sent in full, and a server that does not
 * take functions gets the script), and TRYAGAIN (keys of the batch are on both sides of a moving slot), as long as that
 * is worthwhile. Everything else fails.
 */
export function askScript(call: Call, asker: ScriptAsker): void {
  const run = spareRuns.pop() ?? new ScriptRun()
  run.begin(call, asker)
}

/** Like askScript with a promise. */
export function sendScript(call: Call, isWorthwhile: () => boolean): Promise<Reply> {
  return new Promise((resolve, reject) => {
    askScript(call, { answered: resolve, failed: reject, isWorthwhile })
  })
}

type Form = 'function' | 'hash' | 'full'

/** What a spare run is about. */
const NO_CALL: Call & ScriptAsker = {
  connection: {
    spansPartitions: true,
    ask() {},
    askShard() {},
    reset() {},
    shardOf: () => '',
    shards: () => [],
    close: async () => {},
  },
  shard: '',
  script: { source: '', sha: '', asFunction: undefined },
  keys: [],
  args: [],
  answered() {},
  failed() {},
  isWorthwhile: () => false,
}

/** Runs that ended well, for others to come: with its command, a run is a tenth of a lone decision's garbage. */
const spareRuns: ScriptRun[] = []
const MAX_SPARE_RUNS = 16

class ScriptRun implements Asker {
  #call: Call = NO_CALL
  #asker: ScriptAsker = NO_CALL
  #form: Form = 'hash'
  #isLoaded = false
  readonly #command: (string | Buffer)[] = ['', '', '1', '', '']

  begin(call: Call, asker: ScriptAsker): void {
    this.#call = call
    this.#asker = asker
    const { script, functions, shard } = call
    const name = script.asFunction?.name
    this.#form = name !== undefined && functions?.maybe(shard, name) === true ? 'function' : 'hash'
    this.start()
  }

  get isPrompt(): boolean {
    return this.#asker.isPrompt === true
  }

  start(): void {
    const { keys, args, script } = this.#call
    this.#ask(commandOf(this.#form, script, keys, args, this.#command), this)
  }

  #ask(args: Args, asker: Asker): void {
    const { connection, shard, keys } = this.#call
    if (keys.length === 0) connection.askShard(shard, args, asker)
    else connection.ask(keys[0], args, asker)
  }

  answered(reply: Reply): void {
    const asker = this.#asker
    if (spareRuns.length < MAX_SPARE_RUNS && !this.#isLoaded) {
      this.#call = NO_CALL
      this.#asker = NO_CALL
      spareRuns.push(this)
    }
    asker.answered(reply)
  }

  failed(error: Error): void {
    const { connection, shard } = this.#call
    const message = messageOf(error)
    if (this.#form === 'function' && isNoFunction(message)) this.#withoutFunction(message)
    else if (message.startsWith('NOSCRIPT') && this.#form === 'hash') {
      this.#form = 'full'
      this.start()
    } else if (message.startsWith('TRYAGAIN')) this.#tryAgain(error)
    else if (this.#call.keys.length > 0 || !NOT_A_MASTER.test(message) || this.#asker.takeBack?.() !== true)
      this.#asker.failed(faultOf(error, connection, shard))
  }

  #tryAgain(error: Error): void {
    const { connection, shard } = this.#call
    if (this.#asker.takeBack?.() === true) return
    if (this.#asker.isWorthwhile()) setTimeout(() => this.start(), TRY_AGAIN_MS)
    else this.#asker.failed(faultOf(error, connection, shard))
  }

  /** Defines the function and tries again, or does without where that is of no use. */
  #withoutFunction(message: string): void {
    const { keys, script, functions, shard } = this.#call
    if (script.asFunction === undefined) return
    const { name, library } = script.asFunction
    const giveUp = (): void => functions?.giveUp(shard, name)
    if (message.startsWith(NOT_FOUND) && !this.#isLoaded) {
      this.#isLoaded = true
      const failed = (error: Error): void => {
        if (!error.message.includes(EXISTS)) giveUp()
      }
      this.#ask(['FUNCTION', 'LOAD', library], { answered() {}, failed })
    } else {
      giveUp()
      if (keys.length === 0 && this.#asker.takeBack?.() === true) return
      this.#form = 'hash'
    }
    this.start()
  }
}

const NOT_FOUND = 'ERR Function not found'
const EXISTS = 'already exists'

/** Returns whether a server answered that it has no such function, knows no functions, or may not run them. */
function isNoFunction(message: string): boolean {
  return message.startsWith(NOT_FOUND) || /^ERR unknown command|^NOPERM .*'?fcall/i.test(message)
}

/** Returns what a failed command means. */
export function faultOf(error: unknown, connection: RedisConnection, shard: string): StoreFault {
  if (error instanceof StoreFault) return error
  const message = messageOf(error)
  if (NOT_SENT.has(message)) return new StoreFault('offline', shard, message, error)
  if (!isReply(error)) return new StoreFault('broken', shard, message, error)
  if (READONLY.test(message)) connection.reset(shard)
  return new StoreFault(UNAVAILABLE.test(message) ? 'unavailable' : 'broken', shard, message)
}

/**
 * Whether an error is a reply of the server. Clients have separate classes for that, but they cannot be compared: the
 * client may come from another package or copy than ours, and a bundle may have renamed its classes.
 */
function isReply(error: unknown): error is Error {
  return error instanceof Error && error.constructor !== Error && CODE.test(error.message)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Encodes a call. Most of a quiet service fit into the buffer for a lone one. */
function commandOf(form: Form, script: Script, keys: readonly string[], args: Args, room: (string | Buffer)[]): Args {
  const command = form === 'function' ? 'FCALL' : form === 'hash' ? 'EVALSHA' : 'EVAL'
  const what = form === 'function' ? String(script.asFunction?.name) : form === 'hash' ? script.sha : script.source
  if (keys.length === 1 && args.length === 1) {
    room[0] = command
    room[1] = what
    room[3] = keys[0]
    room[4] = args[0]
    return room
  }
  return [command, what, String(keys.length), ...keys, ...args]
}
