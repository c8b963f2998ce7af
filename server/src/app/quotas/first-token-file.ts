import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { newToken } from '../../admin/access/admin-tokens.ts'
import type { Actor } from '../../quotas/audit/actor.ts'
import type { TokenStore } from '../../quotas/tables/token-store.ts'

const BY: Actor = { id: 'first-start', name: 'first start', address: undefined, reason: 'there was no token yet' }

/**
 * Makes an admin's token where there is none, and writes it to a file that only this user reads: what a service prints
 * ends up in log collectors. The file is written before the token is good, so that no token is ever good and unknown.
 * Returns whether one was made.
 */
export async function writeFirstToken(
  store: Pick<TokenStore, 'createFirst' | 'hasAny'>,
  file: string,
  nowMs: number,
): Promise<boolean> {
  if (await store.hasAny()) return false
  const { token, kept } = newToken({ name: 'first start', role: 'admin' }, nowMs)
  const written = `${file}.${kept.id}`
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await writeFile(written, `${token}\n`, { flag: 'wx', mode: 0o600 })
  // Another node may be faster: its token is in another file.
  const isFirst = await store.createFirst(kept, BY).catch(async (error: unknown) => {
    await rm(written, { force: true })
    throw error
  })
  await (isFirst ? rename(written, file) : rm(written, { force: true }))
  return isFirst
}
