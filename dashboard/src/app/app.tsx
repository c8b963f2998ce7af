import { useEffect } from 'preact/hooks'
import { Button } from '../ui/button.tsx'
import { State } from '../ui/parts.tsx'
import { Login } from './login.tsx'
import { go, place, safeAddress } from './router.ts'
import { findSession, session } from './session.ts'
import { Shell } from './shell.tsx'

const LOOK_AGAIN_MS = 3_000

export function App() {
  const { value } = session
  const { kind } = value
  const isLogin = place.value.path === '/login'
  const isLoggedIn = value.kind === 'open' && value.who.via !== 'loopback'
  useEffect(() => {
    void findSession()
  }, [])
  useEffect(() => {
    if (kind !== 'unreachable') return
    const timer = setInterval(() => void findSession(), LOOK_AGAIN_MS)
    return () => clearInterval(timer)
  }, [kind])
  useEffect(() => {
    if (isLogin && isLoggedIn) go(safeAddress(place.peek().query.get('back')), { replace: true })
  }, [isLogin, isLoggedIn])
  useEffect(() => {
    if (kind !== 'open' || isLogin)
      document.title = kind === 'unreachable' ? 'Not reachable · Sluice' : 'Log in · Sluice'
  }, [kind, isLogin])
  if (kind === 'looking') return <main class="login" aria-busy="true" />
  if (kind === 'unreachable') {
    return (
      <main class="login">
        <State icon="wifi" title="The server cannot be reached">
          It is tried again by itself.
        </State>
        <Button onClick={() => void findSession()}>Try now</Button>
      </main>
    )
  }
  return kind === 'none' || (isLogin && !isLoggedIn) ? <Login /> : <Shell />
}
