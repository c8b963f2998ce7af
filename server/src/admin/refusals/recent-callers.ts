import { byShare } from '../../observe/live/near-limits.ts'
import type { AskProcesses } from '../../observe/reports/reports.ts'
import { partKey } from '../api/parts.ts'
import { type CallerTarget, nameOf } from '../callers/callers.ts'
import type { FleetList, FleetScope } from '../fleet/fleet-questions.ts'
import { type About, type FleetQuestions, MAX_ANSWER } from '../fleet/fleet-questions.ts'
import { listOf } from '../fleet/read-values.ts'
import { type NearLimit, type RecentRefusal, readNearLimit, readRefusal } from './read-callers.ts'

/** As many as one process remembers. */
const MOST = 1_000

export interface FleetCallersParts {
  readonly node: string
  readonly ask: AskProcesses
  readonly questions: FleetQuestions
}

/** FleetCallers gathers what the processes of this node remember, and those of others. */
export class FleetCallers {
  readonly #parts: FleetCallersParts

  constructor(parts: FleetCallersParts) {
    this.#parts = parts
  }

  async refusals(scope: FleetScope, of?: CallerTarget): Promise<FleetList<RecentRefusal>> {
    const about = of === undefined ? [] : [nameOf(of)]
    const own = this.ownRefusals(about)
    const others = await this.#others(scope, 'refusals', about, listOf(readRefusal))
    const items = [...(await own), ...others.items].sort((a, b) => b.atMs - a.atMs).slice(0, MOST)
    return { items, nodes: 1 + others.nodes, nodesLeftOut: others.nodesLeftOut }
  }

  async nearLimits(scope: FleetScope): Promise<FleetList<NearLimit>> {
    const own = this.ownNearLimits()
    const others = await this.#others(scope, 'nearLimits', [], listOf(readNearLimit))
    const items = newestOf([...(await own), ...others.items]).slice(0, MOST)
    return { items, nodes: 1 + others.nodes, nodesLeftOut: others.nodesLeftOut }
  }

  /** ownRefusals are those of this node, the newest first. Their counters stay here: they may be spelled with an API key. */
  async ownRefusals(about: About): Promise<readonly RecentRefusal[]> {
    const { ask, node } = this.#parts
    const all = (await ask('refusals', about)).flat().map(({ counter: _counter, ...refusal }) => ({ ...refusal, node }))
    return all.sort((a, b) => b.atMs - a.atMs)
  }

  async ownNearLimits(): Promise<readonly NearLimit[]> {
    const { ask, node } = this.#parts
    return newestOf((await ask('nearLimits')).flat().map((near) => ({ ...near, node })))
  }

  async #others<T extends object>(
    scope: FleetScope,
    name: 'refusals' | 'nearLimits',
    about: About,
    read: (answer: unknown) => readonly T[] | undefined,
  ): Promise<FleetList<T & { readonly node: string }>> {
    if (scope === 'node') return { items: [], nodes: 0, nodesLeftOut: 0 }
    const { answers, leftOut } = await this.#parts.questions.ask(name, about, read)
    const items = [...answers].flatMap(([node, told]) => told.map((each) => ({ ...each, node })))
    return { items, nodes: answers.size, nodesLeftOut: leftOut }
  }
}

/** newestOf has each caller once: several processes may have seen the same counter, and the last to have seen it knows best. */
function newestOf(all: readonly NearLimit[]): readonly NearLimit[] {
  const newest = new Map<string, NearLimit>()
  for (const each of [...all].sort((a, b) => a.atMs - b.atMs)) {
    newest.set(JSON.stringify([each.domain, each.rule, each.key]), each)
  }
  return [...newest.values()].sort(byShare)
}

/** fitting cuts a list so that it can be told to others. */
export function fitting<T>(list: readonly T[]): readonly T[] {
  let fit = list.slice(0, MOST)
  while (fit.length > 0 && JSON.stringify(fit).length > MAX_ANSWER / 2) fit = fit.slice(0, Math.floor(fit.length / 2))
  return fit
}

export const RECENT = partKey<Pick<FleetCallers, 'refusals' | 'nearLimits'>>('recent')
