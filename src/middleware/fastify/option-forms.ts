import { ANY, type Forms, type FormsOf, FUNCTION, oneOf } from '../../core/option-forms.ts'
import { GATE_FORMS } from '../../http-door/gate.ts'
import type { PlainOptions } from './options.ts'

export const HOOK = oneOf('onRequest', 'preParsing', 'preValidation', 'preHandler')
/** What Fastify passes on to a plugin. */
export const OF_FASTIFY: Forms = { prefix: ANY, logLevel: ANY, logSerializers: ANY }

export const PLAIN_FORMS: FormsOf<PlainOptions> = { ...GATE_FORMS, ...OF_FASTIFY, handler: FUNCTION, hook: HOOK }
