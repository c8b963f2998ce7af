import { type Decision, isTighter } from '../core/combine.ts'
import type { Verdict } from '../core/decision.ts'
import type { FieldList } from '../core/http/field-list.ts'

/**
 * What other middlewares have said about the tightest limit of an answer. On the answer, because a WeakMap costs more.
 */
export const TIGHTEST = Symbol('sluice.tightest')

interface Limited {
  [TIGHTEST]?: Verdict | null
}

/**
 * Sets the fields of an answer. Where another middleware has set some, all policies are listed, the tightest first, and
 * the legacy fields describe that one.
 */
export function mergeFields<T extends object>(
  answer: T,
  { names, values, length }: FieldList,
  decision: Decision,
  get: (answer: T, name: string) => unknown,
  set: (answer: T, name: string, value: string) => unknown,
): void {
  if (length === 0) return
  const limited = answer as Limited
  const verdict = decision.tightest?.verdict
  const before = limited[TIGHTEST] ?? undefined
  const isTightest = before === undefined || (verdict !== undefined && isTighter(verdict, before))
  if (verdict !== undefined && isTightest) limited[TIGHTEST] = verdict
  for (let i = 0; i < length; i++) {
    const name = names[i]
    const isList = name === 'RateLimit' || name === 'RateLimit-Policy'
    const present = before === undefined || !isList ? undefined : get(answer, name)
    if (typeof present === 'string') {
      set(answer, name, isTightest ? `${values[i]}, ${present}` : `${present}, ${values[i]}`)
    } else if (isTightest || isList || name === 'Retry-After') set(answer, name, values[i])
  }
}
