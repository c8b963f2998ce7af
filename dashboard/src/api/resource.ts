import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { comeback } from './comeback.ts'
import { ApiProblem } from './problem.ts'
import { useRetry } from './retry.ts'

/** A Resource is something that is read from the server, and what became of it. Old data stays while new comes. */
export interface Resource<T> {
  readonly data: T | undefined
  readonly problem: ApiProblem | undefined
  readonly isLoading: boolean
  reload(): void
}

/**
 * useResource reads something, again when `key` changes, when the server or the session comes back, after a failure that passes, and
 * every `everyMs` while the page is visible. It never shows an answer of a former key.
 */
export function useResource<T>(key: string, read: (signal: AbortSignal) => Promise<T>, everyMs?: number): Resource<T> {
  const [state, setState] = useState<{ key: string; data?: T; problem?: ApiProblem }>({ key })
  const [round, setRound] = useState(0)
  const { value: times } = comeback
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
        const problem = error instanceof ApiProblem ? error : new ApiProblem(0, '', String(error))
        setState((before) => (before.key === key ? { ...before, problem } : { key, problem }))
      },
    )
    return () => stopper.abort()
  }, [key, round, times])

  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') reload()
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs, reload])

  const current: typeof state = state.key === key ? state : { key }
  useRetry(current.problem, reload)
  return {
    data: current.data,
    problem: current.problem,
    isLoading: current.data === undefined && current.problem === undefined,
    reload,
  }
}
