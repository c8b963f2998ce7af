import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type ApiProblem, asProblem } from '../api/problem.ts'
import { recovery } from '../api/recovery.ts'
import { useRetry } from './use-retry.ts'

interface OnePage<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

/** Pages are a list as far as it was read. */
export interface Pages<T> {
  readonly data: readonly T[] | undefined
  readonly problem: ApiProblem | undefined
  readonly hasMore: boolean
  readonly isLoadingMore: boolean
  /** The rows are of a former key; the new ones are being read. */
  readonly isOld: boolean
  more(): void
  reload(): void
}

interface State<T> {
  readonly key: string
  readonly data?: readonly T[]
  readonly next?: string | null
  readonly problem?: ApiProblem
}

/**
 * usePages reads a list page by page: from the beginning when `key` changes, when the server or the session has recovered, and after a
 * failure that may pass. It shows no answer of a former key, unless `keepsOld`: then it does until there is one of this key.
 */
export function usePages<T>(
  key: string,
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<OnePage<T>>,
  { keepsOld = false }: { readonly keepsOld?: boolean } = {},
): Pages<T> {
  const [state, setState] = useState<State<T>>({ key })
  const [round, setRound] = useState(0)
  const [isLoadingMore, setLoadingMore] = useState(false)
  const reading = useRef(read)
  reading.current = read
  const stopper = useRef(new AbortController())
  const { value: recoveries } = recovery

  /** What was read last: after a failure, the same is read again. */
  const tried = useRef<readonly [cursor: string | undefined, before: readonly T[]]>([undefined, []])

  const load = useCallback(
    async (cursor: string | undefined, before: readonly T[]): Promise<void> => {
      tried.current = [cursor, before]
      const { signal } = stopper.current
      try {
        const page = await reading.current(cursor, signal)
        if (!signal.aborted) setState({ key, data: [...before, ...page.items], next: page.next_cursor })
      } catch (error) {
        if (signal.aborted) return
        const problem = asProblem(error)
        setState((now) => (now.key === key ? { ...now, problem } : { key, problem }))
      }
      if (!signal.aborted) setLoadingMore(false)
    },
    [key],
  )

  useEffect(() => {
    stopper.current = new AbortController()
    setLoadingMore(false)
    void load(undefined, [])
    return () => stopper.current.abort()
  }, [load, round, recoveries])

  const isOld = state.key !== key
  const current: State<T> = isOld ? { key } : state
  const again = useCallback(() => void load(...tried.current), [load])
  useRetry(current.problem, again)
  const more = (): void => {
    if (isLoadingMore || typeof current.next !== 'string') return
    setLoadingMore(true)
    void load(current.next, current.data ?? [])
  }
  return {
    data: isOld && keepsOld ? state.data : current.data,
    isOld,
    problem: current.problem,
    hasMore: typeof current.next === 'string',
    isLoadingMore,
    more,
    reload: () => setRound((n) => n + 1),
  }
}
