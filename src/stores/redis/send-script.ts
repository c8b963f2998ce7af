import { StoreFault } from '../../engine/store-fault.ts'
import type { Args, Asker, RedisConnection, Reply } from './connection.ts'
import type { Script } from './scripts.ts'

/** A Call is one run of a script. The first key decides where. */
export interface Call {
  readonly connection: RedisConnection
  readonly shard: string
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly (string | Buffer)[]
}

/**
 * Replies that say that nothing was done, and that the server cannot work now. LOADING: it has just started; READONLY: it
 * is a replica now; OOM, MISCONF: it takes no writes; CLUSTERDOWN, MASTERDOWN: its cluster has no owner for the slot;
 * BUSY: another script hangs; NOREPLICAS: too few copies; NOPERM, NOAUTH: an ACL forbids it. Redis 6.2 puts the code of
 * what a script met into the middle of a longer message, and ACLs have a sentence of their own there.
 */
const UNAVAILABLE =
  /(?:^|[ :]-)(?:LOADING|READONLY|OOM|MISCONF|CLUSTERDOWN|MASTERDOWN|BUSY|NOREPLICAS|NOPERM|NOAUTH|TRYAGAIN)\b|The user executing the script can't/
const READONLY = /(?:^|[ :]-)READONLY\b/

/** What node-redis says of a command that it did not send. */
const NOT_SENT: ReadonlySet<string> = new Set(['The client is offline', 'The client is closed'])
/** What the server says begins with a code. */
const CODE = /^[A-Z][A-Z0-9]* /

const TRY_AGAIN_MS = 1

/** A ScriptAsker is told how the run of a script ended; when it failed, by a StoreFault. */
export interface ScriptAsker {
  answered(reply: Reply): void
  failed(fault: StoreFault): void
  /** isWorthwhile says whether there is still time to try again. It is asked when a slot is moving. */
  isWorthwhile(): boolean
}

/**
 * askScript runs a script by its hash. Only what was certainly not done is sent again: NOSCRIPT (the server does not know
 * the script: it is sent in full) and TRYAGAIN (keys of the batch are on both sides of a moving slot), as long as
 * that is worthwhile. Everything else fails.
 */
export function askScript(call: Call, asker: ScriptAsker): void {
  new ScriptRun(call, asker).start('EVALSHA', call.script.sha)
}

/** sendScript is askScript with a promise. */
export function sendScript(call: Call, isWorthwhile: () => boolean): Promise<Reply> {
  return new Promise((resolve, reject) => {
    askScript(call, { answered: resolve, failed: reject, isWorthwhile })
  })
}

class ScriptRun implements Asker {
  readonly #call: Call
  readonly #asker: ScriptAsker
  #isInFull = false

  constructor(call: Call, asker: ScriptAsker) {
    this.#call = call
    this.#asker = asker
  }

  start(command: string, script: string): void {
    const { connection, keys, args } = this.#call
    connection.ask(keys[0], commandOf(command, script, keys, args), this)
  }

  answered(reply: Reply): void {
    this.#asker.answered(reply)
  }

  failed(error: Error): void {
    const { connection, shard, script } = this.#call
    const message = messageOf(error)
    if (message.startsWith('NOSCRIPT') && !this.#isInFull) {
      this.#isInFull = true
      this.start('EVAL', script.source)
    } else if (message.startsWith('TRYAGAIN') && this.#asker.isWorthwhile()) {
      setTimeout(() => this.#startAgain(), TRY_AGAIN_MS)
    } else this.#asker.failed(faultOf(error, connection, shard))
  }

  #startAgain(): void {
    const { script } = this.#call
    if (this.#isInFull) this.start('EVAL', script.source)
    else this.start('EVALSHA', script.sha)
  }
}

/** faultOf says what a failed command means. */
export function faultOf(error: unknown, connection: RedisConnection, shard: string): StoreFault {
  if (error instanceof StoreFault) return error
  const message = messageOf(error)
  if (NOT_SENT.has(message)) return new StoreFault('offline', shard, message, error)
  if (!isReply(error)) return new StoreFault('broken', shard, message, error)
  if (READONLY.test(message)) connection.reset(shard)
  return new StoreFault(UNAVAILABLE.test(message) ? 'unavailable' : 'broken', shard, message)
}

/**
 * isReply says whether an error is what the server replied. Clients have classes of their own for that. Which, is not asked:
 * the client may be of another package or copy than ours, and a bundle may have renamed its classes.
 */
function isReply(error: unknown): error is Error {
  return error instanceof Error && error.constructor !== Error && CODE.test(error.message)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function commandOf(command: string, script: string, keys: readonly string[], args: Args): Args {
  // A spread makes three times the garbage.
  const [key] = keys
  if (keys.length === 1 && args.length === 4) return [command, script, '1', key, args[0], args[1], args[2], args[3]]
  return [command, script, String(keys.length), ...keys, ...args]
}
