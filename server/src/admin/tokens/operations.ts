import { ID, list, named, needed, object, optional, REASON, WORDS } from '../../records/forms.ts'
import type { Given } from '../../records/record-table.ts'
import { newToken } from '../access/admin-tokens.ts'
import { operation } from '../api/operation.ts'
import { TOKENS } from '../api/parts.ts'
import { invalid, unknownRecord } from '../api/values.ts'
import { tokens } from './table.ts'

export const TOKEN_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listTokens',
    method: 'GET',
    path: '/tokens',
    tag: 'tokens',
    role: 'admin',
    summary: 'tokens of the admin API, and when each was used last',
    answer: { status: 200, schema: object({ tokens: needed(list(tokens.answer)) }) },
    run: async ({ parts }) => ({
      body: { tokens: (await parts.get(TOKENS).list()).map((each) => tokens.toJson(each)) },
    }),
  }),
  operation({
    kind: 'change',
    id: 'createToken',
    method: 'POST',
    path: '/tokens',
    tag: 'tokens',
    role: 'admin',
    summary: 'make a token; it is shown this once',
    body: named('NewToken', object({ ...tokens.sent.whole, reason: optional(REASON) })),
    isCreation: true,
    answer: {
      status: 201,
      schema: named('MadeToken', object({ ...tokens.answerFields, token: needed(WORDS, 'shown this once') })),
    },
    plan: async (call) => {
      const given = tokens.made(call.body as Given, { id: '', nowMs: call.nowMs }, {})
      const { name, role, expiresAtMs } = given
      if (expiresAtMs !== undefined && expiresAtMs <= call.nowMs) throw invalid('body.expires_at', 'it has passed')
      const store = call.parts.get(TOKENS)
      const { token, kept } = newToken({ name, role, expiresAtMs }, call.nowMs)
      return {
        changes: [{ kind: 'token', before: undefined, after: { name, role } }],
        commit: async () => ({ body: { ...tokens.toJson(await store.create(kept, call.by)), token } }),
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
    summary: 'revoke a token: it and its sessions end immediately',
    params: { token_id: { schema: ID, doc: 'the id of the token, not the token' } },
    answer: { status: 200, schema: tokens.answer },
    errors: ['RECORD_UNKNOWN'],
    plan: async (call) => {
      const store = call.parts.get(TOKENS)
      const { token_id: id } = call.params
      const before = await store.get(id)
      if (before === undefined) throw unknownRecord('tokens', id)
      return {
        changes: [{ kind: 'token', before: tokens.toJson(before), after: undefined }],
        commit: async () => ({ body: tokens.toJson((await store.revoke(id, call.by)) ?? before) }),
      }
    },
  }),
]
