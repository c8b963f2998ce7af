export interface Entry {
  readonly key: string
  readonly value: string
}

/** A Question is what is asked about: a request, as the rules see it. */
export interface Question {
  readonly domain: string
  readonly descriptors: readonly { readonly entries: readonly Entry[] }[]
}

/** What a text was understood as. */
export type Understood =
  | {
      readonly kind: 'understood'
      readonly question: Question
      /** What it was taken for, in words. */
      readonly as: string
      /** What to know about it. */
      readonly notes: readonly string[]
    }
  | { readonly kind: 'unclear'; readonly why: string }

/** More than a request can be. */
const MOST_CHARACTERS = 100_000

/**
 * understand reads what was pasted: a request of /v1/check or of Envoy as JSON, also within a curl command; a line of the
 * decision log; a counter's key; or key=value, a line for each descriptor. `domain` is the one that is meant if none is named.
 */
export function understand(text: string, domain = ''): Understood {
  const trimmed = text.trim()
  if (trimmed === '') return unclear('Paste a request, a line of the decision log, or key=value.')
  if (trimmed.length > MOST_CHARACTERS) return unclear('This is too long for one request.')
  const json = jsonWithin(trimmed)
  if (json !== undefined) return ofJson(json, domain)
  if (trimmed.startsWith('{'))
    return unclear('This begins like JSON, but is not whole: a bracket or a quote is missing.')
  return ofCounterKey(trimmed) ?? ofText(trimmed, domain)
}

