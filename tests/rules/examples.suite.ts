import { readdirSync, readFileSync } from 'node:fs'
import type { Clock } from '../../src/core/clock.ts'
import type { Decision } from '../../src/core/combine.ts'
import type { CheckRequest, Descriptor, Entry } from '../../src/core/request.ts'
import { loadRules, type RuleText } from '../../src/core/rules/load.ts'
import type { RuleSet } from '../../src/core/rules/rule-set.ts'
import { Limiter, type LimiterParts } from '../../src/engine/limiter.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'

const root = new URL('../../', import.meta.url)

/** Reads the YAML files of a directory of the repository. */
export function filesIn(directory: string): RuleText[] {
  const names = readdirSync(new URL(directory, root)).filter((name) => name.endsWith('.yaml'))
  return names.map((name) => ({ file: name, text: readFileSync(new URL(`${directory}/${name}`, root), 'utf8') }))
}

export const exampleFiles = (): RuleText[] => filesIn('server/examples')

/** Reads entries that are written as `key=value, key=value`. */
export function entriesOf(text: string): Entry[] {
  if (text === '') return []
  return text.split(', ').map((part) => {
    const at = part.indexOf('=')
    return { key: part.slice(0, at), value: part.slice(at + 1) }
  })
}

/** The start of a minute, an hour and a day: 2024-01-01T00:00:00Z. */
export const START_MS = 1_704_067_200_000

/** A Scene is a limiter in memory on rules, with a clock that stands still until it is told. */
export interface Scene {
  readonly limiter: Limiter<MemoryStore>
  readonly store: MemoryStore
  /** Sends one request with these descriptors, each written as `key=value, key=value`. */
  check(descriptors: string | (string | Descriptor)[], cost?: number): Decision
  request(descriptors: string | (string | Descriptor)[], cost?: number): CheckRequest
  advance(ms: number): void
}

export function sceneOf(rules: RuleSet | (() => RuleSet), domain: string, parts: LimiterParts = {}): Scene {
  let nowMs = START_MS
  const clock: Clock = { nowMs: () => nowMs }
  const store = new MemoryStore({ clock })
  const limiter = new Limiter(typeof rules === 'function' ? rules : () => rules, store, parts)
  const request: Scene['request'] = (descriptors, cost) => ({
    domain,
    descriptors: (typeof descriptors === 'string' ? [descriptors] : descriptors).map((each) =>
      typeof each === 'string' ? { entries: entriesOf(each) } : each,
    ),
    ...(cost !== undefined && { cost }),
  })
  return {
    limiter,
    store,
    request,
    check: (descriptors, cost) => limiter.check(request(descriptors, cost)),
    advance: (ms) => {
      nowMs += ms
    },
  }
}

/** A Scene on one of the example files. */
export function exampleScene(name: string, parts: LimiterParts = {}): Scene {
  const rules = loadRules(exampleFiles().filter(({ file }) => file === `${name}.yaml`))
  return sceneOf(rules, [...rules.domains.keys()][0], parts)
}

/** Lists what every rule said: `name remaining kind`. */
export const standings = ({ verdicts }: Decision): string[] =>
  verdicts.map(({ rule, verdict }) => `${rule.name} ${verdict.remaining} ${verdict.kind}`)
