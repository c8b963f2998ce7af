import { useState } from 'preact/hooks'
import { ApiProblem } from '../api/problem.ts'
import iconUrl from '../icon.svg'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { go } from './router.ts'
import { logIn } from './session.ts'

/** Login takes a token and sends it once. It is kept nowhere in the browser. */
export function Login() {
  const [token, setToken] = useState('')
  const [wrong, setWrong] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setWrong(undefined)
    try {
      await logIn(token.trim())
      setToken('')
      if (location.pathname === '/login') go('/', { replace: true })
    } catch (error) {
      setWrong(messageFor(error))
    }
    setBusy(false)
  }
  return (
    <main class="login">
      <form class="card" onSubmit={(event) => void submit(event)}>
        <div class="row">
          <img src={iconUrl} alt="" width={28} height={28} />
          <h1>Log in to Sluice</h1>
        </div>
        <Field
          label="Token"
          wrong={wrong}
          hint="It was printed when the service started for the first time. “sluice token create” makes another."
        >
          <input
            type="password"
            autoComplete="current-password"
            autofocus
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </Field>
        <Button kind="primary" isSubmit isDisabled={isBusy || token.trim() === ''}>
          Log in
        </Button>
      </form>
    </main>
  )
}

function messageFor(error: unknown): string {
  if (!(error instanceof ApiProblem)) return String(error)
  if (error.status === 401) return 'This token is not known, or was revoked.'
  if (error.status === 429) return 'Too many attempts. Wait a minute, then try again.'
  return error.message
}
