import { computed, effect, signal } from '@preact/signals'
import { ask, onProblem } from '../api/client.ts'
import { liveState } from '../api/live.ts'
import type { Session } from '../api/operations.ts'
import { ApiProblem } from '../api/problem.ts'
import { announceRecovery } from '../api/recovery.ts'

/**
 * The session: being looked for, not there, or who is logged in. `starting`: the server is there, and cannot say yet, because its
 * database is being opened. The token is never kept here.
 */
export type SessionState =
  | { readonly kind: 'looking' | 'none' | 'unreachable' | 'starting' }
  | { readonly kind: 'open'; readonly who: Session }

export const session = signal<SessionState>({ kind: 'looking' })

/** isEnded: the session is over, after twelve hours or because its token was revoked. The page stays until one logs in again. */
export const isEnded = signal(false)

export type Role = Session['role']
const RANKS: readonly Role[] = ['viewer', 'operator', 'admin']

export const role = computed(() => (session.value.kind === 'open' ? session.value.who.role : 'viewer'))

/** may says whether the one who is logged in has a role. Programs on this machine may look without a token, and change nothing. */
export function may(needed: Role): boolean {
  const { value } = session
  if (value.kind !== 'open') return false
  return RANKS.indexOf(value.who.role) >= RANKS.indexOf(needed)
}

/** whyNot says in words why something that needs a role cannot be done now; undefined: it can. */
export function whyNot(needed: Role): string | undefined {
  if (liveState.value === 'lost') return 'The server cannot be reached.'
  const { value } = session
  if (value.kind !== 'open' || (value.who.via === 'loopback' && needed !== 'viewer'))
    return 'Log in to change something.'
  return may(needed) ? undefined : `This needs the role ${needed}. You have the role ${value.who.role}.`
}

export async function findSession(): Promise<void> {
  try {
    const { body } = await ask('readSession', {})
    session.value = { kind: 'open', who: body }
    isEnded.value = false
  } catch (error) {
    const { kind } = session.peek()
    if (statusOf(error) === 401) end()
    else if (kind !== 'open' && kind !== 'none')
      session.value = { kind: statusOf(error) === 503 ? 'starting' : 'unreachable' }
  }
}

const statusOf = (error: unknown): number => (error instanceof ApiProblem ? error.status : 0)

/** end keeps the page of one who was logged in, with what was typed into it, and asks for the token again. */
function end(): void {
  const value = session.peek()
  if (value.kind === 'open' && value.who.via !== 'loopback') isEnded.value = true
  else session.value = { kind: 'none' }
}

const TRY_AGAIN_MS = 1_000
const MAX_TRIES = 60

/**
 * logIn sends the token; a cookie that scripts cannot read takes its place. While the database is being opened it calls
 * `waiting`, and retries, for a minute.
 */
export async function logIn(token: string, waiting: () => void = () => {}): Promise<void> {
  const { body } = await whenOpen(() => ask('logIn', { body: { token } }), waiting)
  session.value = { kind: 'open', who: body }
  isEnded.value = false
  announceRecovery()
}

async function whenOpen<T>(work: () => Promise<T>, waiting: () => void): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (statusOf(error) !== 503 || tries >= MAX_TRIES) throw error
    }
    waiting()
    await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS))
  }
}

export async function logOut(): Promise<void> {
  await ask('logOut', {})
  leave()
}

/** leave shows the login. */
export function leave(): void {
  isEnded.value = false
  session.value = { kind: 'none' }
}

let isLooking = false

/** An answer to a request from before a login may be late: whether the session is over is asked again. */
async function look(): Promise<void> {
  if (isLooking) return
  isLooking = true
  await findSession()
  isLooking = false
}

onProblem(({ status, id }) => {
  if (status === 401 && id !== 'logIn' && id !== 'readSession') void look()
})

effect(() => {
  const { value } = session
  if (value.kind !== 'open' || value.who.expires_at === null) return
  const timer = setTimeout(() => void look(), Math.max(0, Date.parse(value.who.expires_at) - Date.now()) + 1_000)
  return () => clearTimeout(timer)
})
