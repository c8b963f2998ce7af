import { byShare } from '../../observe/live/near-limits.ts'
import type { AskProcesses } from '../../observe/reports/reports.ts'
import { partKey } from '../api/parts.ts'
import { type CallerTarget, nameOf } from '../callers/callers.ts'
import { type FleetAnswer, FleetQuery } from '../fleet/fleet-query.ts'
import { type FleetList, type FleetQuestions, type FleetScope, MAX_ANSWER } from '../fleet/fleet-questions.ts'
import { listOf } from '../fleet/read-values.ts'
import { type NearLimit, type RecentRefusal, readNearLimit, readRefusal } from './read-callers.ts'

/** As many as one process remembers. */
const MOST = 1_000

export interface FleetCallersParts {
  readonly node: string
  readonly ask: AskProcesses
  readonly questions: FleetQuestions
}

type OfNode<T> = readonly Omit<T, 'node'>[]

/** FleetCallers gathers what nodes remember of callers. */
export class FleetCallers {
  readonly #node: string
  readonly #refusals: FleetQuery<OfNode<RecentRefusal>>
  readonly #nearLimits: FleetQuery<OfNode<NearLimit>>

  constructor({ node, ask, questions }: FleetCallersParts) {
    this.#node = node
    this.#refusals = new FleetQuery<OfNode<RecentRefusal>>(questions, {
      name: 'refusals',
      // Counters stay here: they may be named by an API key.
      own: async (about) => latest((await ask('refusals', about)).flat().map(({ counter: _, ...refusal }) => refusal)),
      sent: fitting,
      read: listOf(readRefusal),
    })
    this.#nearLimits = new FleetQuery<OfNode<NearLimit>>(questions, {
      name: 'nearLimits',
      own: async () => newestOf((await ask('nearLimits')).flat()),
      sent: fitting,
      read: listOf(readNearLimit),
    })
  }

  async refusals(scope: FleetScope, of?: CallerTarget): Promise<FleetList<RecentRefusal>> {
    const found = await this.#refusals.ask(scope, of === undefined ? [] : [nameOf(of)])
    return { ...found, items: latest(this.#itemsOf(found)).slice(0, MOST) }
  }

  async nearLimits(scope: FleetScope): Promise<FleetList<NearLimit>> {
    const found = await this.#nearLimits.ask(scope)
    return { ...found, items: newestOf(this.#itemsOf(found)).slice(0, MOST) }
  }

  #itemsOf<T extends object>({ own, others }: FleetAnswer<readonly T[]>): (T & { readonly node: string })[] {
    return [[this.#node, own] as const, ...others].flatMap(([node, items]) => items.map((each) => ({ ...each, node })))
  }
}

const latest = <T extends { readonly atMs: number }>(all: readonly T[]): T[] => [...all].sort((a, b) => b.atMs - a.atMs)

/** newestOf has each caller once: several processes may have seen the same counter, and the last to have seen it knows best. */
function newestOf<T extends Omit<NearLimit, 'node'>>(all: readonly T[]): readonly T[] {
  const newest = new Map<string, T>()
  for (const each of [...all].sort((a, b) => a.atMs - b.atMs)) {
    newest.set(JSON.stringify([each.domain, each.rule, each.key]), each)
  }
  return [...newest.values()].sort(byShare)
}

/** Cuts a list so that it can be sent to others. */
export function fitting<T>(list: readonly T[]): readonly T[] {
  let fit = list.slice(0, MOST)
  while (fit.length > 0 && JSON.stringify(fit).length > MAX_ANSWER / 2) fit = fit.slice(0, Math.floor(fit.length / 2))
  return fit
}

export const RECENT = partKey<Pick<FleetCallers, 'refusals' | 'nearLimits'>>('recent')