const unclear = (why: string): Understood => ({ kind: 'unclear', why })

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** jsonWithin is the JSON of a text, which may have something in front and behind: the rest of a command, a time. */
function jsonWithin(text: string): Fields | undefined {
  const [from, to] = [text.indexOf('{'), text.lastIndexOf('}')]
  if (from < 0 || to < from) return undefined
  try {
    const value: unknown = JSON.parse(text.slice(from, to + 1))
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

function ofJson(json: Fields, meant: string): Understood {
  const domain = typeof json.domain === 'string' && json.domain !== '' ? json.domain : meant
  if (Array.isArray(json.descriptors)) return ofRequest(json, domain)
  if (typeof json.key === 'string') return ofLogLine(json, json.key, domain)
  if (typeof json.reason === 'string') return unclear(`This line of the decision log names no key: ${json.reason}.`)
  return unclear('This JSON has no descriptors and no key. A request has a domain and descriptors.')
}

function ofRequest(json: Fields, domain: string): Understood {
  const descriptors: { entries: Entry[] }[] = []
  for (const each of json.descriptors as unknown[]) {
    const entries = isFields(each) && Array.isArray(each.entries) ? each.entries : undefined
    if (entries === undefined) return unclear('A descriptor has entries: a list of key and value.')
    const read = entries.filter(isFields).map(({ key, value }) => ({ key: plain(key), value: plain(value) }))
    if (read.length === 0 || read.length < entries.length || read.some(({ key }) => key === '')) {
      return unclear('Each entry of a descriptor has a key and a value.')
    }
    descriptors.push({ entries: read })
  }
  if (descriptors.length === 0) return unclear('This request has no descriptors.')
  const isEnvoy = 'hits_addend' in json || 'hitsAddend' in json
  return understood({ domain, descriptors }, isEnvoy ? "a request of Envoy's protocol" : 'a request', costNotes(json))
}

const plain = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : String(value)

function costNotes(json: Fields): string[] {
  const cost = Number(json.cost ?? json.hits_addend ?? json.hitsAddend ?? 1)
  return cost > 1 ? [`It costs ${cost}. What is said here is about a request of cost 1.`] : []
}

function ofLogLine(json: Fields, key: string, domain: string): Understood {
  const entries = entriesOfKey(key.split('|'))
  if (entries === undefined) return unclear('The key of this line is not key=value.')
  const notes: string[] = []
  if (typeof json.reason === 'string') {
    const outcome = typeof json.outcome === 'string' ? json.outcome : 'refused'
    const rule = typeof json.rule === 'string' ? ` by ${json.rule}` : ''
    notes.push(`Then it was ${outcome}${rule}: ${json.reason.replaceAll('_', ' ')}. The counters below are current.`)
  }
  return understood({ domain, descriptors: [{ entries }] }, 'a line of the decision log', notes)
}

/** ofCounterKey reads `domain|rule|key=value|…`, as Redis and an explanation have it. */
function ofCounterKey(text: string): Understood | undefined {
  const match = /^(?:[^\s|]*\{\d+\}:)?([^\s|=]+)\|([^|]*)\|(.+)$/.exec(text)
  if (match === null) return undefined
  const [, domain, , rest] = match
  const parts = rest.split('|')
  // In Redis, the form of the limit stands behind the entries.
  if (parts.length > 1 && !parts.at(-1)?.includes('=')) parts.pop()
  const entries = entriesOfKey(parts)
  return entries && understood({ domain: unescaped(domain), descriptors: [{ entries }] }, "a counter's key", [])
}

function entriesOfKey(parts: readonly string[]): Entry[] | undefined {
  const entries = parts.map((part) => {
    const at = part.indexOf('=')
    return { key: unescaped(part.slice(0, Math.max(at, 0))), value: unescaped(part.slice(at + 1)) }
  })
  return entries.every(({ key }) => key !== '') ? entries : undefined
}

/** unescaped undoes what keys of counters do to separators. */
const unescaped = (text: string): string =>
  text.replace(/%(d[89a-f][0-9a-f]{2}|[0-7][0-9a-f])/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))

/** Between entries: a comma, a line feed or spaces, if a key follows. So values may have spaces in them. */
const BETWEEN = /[\s,;|]{1,8}(?=[A-Za-z_][\w.-]*=)/

function ofText(text: string, meant: string): Understood {
  let domain = meant
  const descriptors: { entries: Entry[] }[] = []
  for (const line of text.split(/\r?\n/).map((each) => each.trim())) {
    if (line === '') continue
    const entries = entriesOfLine(line)
    if (entries === undefined) return unclear(`"${shorten(line)}" is no JSON and not key=value.`)
    const named = entries.find(({ key }) => key === 'domain')
    domain = named?.value ?? domain
    const rest = entries.filter((entry) => entry !== named)
    if (rest.length > 0) descriptors.push({ entries: rest })
  }
  if (descriptors.length === 0) return unclear('There is a domain, but no key=value with it.')
  return understood({ domain, descriptors }, 'key=value', [])
}

function entriesOfLine(line: string): Entry[] | undefined {
  const quoted: string[] = []
  // Quoted values are put aside, so that nothing in them separates.
  const bare = line.replace(/="([^"]*)"|='([^']*)'/g, (_, double, single) => {
    quoted.push(double ?? single)
    return `=\0${quoted.length - 1}\0`
  })
  const entries = bare.split(BETWEEN).map((part) => {
    const at = part.indexOf('=')
    const value = part.slice(at + 1).trim()
    const mark = /^\0(\d+)\0$/.exec(value)
    return { key: part.slice(0, Math.max(at, 0)).trim(), value: mark ? quoted[Number(mark[1])] : value }
  })
  return entries.every(({ key }) => key !== '') ? entries : undefined
}

const shorten = (text: string): string => (text.length > 60 ? `${text.slice(0, 57)}…` : text)

/** A secret is shown as a short prefix and a keyed hash. */
const HASHED = /^.{0,16}~[0-9a-f]{16}$/s

function understood(question: Question, as: string, notes: readonly string[]): Understood {
  const hashed = question.descriptors.flatMap(({ entries }) => entries).filter(({ value }) => HASHED.test(value))
  const more = hashed.map(
    ({ key }) =>
      `The value of ${key} is shown as a hash, because it is secret. Type the value itself to find its counter.`,
  )
  return { kind: 'understood', question, as, notes: [...notes, ...new Set(more)] }
}

/** asQuery formats a question for the address of the page. */
export const asQuery = (question: Question): string => JSON.stringify(question)

/** isWhole says whether a question can be asked: nothing in it is left open. */
export function isWhole({ domain, descriptors }: Question): boolean {
  return domain !== '' && descriptors.length > 0 && descriptors.every(({ entries }) => areWhole(entries))
}

const areWhole = (entries: readonly Entry[]): boolean =>
  entries.length > 0 && entries.every(({ key, value }) => key !== '' && value !== '')
