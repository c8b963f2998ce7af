import { SluiceError } from 'sluice/internal/core/errors'
import { variablesOf } from '../settings/setting-sources.ts'
import type { SettingName } from '../settings/settings.ts'
import type { DoorName } from './door.ts'
import { formatListenAddress, type ListenAddress } from './listen.ts'

/** A port of the service: a door, or a port for operators. */
export type PortName = DoorName | 'admin' | 'metrics'

/** How a setting is given: by a flag, or by a variable. */
type Choice = readonly [flag: string, variable: string]

interface Choices {
  readonly port: Choice
  readonly host: Choice
  readonly path?: Choice
  /** How the setting of the port says that any will do. */
  readonly anyPort?: string
}

const setting = (name: SettingName): Choice => [`--${name}`, variablesOf(name)[0] as string]

const CHOICES: { readonly [Name in PortName]: Choices } = {
  http: { port: setting('http-port'), host: setting('host') },
  grpc: { port: setting('grpc-port'), host: setting('grpc-host'), path: setting('grpc-socket') },
  // Settings of its command, which `sluice serve` does not load.
  gateway: { port: ['--port', 'SLUICE_GATEWAY_PORT'], host: setting('host') },
  admin: { port: setting('admin-port'), host: setting('admin-host') },
  metrics: { port: setting('prometheus-address'), host: setting('prometheus-address'), anyPort: ':0' },
}

/** The system calls that open a port. Other errors, such as of certificates, are not about the port. */
const SYSCALLS: ReadonlySet<string | undefined> = new Set(['listen', 'bind', 'getaddrinfo'])

/** Waits until a port is open. It rejects with what keeps it closed, and the settings that change that. */
export async function orUnavailable<T>(name: PortName, at: ListenAddress, opening: Promise<T>): Promise<T> {
  try {
    return await opening
  } catch (error) {
    const fault = error as NodeJS.ErrnoException
    if (!SYSCALLS.has(fault.syscall)) throw error
    const [detail, advice] = 'path' in at ? aboutPath(name, at.path, fault) : aboutPort(name, at, fault)
    throw new SluiceError('PORT_UNAVAILABLE', formatListenAddress(at), detail, advice)
  }
}

type Text = readonly [detail: string, advice: string]

function aboutPort(name: PortName, { host, port }: { host: string; port: number }, fault: NodeJS.ErrnoException): Text {
  const choices = CHOICES[name]
  const [flag, variable] = choices.port
  const any = choices.anyPort ?? '0'
  const free = `choose a port: ${flag} ${any}, or ${variable}=${any}, picks a free one.`
  const address = `Choose an address of this machine: ${choices.host.join(', or ')}.`
  switch (fault.code) {
    case 'EADDRINUSE':
      return [`port ${port} is in use (EADDRINUSE)`, `Stop the other process, or ${free}`]
    case 'EACCES':
      return [`this user may not listen on port ${port} (EACCES)`, `Grant CAP_NET_BIND_SERVICE, or ${free}`]
    case 'EADDRNOTAVAIL':
      return [`this machine does not have the address ${host} (EADDRNOTAVAIL)`, address]
    case 'ENOTFOUND':
      return [`there is no host of the name ${host} (ENOTFOUND)`, address]
    default:
      return [`port ${port} of ${host} cannot be opened: ${fault.message}`, `Correct this, or ${free}`]
  }
}

const PATH_REASONS: ReadonlyMap<string | undefined, string> = new Map([
  ['EADDRINUSE', 'is in use'],
  ['EACCES', 'is in a folder that this user may not write to'],
  ['ENOENT', 'is in a folder that does not exist'],
])

function aboutPath(name: PortName, path: string, { code, message }: NodeJS.ErrnoException): Text {
  const reason = PATH_REASONS.get(code)
  const detail = reason === undefined ? `cannot be opened: ${message}` : `${reason} (${code})`
  const correct = code === 'EADDRINUSE' ? 'Stop the other process' : 'Correct this'
  return [`the socket ${path} ${detail}`, `${correct}, or choose another path: ${CHOICES[name].path?.join(', or ')}.`]
}
