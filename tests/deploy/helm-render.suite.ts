import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { ROOT } from './image-tree.suite.ts'

const CHART = join(ROOT, 'deploy/helm/sluice')

/**
 * Renders the chart, with the part of Helm's language that its templates use: values, if, else, include, toYaml, quote,
 * nindent, not and Files.Get. It throws at anything else, so that a template that uses more is not taken for checked.
 */
export function render(overrides: Readonly<Record<string, unknown>> = {}): unknown[] {
  const folder = join(CHART, 'templates')
  const scope = scopeOf(overrides)
  scan(readFileSync(join(folder, '_helpers.tpl'), 'utf8'), scope)
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  return files.flatMap((name) => {
    const text = scan(readFileSync(join(folder, name), 'utf8'), scope)
    return parseAllDocuments(text, { uniqueKeys: true }).flatMap((document) => {
      if (document.errors.length > 0) throw new Error(`${name}: ${document.errors[0].message}\n${text}`)
      const value: unknown = document.toJS()
      return value === null ? [] : [value]
    })
  })
}

/** Returns the values of the chart. */
export function chartValues(): Record<string, unknown> {
  return parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as Record<string, unknown>
}

interface Scope {
  readonly data: Readonly<Record<string, unknown>>
  readonly templates: Map<string, readonly Node[]>
}

function scopeOf(overrides: Readonly<Record<string, unknown>>): Scope {
  const chart = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')) as { version: string; appVersion: string }
  const data = {
    Values: { ...chartValues(), ...overrides },
    Chart: { Version: chart.version, AppVersion: chart.appVersion },
    Release: { Name: 'limits', Namespace: 'apis', Service: 'Helm' },
  }
  return { data, templates: new Map() }
}

type Node =
  | { readonly text: string }
  | { readonly action: string }
  | { readonly condition: string; readonly whenTrue: readonly Node[]; readonly otherwise: readonly Node[] }

/** Renders a text. What it defines is kept. */
function scan(text: string, scope: Scope): string {
  const parts = text.split(/(\{\{-?.*?-?\}\})/s).map((part, i, all) => {
    if (i % 2 === 1) return part
    const before = all[i - 1]?.endsWith('-}}') ? part.trimStart() : part
    return all[i + 1]?.startsWith('{{-') ? before.trimEnd() : before
  })
  const nodes = parsed(parts.values(), scope)
  return rendered(nodes.list, scope)
}

function parsed(parts: IterableIterator<string>, scope: Scope): { list: Node[]; end: string } {
  const list: Node[] = []
  for (const part of parts) {
    const action = /^\{\{-?\s*(.*?)\s*-?\}\}$/s.exec(part)?.[1]
    if (action === undefined) list.push({ text: part })
    else if (action === 'end' || action === 'else') return { list, end: action }
    else if (action.startsWith('if ')) {
      const whenTrue = parsed(parts, scope)
      const otherwise = whenTrue.end === 'else' ? parsed(parts, scope).list : []
      list.push({ condition: action.slice(3), whenTrue: whenTrue.list, otherwise })
    } else if (action.startsWith('define ')) scope.templates.set(JSON.parse(action.slice(7)), parsed(parts, scope).list)
    else list.push({ action })
  }
  return { list, end: '' }
}

function rendered(nodes: readonly Node[], scope: Scope): string {
  return nodes
    .map((node) => {
      if ('text' in node) return node.text
      if ('action' in node) return String(evaluated(node.action, scope))
      return rendered(isTrue(evaluated(node.condition, scope)) ? node.whenTrue : node.otherwise, scope)
    })
    .join('')
}

/** Go takes what is empty for false. */
function isTrue(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value)
}

function evaluated(action: string, scope: Scope): unknown {
  const [first, ...pipes] = action.split('|').map((each) => each.trim())
  return pipes.reduce<unknown>(piped, termOf(first, scope))
}

function termOf(term: string, scope: Scope): unknown {
  const [word, ...rest] = term.split(/\s+/)
  const argument = rest.join(' ')
  if (word === 'not') return !isTrue(termOf(argument, scope))
  if (word === 'toYaml') return stringify(termOf(argument, scope), { lineWidth: 0 }).trimEnd()
  if (word === '.Files.Get') return readFileSync(join(CHART, JSON.parse(argument)), 'utf8')
  if (word === 'include' && rest[1] === '.') {
    const template = scope.templates.get(JSON.parse(rest[0]))
    if (template === undefined) throw new Error(`no template ${rest[0]}`)
    return rendered(template, scope).trimStart()
  }
  if (!/^(\.\w+)+$/.test(term)) throw new Error(`this renderer does not know {{ ${term} }}`)
  const value = term
    .slice(1)
    .split('.')
    .reduce<unknown>((from, name) => (from as Record<string, unknown> | undefined)?.[name], scope.data)
  if (value === undefined) throw new Error(`there is no ${term}`)
  return value
}

function piped(value: unknown, pipe: string): unknown {
  if (pipe === 'quote') return JSON.stringify(String(value))
  const [, spaces] = /^nindent (\d+)$/.exec(pipe) ?? []
  if (spaces === undefined) throw new Error(`this renderer does not know "${pipe}"`)
  // As Helm does: lines that are empty get spaces too.
  return `\n${String(value).replace(/^/gm, ' '.repeat(Number(spaces)))}`
}
