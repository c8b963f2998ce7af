import { useEffect } from 'preact/hooks'
import { here } from '../state/router.ts'
import { Button } from '../ui/button.tsx'
import { State } from '../ui/parts.tsx'

const LOOK_EVERY_MS = 1_000

/** How the history notes that an address was loaded again already. */
const mark = (): string => `loaded again ${here()}`

/**
 * NotLoaded stands where the code of a page could not be fetched. Browsers remember an import that failed, so the whole document is
 * loaded again when the server answers: once, because a file that is missing for good would be asked for forever.
 */
export function NotLoaded() {
  useEffect(() => {
    if (history.state === mark()) return
    const stopper = new AbortController()
    const timer = setInterval(() => {
      fetch(location.pathname, { headers: { Accept: 'text/html' }, signal: stopper.signal }).then(
        ({ ok }) => ok && loadAgain(),
        () => {},
      )
    }, LOOK_EVERY_MS)
    return () => {
      clearInterval(timer)
      stopper.abort()
    }
  }, [])
  return (
    <State icon="wifi" title="This page could not be loaded">
      It is loaded when the server answers. <Button onClick={loadAgain}>Load now</Button>
    </State>
  )
}

function loadAgain(): void {
  history.replaceState(mark(), '')
  location.reload()
}
