import type { IncomingMessage } from 'node:http'
import { named, needed, orNull as nullable, object, TIME, text, WORDS } from '../../records/forms.ts'
import { setCookie } from '../access/sessions.ts'
import { operation } from '../api/operation.ts'
import { ACCESS } from '../api/parts.ts'
import { timeText } from '../api/values.ts'
import { ROLES } from '../tokens/table.ts'

const SESSION = named(
  'Session',
  object({
    id: needed(WORDS, 'the id of the token'),
    name: needed(WORDS),
    role: needed({ kind: 'choice', of: ROLES }),
    via: needed({ kind: 'choice', of: ['token', 'session', 'loopback'] }),
    expires_at: nullable(TIME, 'of the session'),
  }),
)

/**
 * isSecure says whether a browser came by https, if only to the first of several proxies. A client that lies about it makes its own
 * cookie useless.
 */
function isSecure({ headers, socket }: IncomingMessage): boolean {
  const [first] = String(headers['x-forwarded-proto'] ?? '').split(',', 1)
  return 'encrypted' in socket || first.trim().toLowerCase() === 'https'
}

export const SESSION_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'readSession',
    method: 'GET',
    path: '/session',
    tag: 'session',
    role: 'viewer',
    summary: 'who you are here, and what you may do',
    answer: { status: 200, schema: SESSION },
    run: async ({ parts, identity, request }) => {
      const session = identity.via === 'session' ? parts.get(ACCESS).sessionOf(request) : undefined
      return { body: { ...identity, expires_at: session === undefined ? null : timeText(session.expiresAtMs) } }
    },
  }),
  operation({
    kind: 'look',
    id: 'logIn',
    method: 'POST',
    path: '/session',
    tag: 'session',
    role: 'anyone',
    summary: 'log in with a token: an HttpOnly cookie takes its place for twelve hours',
    body: named('Login', object({ token: needed(text(1_024)) })),
    answer: { status: 200, schema: SESSION },
    errors: ['ADMIN_TOKEN_REQUIRED'],
    run: async ({ parts, body, request, nowMs }) => {
      const { id, name, role } = await parts.get(ACCESS).login(request, body.token)
      const { session, value } = parts.get(ACCESS).sessions.begin(id)
      const cookie = setCookie(value, session.expiresAtMs - nowMs, isSecure(request))
      return {
        headers: { 'Set-Cookie': cookie },
        body: { id, name, role, via: 'session', expires_at: timeText(session.expiresAtMs) },
      }
    },
  }),
  operation({
    kind: 'look',
    id: 'logOut',
    method: 'DELETE',
    path: '/session',
    tag: 'session',
    role: 'anyone',
    summary: 'log out: the cookie is worthless from now on',
    answer: { status: 204 },
    run: async ({ parts, request }) => {
      const session = parts.get(ACCESS).sessionOf(request)
      if (session !== undefined) parts.get(ACCESS).sessions.end(session)
      return { headers: { 'Set-Cookie': setCookie('', 0, isSecure(request)) } }
    },
  }),
]
