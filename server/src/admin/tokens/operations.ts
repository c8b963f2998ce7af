import { ID, list, named, needed, object, optional, REASON, TIME, text, WORDS } from '../../records/forms.ts'
import { newToken } from '../access/admin-tokens.ts'
import { ROLES } from '../access/roles.ts'
import { operation } from '../api/operation.ts'
import { TOKENS } from '../api/parts.ts'
import { invalid, timeOf, unknownRecord } from '../api/values.ts'
import { TOKEN, TOKEN_FIELDS, tokenJson } from './token-forms.ts'

export const TOKEN_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listTokens',
    method: 'GET',
    path: '/tokens',
    tag: 'tokens',
    role: 'admin',
    summary: 'tokens of the admin API, and when each was used last',
    answer: { status: 200, schema: object({ tokens: needed(list(TOKEN)) }) },
    run: async ({ parts }) => ({ body: { tokens: (await parts.get(TOKENS).list()).map(tokenJson) } }),
  }),
  operation({
    kind: 'change',
    id: 'createToken',
    method: 'POST',
    path: '/tokens',
    tag: 'tokens',
    role: 'admin',
    summary: 'make a token; it is shown this once',
    body: named(
      'NewToken',
      object({
        name: needed(text(100)),
        role: needed({ kind: 'choice', of: ROLES }),
        expires_at: optional(TIME),
        reason: optional(REASON),
      }),
    ),
    isCreation: true,
    answer: {
      status: 201,
      schema: named('MadeToken', object({ ...TOKEN_FIELDS, token: needed(WORDS, 'shown this once') })),
    },
    plan: async (call) => {
      const { name, role, expires_at } = call.body
      const expiresAtMs = timeOf(expires_at, 'body.expires_at')
      if (expiresAtMs !== undefined && expiresAtMs <= call.nowMs) throw invalid('body.expires_at', 'it has passed')
      const store = call.parts.get(TOKENS)
      const { token, kept } = newToken({ name, role, expiresAtMs }, call.nowMs)
      return {
        changes: [{ kind: 'token', before: undefined, after: { name, role } }],
        commit: async () => ({ body: { ...tokenJson(await store.create(kept, call.by)), token } }),
      }
    },
  }),
  operation({
    kind: 'change',
    id: 'revokeToken',
    method: 'DELETE',
    path: '/tokens/{token_id}',
    tag: 'tokens',
    role: 'admin',
    summary: 'revoke a token: it and its sessions end at once',
    params: { token_id: { schema: ID, doc: 'the id of the token, not the token' } },
    answer: { status: 200, schema: TOKEN },
    errors: ['RECORD_UNKNOWN'],
    plan: async (call) => {
      const store = call.parts.get(TOKENS)
      const { token_id: id } = call.params
      const before = await store.get(id)
      if (before === undefined) throw unknownRecord('tokens', id)
      return {
        changes: [{ kind: 'token', before: tokenJson(before), after: undefined }],
        commit: async () => ({ body: tokenJson((await store.revoke(id, call.by)) ?? before) }),
      }
    },
  }),
]
