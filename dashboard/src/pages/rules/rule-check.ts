import { useEffect, useState } from 'preact/hooks'
import { preview } from '../../api/client.ts'
import type { Preview } from '../../api/operations.ts'
import { ApiProblem } from '../../api/problem.ts'

/** A Check is what the server says of a text of rules: it looks, it is right, or why it is not. */
export type Check =
  | { readonly kind: 'idle' }
  | { readonly kind: 'checking' }
  | { readonly kind: 'right'; readonly preview: Preview }
  | { readonly kind: 'wrong'; readonly problem: ApiProblem }

const WAIT_MS = 350

/** useCheck has a text checked by the server while it is typed, a moment after the last letter. Nothing is changed by it. */
export function useCheck(text: string, version: number | undefined, isOn: boolean): Check {
  const [check, setCheck] = useState<Check>({ kind: 'idle' })
  useEffect(() => {
    if (!isOn || version === undefined) return setCheck({ kind: 'idle' })
    const stopper = new AbortController()
    setCheck({ kind: 'checking' })
    const timer = setTimeout(() => {
      preview('putRules', { body: { text }, version, signal: stopper.signal }).then(
        (shown) => !stopper.signal.aborted && setCheck({ kind: 'right', preview: shown }),
        (error: unknown) => {
          if (stopper.signal.aborted) return
          const problem = error instanceof ApiProblem ? error : new ApiProblem(0, '', String(error))
          setCheck({ kind: 'wrong', problem })
        },
      )
    }, WAIT_MS)
    return () => {
      clearTimeout(timer)
      stopper.abort()
    }
  }, [text, version, isOn])
  return check
}
