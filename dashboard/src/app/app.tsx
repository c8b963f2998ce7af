import { useEffect } from 'preact/hooks'
import { go, place, safeAddress } from '../state/router.ts'
import { findSession, session } from '../state/session.ts'
import { Button } from '../ui/button.tsx'
import { State } from '../ui/parts.tsx'
import { Login } from './login.tsx'
import { Shell } from './shell.tsx'

const LOOK_AGAIN_MS = { unreachable: 3_000, starting: 1_000 }
const TITLES: Readonly<Record<string, string>> = { unreachable: 'Not reachable', starting: 'Starting' }

export function App() {
  const { value } = session
  const { kind } = value
  const isLogin = place.value.path === '/login'
  const isLoggedIn = value.kind === 'open' && value.who.via !== 'loopback'
  useEffect(() => {
    void findSession()
  }, [])
  useEffect(() => {
    if (kind !== 'unreachable' && kind !== 'starting') return
    const timer = setInterval(() => void findSession(), LOOK_AGAIN_MS[kind])
    return () => clearInterval(timer)
  }, [kind])
  useEffect(() => {
    if (isLogin && isLoggedIn) go(safeAddress(place.peek().query.get('back')), { replace: true })
  }, [isLogin, isLoggedIn])
  useEffect(() => {
    if (kind !== 'open' || isLogin) document.title = `${TITLES[kind] ?? 'Log in'} · Sluice`
  }, [kind, isLogin])
  if (kind === 'looking') return <main class="login" aria-busy="true" />
  if (kind === 'starting') {
    return (
      <main class="login">
        <State icon="nodes" title="The database is being opened">
          This takes a few seconds after a start. The page continues automatically.
        </State>
      </main>
    )
  }
  if (kind === 'unreachable') {
    return (
      <main class="login">
        <State icon="wifi" title="The server cannot be reached">
          The connection is retried automatically.
        </State>
        <Button onClick={() => void findSession()}>Try now</Button>
      </main>
    )
  }
  return kind === 'none' || (isLogin && !isLoggedIn) ? <Login /> : <Shell />
}
