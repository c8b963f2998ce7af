import { useEffect, useRef } from 'preact/hooks'
import type { ApiProblem } from './problem.ts'

const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 15_000

/**
 * useRetry reads again what failed for a reason that passes, sooner at first: a server that is gone, that is starting, or that is
 * asked too often. That the live figures come does not say that everything else does: a database may be opened seconds later.
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
