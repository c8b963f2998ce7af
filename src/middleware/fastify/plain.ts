import { OptionKind } from '../option-kind.ts'
import type { PlainOptions } from './options.ts'

/** Options of both kinds, and what Fastify itself has to say to a plugin. */
const SHARED = ['redis', 'secret', 'hook', 'prefix', 'logLevel', 'logSerializers']
const KIND = new OptionKind('@fastify/rate-limit', SHARED, ['handler'])

/** isPlain says of which kind options are. */
export function isPlain(options: object): options is PlainOptions {
  return KIND.isPlain(options)
}
