import { DESK_FLAGS, openDirectDesk, type QuotaDesk } from '../../app/quotas/quota-desk.ts'
import type { Flags } from '../../app/settings/flags.ts'
import { adminAddress, DEFAULT_ADMIN } from '../admin/admin-address.ts'
import { remoteDesk } from './remote-desk.ts'

/** The flags of commands that work with a database, or with a service that has one. */
export const FLAGS_OF_DESK = [
  ...DESK_FLAGS,
  { flag: 'admin', value: 'URL' },
  { flag: 'token', value: 'TOKEN' },
] as const

/**
 * Opens what a command line names: the admin API of a service, or else a database, or else the service on this machine.
 * A data directory is locked while a service has it open, so that such a service has to be asked.
 */
export async function withDesk(flags: Flags, work: (desk: QuotaDesk) => Promise<void>): Promise<void> {
  const desk = (flags.has('admin') ? undefined : await openDirectDesk(flags, process.env)) ?? remote(flags)
  try {
    await work(desk)
  } finally {
    await desk.close()
  }
}

function remote(flags: Flags): QuotaDesk {
  const token = flags.last('token') ?? (process.env.SLUICE_ADMIN_TOKEN || undefined)
  return remoteDesk(adminAddress(flags.last('admin') ?? DEFAULT_ADMIN), token)
}
