import type { AdminToken } from '../../quotas/tables/admin-token.ts'
import { CREATED, named, needed, orNull as nullable, object, TIME, WORDS } from '../../records/forms.ts'
import { timeText } from '../../records/times.ts'
import { ROLES } from '../access/roles.ts'
import { timeOrNull } from '../api/values.ts'

export const TOKEN_FIELDS = {
  id: needed(WORDS),
  name: needed(WORDS),
  role: needed({ kind: 'choice', of: ROLES }),
  prefix: needed(WORDS, 'the first characters of the token'),
  ...CREATED,
  expires_at: nullable(TIME),
  revoked_at: nullable(TIME),
  last_used_at: nullable(TIME),
} as const

export const TOKEN = named('Token', object(TOKEN_FIELDS))

export function tokenJson({ id, name, role, prefix, createdAtMs, expiresAtMs, revokedAtMs, lastUsedAtMs }: AdminToken) {
  return {
    id,
    name,
    role,
    prefix,
    created_at: timeText(createdAtMs),
    expires_at: timeOrNull(expiresAtMs),
    revoked_at: timeOrNull(revokedAtMs),
    last_used_at: timeOrNull(lastUsedAtMs),
  }
}
