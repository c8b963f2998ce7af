import { ipKey } from 'sluice/internal/core/identity/ip-key'
import type { Caller } from 'sluice/internal/http-door/caller'
import { canonicalMethod } from 'sluice/internal/http-door/request-path'
import type { GatewayRequest } from '../gateway/gate.ts'
import { JsonScanner } from './json-scanner.ts'
import type { ValueSource } from './planned-route.ts'
import { joinedField } from './request-reader.ts'

const NONE: readonly string[] = []
const SUBNET = { ipv4Prefix: 24, ipv6Prefix: 48 }
/** How many values of one name in a form are charged. */
const MAX_VALUES = 4
const MAX_CHARACTERS = 1_024

type Read = ValueSource['values']

const listed = (value: string | undefined): readonly string[] => (value === undefined || value === '' ? NONE : [value])

const WORDS: Readonly<Record<string, Read>> = {
  ip: (_, { ip }) => [ip ?? 'unknown'],
  subnet: ({ ip }) => [ipKey(ip, SUBNET) ?? 'unknown'],
  api_key: (_, { apiKey, moreApiKeys }) =>
    moreApiKeys === undefined ? listed(apiKey) : [apiKey as string, ...moreApiKeys],
  user: (_, { user }) => listed(user),
  tenant: (_, { tenant }) => listed(tenant),
  tier: (_, { tier }) => listed(tier),
  method: ({ method }) => [canonicalMethod(method)],
  path: ({ path, otherPath }) => (otherPath === undefined ? [path] : [path, otherPath]),
  host: ({ host }) => [host],
  route: ({ route }) => [route.name],
}

/** Returns what a word such as `ip` stands for. */
export function wordSource(word: string): ValueSource {
  return { key: word, isSecret: word === 'api_key', readsBody: false, values: WORDS[word] }
}

/** Always the same. */
export function fixedSource(key: string, value: string): ValueSource {
  return { key, isSecret: false, readsBody: false, values: () => [value] }
}

export function headerSource(key: string, name: string): ValueSource {
  const lower = name.toLowerCase()
  // Some fields are credentials.
  return { ...plain(key, ({ headers }) => listed(short(joinedField(headers, lower)))), isSecret: true }
}

export function parameterSource(key: string, name: string): ValueSource {
  return plain(key, ({ parameters }) => listed(parameters.get(name)))
}

/** Returns a source that reads JSON. It mostly identifies people, so what it finds is stored as a hash. */
export function jsonSource(key: string, path: string): ValueSource {
  return ofBody(key, (body) => scanned(body, path).map((value) => String(value)))
}

export function formSource(key: string, name: string): ValueSource {
  return ofBody(key, (body) => new URLSearchParams(body.toString('utf8')).getAll(name))
}

/** Returns the number at a path of the body. */
export function bodyNumber({ body }: GatewayRequest, path: string): number | undefined {
  const number = body && scanned(body, path).findLast((value) => typeof value === 'number')
  return number !== undefined && number >= 0 ? Math.ceil(number) : undefined
}

function scanned(body: Buffer, path: string): readonly (string | number)[] {
  const scanner = new JsonScanner(path)
  scanner.push(body)
  scanner.end()
  return scanner.values
}

function plain(key: string, values: (request: GatewayRequest, caller: Caller) => readonly string[]): ValueSource {
  return { key, isSecret: false, readsBody: false, values }
}

function ofBody(key: string, read: (body: Buffer) => readonly string[]): ValueSource {
  const values = ({ body }: GatewayRequest): readonly string[] => {
    if (body === undefined || body.length === 0) return NONE
    const found = new Set(
      read(body)
        .map(folded)
        .filter((value) => value !== ''),
    )
    return found.size <= MAX_VALUES ? [...found] : [...found].slice(0, MAX_VALUES - 1).concat([...found].slice(-1))
  }
  return { key, isSecret: true, readsBody: true, values }
}

/** Normalizes what most apps treat as the same account. */
function folded(value: string): string {
  return value.slice(0, MAX_CHARACTERS).normalize('NFKC').trim().toLowerCase()
}

function short(value: string | undefined): string | undefined {
  return value?.slice(0, MAX_CHARACTERS)
}
