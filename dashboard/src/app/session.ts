import { computed, signal } from '@preact/signals'
import { ask, onProblem } from '../api/client.ts'
import type { Session } from '../api/operations.ts'

/** The session: being looked for, not there, or who is logged in. The token is never kept here. */
export type SessionState =
  | { readonly kind: 'looking' | 'none' | 'unreachable' }
  | { readonly kind: 'open'; readonly who: Session }

export const session = signal<SessionState>({ kind: 'looking' })

export type Role = Session['role']
const RANKS: readonly Role[] = ['viewer', 'operator', 'admin']

export const role = computed(() => (session.value.kind === 'open' ? session.value.who.role : 'viewer'))

/** may says whether the one who is logged in has a role. Programs on this machine may look without a token, and change nothing. */
export function may(needed: Role): boolean {
  const { value } = session
  if (value.kind !== 'open') return false
  return RANKS.indexOf(value.who.role) >= RANKS.indexOf(needed)
}

export async function findSession(): Promise<void> {
  try {
    const { body } = await ask('readSession', {})
    session.value = { kind: 'open', who: body }
  } catch {
    if (session.value.kind === 'looking') session.value = { kind: 'unreachable' }
  }
}

/** logIn sends the token once; a cookie that scripts cannot read takes its place. */
export async function logIn(token: string): Promise<void> {
  const { body } = await ask('logIn', { body: { token } })
  session.value = { kind: 'open', who: body }
}

export async function logOut(): Promise<void> {
  await ask('logOut', {})
  session.value = { kind: 'none' }
}

onProblem(({ status }) => {
  if (status === 401) session.value = { kind: 'none' }
})
