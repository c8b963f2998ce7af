import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type ApiProblem, asProblem } from '../api/problem.ts'
import { recovery } from '../api/recovery.ts'
import { useRetry } from './use-retry.ts'

/** A Resource is something that is read from the server, and why it could not be. Old data stays while new data is read. */
export interface Resource<T> {
  readonly data: T | undefined
  readonly problem: ApiProblem | undefined
  readonly isLoading: boolean
  reload(): void
}

/**
 * useResource reads something: again when `key` changes, when the server or the session has recovered, after a failure that may pass,
 * and every `everyMs` while the page is visible. It never shows an answer of a former key.
 */
export function useResource<T>(key: string, read: (signal: AbortSignal) => Promise<T>, everyMs?: number): Resource<T> {
  const [state, setState] = useState<{ key: string; data?: T; problem?: ApiProblem }>({ key })
  const [round, setRound] = useState(0)
  const { value: recoveries } = recovery
  const reading = useRef(read)
  reading.current = read
  const reload = useCallback(() => setRound((n) => n + 1), [])

  useEffect(() => {
    const stopper = new AbortController()
    reading.current(stopper.signal).then(
      (data) => {
        if (!stopper.signal.aborted) setState({ key, data })
      },
      (error: unknown) => {
        if (stopper.signal.aborted) return
        const problem = asProblem(error)
        setState((before) => (before.key === key ? { ...before, problem } : { key, problem }))
      },
    )
    return () => stopper.abort()
  }, [key, round, recoveries])

  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') reload()
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs, reload])

  const { data, problem }: typeof state = state.key === key ? state : { key }
  useRetry(problem, reload)
  return { data, problem, isLoading: data === undefined && problem === undefined, reload }
}
