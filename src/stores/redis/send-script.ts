import { StoreFault } from '../../engine/store-fault.ts'
import type { RedisConnection } from './connection.ts'
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

/**
 * sendScript runs a script by its hash. Only what was certainly not done is sent again: NOSCRIPT (the server does not know
 * the script: it is sent in full) and TRYAGAIN (keys of the batch are on both sides of a moving slot), as long as
 * `isWorthwhile`. Everything else rejects with a StoreFault.
 */
export async function sendScript(call: Call, isWorthwhile: () => boolean): Promise<unknown> {
  let inFull = false
  for (;;) {
    try {
      return await run(call, inFull)
    } catch (error) {
      const message = messageOf(error)
      if (message.startsWith('NOSCRIPT') && !inFull) inFull = true
      else if (message.startsWith('TRYAGAIN') && isWorthwhile()) await pause(TRY_AGAIN_MS)
      else throw faultOf(error, call.connection, call.shard)
    }
  }
}

function run({ connection, script, keys, args }: Call, inFull: boolean): Promise<unknown> {
  const command = inFull ? ['EVAL', script.source] : ['EVALSHA', script.sha]
  return connection.call(keys[0], [...command, String(keys.length), ...keys, ...args])
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

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
