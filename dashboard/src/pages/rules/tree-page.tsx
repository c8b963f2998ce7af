import { useEffect, useRef, useState } from 'preact/hooks'
import type { RuleTree } from '../../api/operations.ts'
import type { Resource } from '../../kit/use-resource.ts'
import { place, setQuery } from '../../state/router.ts'
import { Button } from '../../ui/button.tsx'
import type { Span } from './activity.ts'
import { PAGE_PATTERNS, useRuleTree } from './rules-data.ts'
import type { Only } from './tree-rows.ts'

/** Typing has come to rest. */
const REST_MS = 250

export const onlyOf = (query: URLSearchParams): Only => {
  const only = query.get('only')
  return only === 'shadow' || only === 'refusing' ? only : 'all'
}

export const spanOf = (query: URLSearchParams): Span => (query.get('in') === 'hour' ? 'hour' : 'minute')

const skipOf = (query: URLSearchParams): number =>
  /^\d{1,9}$/.test(query.get('skip') ?? '') ? Number(query.get('skip')) : 0

/**
 * useTreePage reads the rules that the address asks for: all of them, which the page filters while one types, or, where there are
 * more than fit, a page of those that the server finds. The page before stays until the next one is there.
 */
export function useTreePage(): Resource<RuleTree> {
  const { query } = place.value
  const [isLarge, setLarge] = useState(false)
  const only = onlyOf(query)
  const text = useAtRest(query.get('text') ?? '')
  const filter = {
    ...(text !== '' && { text }),
    ...(only !== 'all' && { only, span: spanOf(query) }),
    skip: skipOf(query),
  }
  const tree = useRuleTree({ domain: query.get('domain') ?? undefined, ...(isLarge && filter) })
  const last = useRef<RuleTree | undefined>(undefined)
  last.current = tree.data ?? last.current
  const found = tree.data?.found ?? 0
  useEffect(() => {
    if (found > PAGE_PATTERNS) setLarge(true)
  }, [found])
  return tree.problem === undefined ? { ...tree, data: last.current } : tree
}

function useAtRest(value: string): string {
  const [rested, setRested] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), REST_MS)
    return () => clearTimeout(timer)
  }, [value])
  return rested
}

/** TreePager leads to the pages of patterns before and after this one. */
export function TreePager({ tree: { found, omitted } }: { readonly tree: RuleTree }) {
  const skip = skipOf(place.value.query)
  if (found <= PAGE_PATTERNS) return null
  const last = found - omitted
  return (
    <nav class="row apart wrap pager" aria-label="Pages of rules">
      <span class="small soft num">
        Patterns {Math.min(skip + 1, last).toLocaleString()} to {last.toLocaleString()} of {found.toLocaleString()}
      </span>
      <span class="row">
        <Button isSmall isDisabled={skip === 0} onClick={() => turnTo(skip - PAGE_PATTERNS)}>
          Previous
        </Button>
        <Button isSmall isDisabled={omitted === 0} onClick={() => turnTo(skip + PAGE_PATTERNS)}>
          Next
        </Button>
      </span>
    </nav>
  )
}

function turnTo(skip: number): void {
  setQuery({ skip: skip <= 0 ? '' : String(skip) })
}
