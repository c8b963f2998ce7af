import { useEffect, useRef } from 'preact/hooks'
import type { ApiProblem } from '../api/problem.ts'

const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 15_000

/**
 * useRetry reads again what failed for a reason that may pass, sooner at first: the server cannot be reached, is starting, or gets too
 * many requests. Live figures say nothing about the rest: a database may be opened seconds later.
 */
export function useRetry(problem: ApiProblem | undefined, reload: () => void): void {
  const tries = useRef(0)
  useEffect(() => {
    if (problem?.isPassing !== true) {
      tries.current = 0
      return
    }
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** tries.current++, LONGEST_WAIT_MS)
    const timer = setTimeout(reload, Math.max(waitMs, problem.retryAfterMs ?? 0))
    return () => clearTimeout(timer)
  }, [problem, reload])
}
