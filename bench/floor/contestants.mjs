import { compileLimit } from '../../dist/core/limit.js'
import { LimitTexts } from '../../dist/stores/redis/formats/limit-texts.js'
import { decideFormat } from '../../dist/stores/redis/formats/wire-format.js'

const CALLERS = 1_000
const DAY_S = 86_400
const DAY_MS = 1_000 * DAY_S
const HOUR_MS = 3_600_000
const LIMIT = 1_000_000
const BATCH = 128
/** Callers who come too seldom for a slice: each decision is made in Redis, which looks whether something is lent. */
const LEASED = { consistency: 'leased', onStoreFailure: 'open', localShare: 1 }
/** As large as the state of a sliding window. */
const STATE = '0123456789abcdef'

/** What functions do that decide nothing: commands, by what they are called here. */
const STEPS = {
  none: [],
  INCRBY: [`call('INCRBY', key, '1')`],
  'GET, SET PX': [`call('GET', key)`, `call('SET', key, '${STATE}', 'PX', '${DAY_MS}')`],
  'GET, SET KEEPTTL': [`call('GET', key)`, `call('SET', key, '${STATE}', 'KEEPTTL')`],
  'GET, SETRANGE': [`call('GET', key)`, `call('SETRANGE', key, '12', 'cdef')`],
  'TIME, GET, SETRANGE': [`call('TIME')`, `call('GET', key)`, `call('SETRANGE', key, '12', 'cdef')`],
}
const SCRIPTS = ['none', 'GET, SET KEEPTTL']

const bodyOf = (steps) => `${steps.join(' ')} return 1`
const functionName = (i) => `floor_${i}`
const LIBRARY = `#!lua name=floor
local call
local register = redis.register_function
${Object.values(STEPS)
  .map(
    (steps, i) => `register('${functionName(i)}', function(keys, args)
if not call then call = redis.call end
local key = keys[1]
${bodyOf(steps)}
end)`,
  )
  .join('\n')}`

/** The bytes of a command. */
function encode(...args) {
  const parts = args.flatMap((arg) => {
    const bytes = Buffer.isBuffer(arg) ? arg : Buffer.from(String(arg))
    return [Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')]
  })
  return Buffer.concat([Buffer.from(`*${args.length}\r\n`), ...parts])
}

const keyOf = (name, n) => `sluice:{17}:${name.replaceAll(/\W+/g, '_')}|caller=${n}`
const callers = (make) => Array.from({ length: CALLERS }, (_, n) => make(n))

/**
 * Prepares them on a server. Each has
 *
 *   name, requests   bytes that are sent one after the other, each when the one before was answered
 *   replies          how many a request has
 *   decisions        how many a request asks for
 *   counts           for contestants with windows: the limit of each counter, which a request counts once per
 *                    decision
 */
export async function contestantsOn(redis) {
  const connection = await redis.connect()
  await connection.send('FUNCTION', 'LOAD', LIBRARY)
  await connection.send('FUNCTION', 'LOAD', decideFormat.script.asFunction.library)
  const named = async (name, commandOf) => {
    for (let n = 0; n < CALLERS; n++)
      await connection.send('SET', keyOf(name, n), name.includes('INCRBY') ? '0' : STATE, 'PX', DAY_MS)
    return { name, replies: 1, decisions: 1, counts: [], requests: callers((n) => commandOf(keyOf(name, n))) }
  }
  const limitText = new LimitTexts().of(compileLimit({ limit: LIMIT, window: DAY_MS }))
  const list = [
    {
      ...(await named('INCRBY + EXPIRE', (key) =>
        Buffer.concat([encode('INCRBY', key, 1), encode('EXPIRE', key, DAY_S)]),
      )),
      replies: 2,
    },
  ]
  for (const [i, what] of Object.keys(STEPS).entries())
    list.push(await named(`function: ${what}`, (key) => encode('FCALL', functionName(i), 1, key, limitText)))
  for (const what of SCRIPTS) {
    const body = bodyOf(STEPS[what].map((step) => `redis.${step.replace('key', 'KEYS[1]')}`))
    const sha = String(await connection.send('SCRIPT', 'LOAD', body))
    list.push(await named(`script: ${what}`, (key) => encode('EVALSHA', sha, 1, key, limitText)))
  }
  connection.close()
  return [...list, ...decisions()]
}

/** What the store sends. Their reply is awaited in bytes, where it is not a line. */
function decisions() {
  const [day, hour] = [DAY_MS, HOUR_MS].map((window) => compileLimit({ limit: LIMIT, window }))
  const of = (algorithm) => compileLimit({ algorithm, limit: LIMIT, window: DAY_MS })
  return [
    decisionsOf('sluice, sliding_window', [day]),
    decisionsOf('sluice, fixed_window', [of('fixed_window')]),
    decisionsOf('sluice, token_bucket', [of('token_bucket')]),
    decisionsOf('sluice, gcra', [of('gcra')]),
    decisionsOf('sluice, two rules', [day, hour]),
    decisionsOf(`sluice, ${BATCH} in a call`, [day], BATCH),
    decisionsOf(`sluice, ${BATCH} of two rules`, [day, hour], BATCH),
    decisionsOf('sluice, leased', [day], 1, LEASED),
    decisionsOf('sluice, two leased rules', [day, hour], 1, LEASED),
    decisionsOf(`sluice, ${BATCH} leased in a call`, [day], BATCH, LEASED),
  ]
}

function decisionsOf(name, limits, decisions = 1, policy = undefined) {
  const texts = new LimitTexts()
  const groupOf = (n) => ({
    charges: limits.map((limit) => ({ key: keyOf(name, n % CALLERS), limit, cost: 1, enforce: true, policy })),
    permits: undefined,
  })
  const requests = Array.from({ length: decisions === 1 ? CALLERS : 32 }, (_, request) => {
    const groups = Array.from({ length: decisions }, (_, i) => groupOf(request * decisions + i))
    const { keys, args } = decideFormat.encode(groups, texts)
    return encode('FCALL', decideFormat.script.asFunction.name, keys.length, ...keys, ...args)
  })
  const isWindow = limits.every(({ unitsPerMs }) => unitsPerMs === 0)
  return { name, requests, replies: 1, decisions, counts: isWindow ? limits : [] }
}
