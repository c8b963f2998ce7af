import { unlinkSync } from 'node:fs'
import { type AddressInfo, connect, type ListenOptions, type Server } from 'node:net'

/** A Place is where a door listens: a host and a port, or a Unix socket. */
export type Place = { readonly host: string; readonly port: number } | { readonly path: string }

/** Resolves when a server listens. It takes the place of a Unix socket that a killed process has left behind. */
export async function listen(server: Server, place: Place): Promise<void> {
  try {
    await startListening(server, place)
  } catch (error) {
    if (!('path' in place) || !(await isStale(place.path, error))) throw error
    unlinkSync(place.path)
    await startListening(server, place)
  }
}

function startListening(server: Server, place: Place): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(place as ListenOptions, () => {
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
export function reachable(port: number, place: Place): string {
  if ('path' in place) return `unix:${place.path}`
  const { host } = place
  return placeText({ host: EVERY_ADDRESS.has(host) ? 'localhost' : host, port })
}

/** Formats a place for people. */
export function placeText(place: Place): string {
  if ('path' in place) return place.path
  return place.host.includes(':') ? `[${place.host}]:${place.port}` : `${place.host}:${place.port}`
}
