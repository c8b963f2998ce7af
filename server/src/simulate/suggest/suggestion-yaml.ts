import type { ChosenLimit } from './choose-limit.ts'

/** A limit for a group of callers, with what is said about it. */
export interface SuggestedLimit {
  readonly name: string
  /** The pattern of the endpoint; '' for all requests. */
  readonly endpoint: string
  readonly limit: ChosenLimit
  readonly reasons: readonly string[]
}

/** The limits of one tier; of callers without one, where `tier` is ''. */
export interface SuggestedTier {
  readonly tier: string
  readonly all: SuggestedLimit
  readonly endpoints: readonly SuggestedLimit[]
}

export interface Suggestion {
  readonly domain: string
  readonly caller: string
  readonly isSecret: boolean
  /** What is said at the top. */
  readonly head: readonly string[]
  readonly tiers: readonly SuggestedTier[]
}

const WIDTH = 118

/** Writes a suggestion as a rule file in shadow mode, with the reasons as comments. */
export function suggestionYaml({ domain, caller, isSecret, head, tiers }: Suggestion): string {
  const named = tiers.filter(({ tier }) => tier !== '')
  // Callers without a tier get the limits of the smallest one, where all of them had one.
  const base = tiers.find(({ tier }) => tier === '') ?? smallest(tiers)
  return [
    ...head.flatMap((text) => comment(text, '')),
    `domain: ${text(domain)}`,
    ...(named.length === 0 ? [] : ['tiers:', ...named.flatMap(tierLines)]),
    'descriptors:',
    ...comment('Shadow mode refuses no one: the limits count and report. Remove the lines to put them in force.', '  '),
    `  - key: ${text(caller)}`,
    ...(isSecret ? ['    secret: true'] : []),
    ...(named.length === 0 ? [] : ['    tiered: true']),
    '    shadow_mode: true',
    ...limitLines(base.all, '    '),
    ...endpointLines(base.endpoints, '    '),
    '',
  ].join('\n')
}

function smallest(tiers: readonly SuggestedTier[]): SuggestedTier {
  return [...tiers].sort((a, b) => a.all.limit.minute - b.all.limit.minute)[0]
}

function tierLines({ tier, all, endpoints }: SuggestedTier): string[] {
  return [`  ${text(tier)}:`, ...limitLines(all, '    '), ...endpointLines(endpoints, '    ')]
}

function endpointLines(endpoints: readonly SuggestedLimit[], indent: string): string[] {
  if (endpoints.length === 0) return []
  // The first wildcard of a file that matches is taken: the longer a pattern, the more it says.
  const ordered = [...endpoints].sort(
    (a, b) => b.endpoint.length - a.endpoint.length || (a.endpoint < b.endpoint ? -1 : 1),
  )
  return [`${indent}descriptors:`, ...ordered.flatMap((each) => endpointRule(each, `${indent}  `))]
}

function endpointRule(limit: SuggestedLimit, indent: string): string[] {
  return [
    `${indent}- key: endpoint`,
    `${indent}  value: ${text(limit.endpoint)}`,
    ...(limit.endpoint.includes('*') ? [`${indent}  share_threshold: true`] : []),
    `${indent}  shadow_mode: true`,
    ...limitLines(limit, `${indent}  `),
  ]
}

function limitLines({ name, limit, reasons }: SuggestedLimit, indent: string): string[] {
  const { unit, requestsPerUnit, algorithm, burst } = limit
  const parts = [
    `name: ${text(name)}`,
    `algorithm: ${algorithm}`,
    `unit: ${unit}`,
    `requests_per_unit: ${requestsPerUnit}`,
  ]
  if (burst !== undefined) parts.push(`burst: ${burst}`)
  return [...reasons.flatMap((each) => comment(each, indent)), `${indent}rate_limit: { ${parts.join(', ')} }`]
}

/** Writes a text in lines that fit. */
function comment(words: string, indent: string): string[] {
  const lines = ['']
  for (const word of words.split(' ')) {
    const line = lines[lines.length - 1]
    if (line !== '' && indent.length + line.length + word.length + 3 > WIDTH) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.map((line) => `${indent}# ${line}`)
}

/** Quotes a text: JSON's quoting is YAML's, too. Callers write endpoints. */
function text(value: string): string {
  return /^[a-z][a-z0-9_-]*$/i.test(value) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(value)
    ? value
    : JSON.stringify(value).replace(
        /[\u007f-\u009f\u2028\u2029\ufeff]/g,
        (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
}
