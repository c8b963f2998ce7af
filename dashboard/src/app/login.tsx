import { useState } from 'preact/hooks'
import { ApiProblem } from '../api/problem.ts'
import iconUrl from '../icon.svg'
import { Dialog } from '../kit/dialog.tsx'
import { go, place, safeAddress } from '../state/router.ts'
import { leave, logIn, session } from '../state/session.ts'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'

/** Login takes a token and sends it once. It is kept nowhere in the browser. The page that was asked for is shown after it. */
export function Login() {
  const form = useLogin(() => {
    if (location.pathname === '/login') go(safeAddress(place.value.query.get('back')), { replace: true })
  })
  const isLooking = session.value.kind === 'open'
  return (
    <main class="login" id="main" tabIndex={-1}>
      <form class="card" onSubmit={form.submit}>
        <div class="row">
          <img src={iconUrl} alt="" width={32} height={32} />
          <h1>Log in to Sluice</h1>
        </div>
        <TokenField {...form} />
        <Button kind="primary" isSubmit isDisabled={form.isBusy}>
          {form.isBusy ? 'Logging in…' : 'Log in'}
        </Button>
        {isLooking && (
          <a class="small" href={safeAddress(place.value.query.get('back'))}>
            Go on without: you may look, and change nothing
          </a>
        )}
      </form>
    </main>
  )
}

/** LoginAgain stands over a page whose session has ended. The page, and what was typed into it, stay below. */
export function LoginAgain() {
  const form = useLogin(() => {})
  const footer = (
    <>
      <Button onClick={leave}>Leave this page</Button>
      <Button kind="primary" isSubmit isDisabled={form.isBusy}>
        {form.isBusy ? 'Logging in…' : 'Log in'}
      </Button>
    </>
  )
  return (
    <Dialog title="Log in to go on" isHeld footer={footer} onClose={leave} onSubmit={form.submit}>
      <p>
        Your session has ended: it was twelve hours old, or its token was revoked. What you typed on the page is kept.
      </p>
      <TokenField {...form} />
    </Dialog>
  )
}

interface LoginForm {
  readonly token: string
  readonly wrong: string | undefined
  readonly isBusy: boolean
  /** The database is being opened: no login works before that. */
  readonly isWaiting: boolean
  setToken(token: string): void
  submit(event?: Event): void
}

function useLogin(done: () => void): LoginForm {
  const [token, setToken] = useState('')
  const [wrong, setWrong] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const [isWaiting, setWaiting] = useState(false)
  const send = async (): Promise<void> => {
    if (token.trim() === '') return setWrong('Type or paste a token.')
    setBusy(true)
    setWrong(undefined)
    try {
      await logIn(token.trim(), () => setWaiting(true))
      done()
    } catch (error) {
      setWrong(messageFor(error))
      setBusy(false)
    }
    setWaiting(false)
  }
  const submit = (event?: Event): void => {
    event?.preventDefault()
    void send()
  }
  return { token, wrong, isBusy, isWaiting, setToken, submit }
}

function TokenField({ token, wrong, isWaiting, setToken }: LoginForm) {
  return (
    <>
      {/* For password managers: they keep the token under this name. */}
      <input type="text" name="username" autoComplete="username" value="sluice" readOnly hidden />
      <Field
        label="Token"
        wrong={wrong}
        hint={
          <>
            It was printed when the service started for the first time. <code>sluice token create</code> makes another.
          </>
        }
      >
        <input
          type="password"
          autoComplete="current-password"
          spellcheck={false}
          autofocus
          value={token}
          onInput={(event: InputEvent) => setToken((event.currentTarget as HTMLInputElement).value)}
        />
      </Field>
      <p role="status" class="small" hidden={!isWaiting}>
        {isWaiting && 'The database is being opened. You are logged in as soon as it is there.'}
      </p>
    </>
  )
}

function messageFor(error: unknown): string {
  if (!(error instanceof ApiProblem)) return String(error)
  if (error.status === 401) return 'This token is not known, has expired, or was revoked.'
  if (error.status === 429) return 'Too many attempts. Wait a minute, then try again.'
  return error.message
}
