import { SluiceError } from '../../core/errors.ts'
import { GATE_OPTIONS } from '../gate.ts'
import type { PlainOptions } from './options.ts'

/** Options of both kinds, and what Fastify itself has to say to a plugin. */
const SHARED: ReadonlySet<string> = new Set(['redis', 'secret', 'hook', 'prefix', 'logLevel', 'logSerializers'])
/** Options that make their owner a plain one. */
const PLAIN: ReadonlySet<string> = new Set([...GATE_OPTIONS, 'handler'].filter((name) => !SHARED.has(name)))

/** isPlain says of which kind options are, and refuses a mixture: half of it would be ignored. */
export function isPlain(options: object): options is PlainOptions {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  const plain = given.find(([name]) => PLAIN.has(name))?.[0]
  if (plain === undefined) return false
  const other = given.find(([name]) => !PLAIN.has(name) && !SHARED.has(name))?.[0]
  if (other !== undefined) {
    throw new SluiceError('GATE_OPTIONS_INVALID', other, `it does not go with ${plain}: one is of @fastify/rate-limit`)
  }
  return true
}
