import { useEffect, useRef } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import { frames } from '../../api/live.ts'
import type { Operations, RuleText, RuleTree, Switch } from '../../api/operations.ts'
import { ApiProblem } from '../../api/problem.ts'
import { type Author, authorsOf } from '../../kit/authors.ts'
import { type Resource, useResource } from '../../kit/use-resource.ts'
import { type Switches, switchesOf } from './switch-state.ts'

const AGAIN_MS = 15_000
const ACTIVITY_MS = 3_000
const PAGE_SIZE = 500
const MOST_SWITCHES = 5_000

/** How many patterns a page of the tree has. */
export const PAGE_PATTERNS = 1_000

type TreeQuery = Operations['readRuleTree']['query']

/** useRuleTree is a page of the rules in force. They are read again when another set is. */
export function useRuleTree(asked: TreeQuery): Resource<RuleTree> {
  const query = { limit: PAGE_PATTERNS, ...asked }
  const tree = useResource(`tree ${JSON.stringify(query)}`, (signal) =>
    ask('readRuleTree', { query, signal }).then(({ body }) => body),
  )
  const version = frames.value.at(-1)?.rule_version
  const known = useRef(version)
  useEffect(() => {
    if (known.current !== undefined && known.current !== version) tree.reload()
    known.current = version ?? known.current
  }, [version, tree.reload])
  return tree
}

/** SwitchData is what switches there are, and who set them. */
export interface SwitchData {
  readonly switches: Switches
  readonly authors: ReadonlyMap<string, Author>
}

export function useSwitches(): Resource<SwitchData> {
  return useResource(
    'switches',
    async (signal) => {
      const [items, authors] = await Promise.all([readSwitches(signal), readAuthors(signal)])
      return { switches: switchesOf(items), authors }
    },
    AGAIN_MS,
  )
}

async function readSwitches(signal: AbortSignal): Promise<Switch[]> {
  const items: Switch[] = []
  let cursor: string | undefined
  do {
    const { body } = await ask('listSwitches', { query: { page_size: PAGE_SIZE, cursor }, signal })
    items.push(...body.items)
    cursor = body.next_cursor ?? undefined
  } while (cursor !== undefined && items.length < MOST_SWITCHES)
  return items
}

async function readAuthors(signal: AbortSignal): Promise<ReadonlyMap<string, Author>> {
  const { body } = await ask('listAudit', { query: { action: 'switches.put', page_size: PAGE_SIZE }, signal })
  return authorsOf(body.items)
}

/** useActive is the rules that were put through the API; null: there are none yet. */
export function useActive(): Resource<RuleText | null> {
  return useResource('active', readActive)
}

export async function readActive(signal?: AbortSignal): Promise<RuleText | null> {
  try {
    return (await ask('readActiveRules', signal === undefined ? {} : { signal })).body
  } catch (error) {
    if (error instanceof ApiProblem && error.code === 'RECORD_UNKNOWN') return null
    throw error
  }
}

/** Without a database there are no switches and no rules of the API. */
export const isWithoutDatabase = (problem: ApiProblem | undefined): boolean => problem?.code === 'QUOTAS_UNAVAILABLE'

/** useActivity is what the rules of all nodes did lately. */
export function useActivity(): Resource<Operations['readRuleActivity']['answer']> {
  return useResource('activity', (signal) => ask('readRuleActivity', { signal }).then(({ body }) => body), ACTIVITY_MS)
}
