import { cases } from './cases.mjs'

/** Writes the first rules of a case as YAML, as people write it. Not for cases with levels. */
export function ruleText(name, count) {
  const lines = cases[name].descriptors(count).map(({ key, value, cidr }) => {
    const pattern = value === undefined ? (cidr === undefined ? '' : `\n    cidr: ${cidr}`) : `\n    value: ${value}`
    return `  - key: ${key}${pattern.replace(/value: (\*.*)/, 'value: "$1"')}\n    rate_limit: { unit: hour, requests_per_unit: 100 }\n`
  })
  return `domain: d\ndescriptors:\n${lines.join('')}`
}
