import { useEffect } from 'preact/hooks'
import { Button } from '../ui/button.tsx'
import { State } from '../ui/parts.tsx'
import { Login } from './login.tsx'
import { place } from './router.ts'
import { findSession, session } from './session.ts'
import { Shell } from './shell.tsx'

const LOOK_AGAIN_MS = 3_000

export function App() {
  const { kind } = session.value
  useEffect(() => {
    void findSession()
  }, [])
  useEffect(() => {
    if (kind !== 'unreachable') return
    const timer = setInterval(() => void findSession(), LOOK_AGAIN_MS)
    return () => clearInterval(timer)
  }, [kind])
  if (kind === 'looking') return <main class="login" aria-busy="true" />
  if (kind === 'unreachable') {
    return (
      <main class="login">
        <State icon="wifi" title="The server cannot be reached">
          <span class="stack close">
            It is tried again by itself.
            <Button onClick={() => void findSession()}>Try now</Button>
          </span>
        </State>
      </main>
    )
  }
  if (
    kind === 'none' ||
    (place.value.path === '/login' && session.value.kind === 'open' && session.value.who.via === 'loopback')
  )
    return <Login />
  return <Shell />
}
