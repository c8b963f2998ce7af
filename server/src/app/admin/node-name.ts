import { hostname } from 'node:os'
import type { Config } from '../settings/config.ts'

const DEFAULT_ADMIN_PORT = 8082
const MAX_NAME = 100

/**
 * Returns the name of a node in lists, the same after a restart: what the settings say, or its host, which in
 * Kubernetes is the name of the pod. Several nodes of one host have different admin ports. `adminAddress` is where its
 * admin port listens.
 */
export function nodeName(
  { nodeName: given, adminPort }: Pick<Config, 'nodeName' | 'adminPort'>,
  adminAddress: string | undefined,
  host = hostname(),
): string {
  if (given !== undefined) return given
  const port = adminPort === 0 ? portOf(adminAddress) : adminPort
  return port === undefined || port === DEFAULT_ADMIN_PORT
    ? host.slice(0, MAX_NAME)
    : `${host.slice(0, MAX_NAME)}:${port}`
}

/** A port that the system chooses is known once it listens. */
function portOf(address: string | undefined): number | undefined {
  const port = Number(address?.slice(address.lastIndexOf(':') + 1))
  return Number.isInteger(port) && port > 0 ? port : undefined
}
