import { type AdminStore, openDirectStore, STORE_FLAGS } from '../../app/quotas/admin-store.ts'
import type { Flags } from '../../app/settings/flags.ts'
import { adminAddress, DEFAULT_ADMIN } from '../admin/admin-address.ts'
import { remoteStore } from './remote-store.ts'

/** The flags of commands that work with a database, or with a service that has one. */
export const FLAGS_OF_STORE = [
  ...STORE_FLAGS,
  { flag: 'admin', value: 'URL' },
  { flag: 'token', value: 'TOKEN' },
] as const

/**
 * Opens what a command line names: the admin API of a service, or else a database, or else the service on this machine.
 * A data directory is locked while a service has it open, so that such a service has to be asked.
 */
export async function withStore(
  flags: Flags,
  work: (store: AdminStore) => Promise<void>,
  { mayCreate = false } = {},
): Promise<void> {
  const direct = flags.has('admin') ? undefined : await openDirectStore(flags, process.env, mayCreate)
  const store = direct ?? remote(flags)
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

function remote(flags: Flags): AdminStore {
  const token = flags.last('token') ?? (process.env.SLUICE_ADMIN_TOKEN || undefined)
  return remoteStore(adminAddress(flags.last('admin') ?? DEFAULT_ADMIN), token)
}
