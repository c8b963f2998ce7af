import { unlinkSync } from 'node:fs'
import { type AddressInfo, connect, type ListenOptions, type Server } from 'node:net'

/** Where a door listens: a host and a port, or a Unix socket. */
export type ListenAddress = { readonly host: string; readonly port: number } | { readonly path: string }

/** Resolves when a server listens. Replaces a Unix socket that a killed process has left behind. */
export async function listen(server: Server, at: ListenAddress): Promise<void> {
  try {
    await startListening(server, at)
  } catch (error) {
    if (!('path' in at) || !(await isStale(at.path, error))) throw error
    unlinkSync(at.path)
    await startListening(server, at)
  }
}

function startListening(server: Server, at: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(at as ListenOptions, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function isStale(path: string, error: unknown): Promise<boolean> {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return Promise.resolve(false)
  return new Promise((resolve) => {
    const probe = connect(path)
    probe.on('connect', () => {
      probe.destroy()
      resolve(false)
    })
    probe.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'))
  })
}

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

/** The port that a server listens on, which the system may have picked. */
export function portOf(server: Server): number {
  return (server.address() as Partial<AddressInfo> | null)?.port ?? 0
}

/** Formats where a server can be reached from this machine: `localhost:8080`, `[::1]:8080`, `unix:/run/a.sock`. */
export function reachable(port: number, at: ListenAddress): string {
  if ('path' in at) return `unix:${at.path}`
  const { host } = at
  return formatListenAddress({ host: EVERY_ADDRESS.has(host) ? 'localhost' : host, port })
}

/** Formats an address for people. */
export function formatListenAddress(at: ListenAddress): string {
  if ('path' in at) return at.path
  return at.host.includes(':') ? `[${at.host}]:${at.port}` : `${at.host}:${at.port}`
}
