import { got, SluiceError } from 'sluice/internal/core/errors'
import type { SettingSources } from './setting-sources.ts'
import { type Given, lastOf } from './setting-values.ts'

/** Where a control plane is, and what is sent to it about this node. It is plain data. */
export interface XdsConfig {
  /** What people call it. */
  readonly name: string
  readonly host: string
  readonly port: number
  readonly isTls: boolean
  /** The name its certificate must match. Undefined: its host. */
  readonly serverName: string | undefined
  readonly node: { readonly id: string; readonly metadata: Readonly<Record<string, string>> }
  readonly headers: Readonly<Record<string, string>>
  readonly maxMessageBytes: number
  readonly backoffMs: number
  readonly maxBackoffMs: number
}

const MAX_MESSAGE_BYTES = 8 * 1024 * 1024
const MOST_MESSAGE_BYTES = 64 * 1024 * 1024
const MIN_BACKOFF_MS = 100

/** Returns whether the environment asks for rules as envoyproxy/ratelimit gets them from a control plane. */
export function isXdsWanted(env: NodeJS.ProcessEnv): boolean {
  return (env.CONFIG_TYPE ?? '').toLowerCase() === 'grpc_xds_sotw'
}

/**
 * Reads the settings of a control plane. Settings other than its address are read in any case, so that an invalid one
 * is reported now.
 */
export function xdsOf(from: SettingSources, env: NodeJS.ProcessEnv): XdsConfig | undefined {
  const backoffMs = Math.max(MIN_BACKOFF_MS, from.value('rules-xds-backoff'))
  const options = {
    isTls: from.value('rules-xds-tls'),
    serverName: from.value('rules-xds-name'),
    node: { id: from.value('rules-xds-node'), metadata: pairsOf(from.given('rules-xds-metadata'), METADATA) },
    headers: headersOf(from.given('rules-xds-headers')),
    maxMessageBytes: Math.min(MOST_MESSAGE_BYTES, from.value('rules-xds-max-message') ?? MAX_MESSAGE_BYTES),
    backoffMs,
    maxBackoffMs: Math.max(backoffMs, from.value('rules-xds-backoff-max')),
  }
  const given = from.given('rules-xds') ?? (isXdsWanted(env) ? serverOf(env) : undefined)
  return given === undefined ? undefined : { ...placeOf(given), ...options }
}

function serverOf({ CONFIG_GRPC_XDS_SERVER_URL: url = '' }: NodeJS.ProcessEnv): Given {
  return { values: [url || 'localhost:18000'], where: 'CONFIG_GRPC_XDS_SERVER_URL', source: 'env' }
}

/** Reads `host:port` or `[::1]:port`; dns:/// before it says nothing more. */
function placeOf(given: Given): Pick<XdsConfig, 'name' | 'host' | 'port'> {
  const value = lastOf(given).replace(/^dns:\/\/\//, '')
  const [, bracketed, bare = '', port = ''] = /^(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+)):(\d{1,5})$/.exec(value) ?? []
  const host = bracketed ?? bare
  if (host === '' || Number(port) < 1 || Number(port) > 65_535) {
    throw new SluiceError('RULES_XDS_INVALID', given.where, got(lastOf(given)))
  }
  return { name: `xds ${value}`, host, port: Number(port) }
}

const METADATA = /^([^=:]+)[=:](.*)$/s
const HEADER = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([\x20-\x7e]*)$/

function pairsOf(given: Given | undefined, form: RegExp): Readonly<Record<string, string>> {
  if (given === undefined) return {}
  const parts = lastOf(given).split(',')
  const pairs = parts.map((part) => form.exec(part.trim()))
  // The value is not shown: it may be secret.
  const wrong = pairs.indexOf(null)
  if (wrong >= 0)
    throw new SluiceError('RULES_XDS_INVALID', given.where, `part ${wrong + 1} of ${parts.length} is malformed`)
  return Object.fromEntries(pairs.flatMap((pair) => (pair === null ? [] : [[pair[1].trim(), pair[2].trim()]])))
}

/** Headers that the connection sets. */
const OURS =
  /^(?:te|host|connection|keep-alive|proxy-connection|transfer-encoding|upgrade|content-type|content-length|grpc-.*)$/

function headersOf(given: Given | undefined): Readonly<Record<string, string>> {
  const headers = Object.entries(pairsOf(given, HEADER)).map(([name, value]) => [name.toLowerCase(), value] as const)
  const ours = headers.find(([name]) => OURS.test(name))
  if (given !== undefined && ours !== undefined) {
    throw new SluiceError('RULES_XDS_INVALID', given.where, `the header ${ours[0]} is set by Sluice itself`)
  }
  return Object.fromEntries(headers)
}
