import { cases } from './cases.mjs'

/** ruleText spells rules of one case as YAML, as people write it. */
export function ruleText(name, count) {
  return `domain: d\ndescriptors:\n${ruleLines(name, count).join('')}`
}

function ruleLines(name, count) {
  return cases[name].descriptors(count).map(({ key, value, cidr }) => {
    const pattern = value === undefined ? (cidr === undefined ? '' : `\n    cidr: ${cidr}`) : `\n    value: ${value}`
    return `  - key: ${key}${pattern.replace(/value: (\*.*)/, 'value: "$1"')}\n    rate_limit: { unit: hour, requests_per_unit: 100 }\n`
  })
}
