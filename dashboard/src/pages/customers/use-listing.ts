import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiProblem } from '../../api/problem.ts'
import { LARGEST_PAGE } from './all-pages.ts'

interface Asked {
  readonly cursor: string | undefined
  readonly page_size: number
  readonly signal: AbortSignal
}

interface ListPage<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

/** A Listing is a list that is read page by page. */
export interface Listing<T> {
  readonly items: readonly T[] | undefined
  readonly problem: ApiProblem | undefined
  readonly hasMore: boolean
  readonly isBusy: boolean
  /** What is shown is of another search; that of this one is coming. */
  readonly isOld: boolean
  more(): void
  reload(): void
}

interface Shown<T> {
  readonly key: string
  readonly page: ListPage<T> | undefined
  readonly problem: ApiProblem | undefined
}

const PAGE_SIZE = 50

/** useListing reads the first page when `key` changes, and every `everyMs`; `more` adds the next one. Old rows stay until new ones are there. */
export function useListing<T>(key: string, read: (asked: Asked) => Promise<ListPage<T>>, everyMs?: number): Listing<T> {
  const [shown, setShown] = useState<Shown<T>>({ key, page: undefined, problem: undefined })
  const [isBusy, setBusy] = useState(false)
  const [round, setRound] = useState(0)
  const reading = useRef(read)
  reading.current = read
  const stopper = useRef(new AbortController())
  const isCurrent = shown.key === key

  /** load reads from the beginning, as much as is shown, or what follows. */
  const load = (cursor: string | undefined): void => {
    stopper.current.abort()
    stopper.current = new AbortController()
    const { signal } = stopper.current
    const before = isCurrent ? (shown.page?.items ?? []) : []
    const page_size = cursor === undefined ? Math.min(LARGEST_PAGE, Math.max(PAGE_SIZE, before.length)) : PAGE_SIZE
    setBusy(true)
    reading.current({ cursor, page_size, signal }).then(
      (page) => {
        if (signal.aborted) return
        const items = cursor === undefined ? page.items : [...before, ...page.items]
        setShown({ key, page: { ...page, items }, problem: undefined })
        setBusy(false)
      },
      (error: unknown) => {
        if (signal.aborted) return
        const problem = error instanceof ApiProblem ? error : new ApiProblem(0, '', String(error))
        setShown((was) => ({ key, page: was.key === key ? was.page : undefined, problem }))
        setBusy(false)
      },
    )
  }

  useEffect(() => load(undefined), [key, round])
  useEffect(() => () => stopper.current.abort(), [])
  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') setRound((n) => n + 1)
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs])

  const next = shown.page?.next_cursor ?? undefined
  return {
    items: shown.page?.items,
    problem: shown.problem,
    hasMore: isCurrent && next !== undefined,
    isBusy,
    isOld: !isCurrent,
    more: () => next !== undefined && load(next),
    reload: () => setRound((n) => n + 1),
  }
}
