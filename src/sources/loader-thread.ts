import { parentPort } from 'node:worker_threads'
import { packRules } from '../core/rules/pack-rules.ts'
import type { RulePart } from '../core/rules/packed-rules.ts'
import { RulesError } from '../core/rules/problems.ts'
import { RuleMemory } from '../core/rules/rule-memory.ts'
import type { FromLoader, ToLoader } from './loader-messages.ts'

/** This is what runs in the thread of a ThreadLoader: it loads rules, and hands them out in parts. */

const memory = new RuleMemory()
let parts: Iterator<RulePart> | undefined

function answer(message: ToLoader): FromLoader {
  try {
    if (message.type === 'check') return { type: 'checked', figures: checked(message) }
    if (message.type === 'load') parts = packRules(memory.load(message.inputs, message.options))
    const next = parts?.next()
    return next?.done === false
      ? { type: 'part', part: next.value }
      : { type: 'fault', reason: 'there are no more parts' }
  } catch (error) {
    if (!(error instanceof RulesError)) return { type: 'fault', reason: String(error) }
    const errors = error.errors.map(({ code, where, detail }) => ({ code, where, detail }))
    return { type: 'refused', errors, omitted: error.omitted }
  }
}

function checked({ own, others, options }: Extract<ToLoader, { type: 'check' }>) {
  memory.load([...others, own], options)
  return memory.figuresOf(own.text, options)
}

parentPort?.on('message', (message: ToLoader) => parentPort?.postMessage(answer(message)))
parentPort?.postMessage({ type: 'ready' } satisfies FromLoader)
