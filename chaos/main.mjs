import { readFileSync, writeFileSync } from 'node:fs'
import { header, table } from '../bench/report.mjs'
import { alertsOn } from './alerts.mjs'
import { FAULTS } from './faults.mjs'
import { LIMIT } from './fleet.mjs'
import { tryFault } from './trial.mjs'

// npm run chaos [-- NAME…] [--write]: each fault against two nodes under load, with what came of it as a table. --write
// puts the table into docs/faults.md, and needs all faults. It ends with 1 when something happened that must not.

const DOCUMENT = new URL('../docs/faults.md', import.meta.url)
const BEGIN = '<!-- npm run chaos -- --write: begin -->\n'
const END = '<!-- end -->'

const names = process.argv.slice(2).filter((each) => !each.startsWith('--'))
const isWriting = process.argv.includes('--write')
const unknown = names.filter((name) => !FAULTS.some((fault) => fault.name === name))
if (unknown.length > 0 || (isWriting && names.length > 0)) {
  const known = FAULTS.map(({ name }) => name).join(', ')
  console.error(
    unknown.length > 0
      ? `sluice: there is no fault "${unknown[0]}"; there are: ${known}`
      : 'sluice: --write writes the table of all faults: leave the names out',
  )
  process.exit(2)
}

const percent = (share) => `${(100 * share).toFixed(share > 0.9995 || share < 0.0005 ? 0 : 1)} %`
const seconds = (ms) => `${(ms / 1_000).toFixed(1)} s`
const head = ['fault', '≤ 20 ms', '≤ 100 ms', 'no answer', 'alone', `admitted of ${LIMIT}`, 'twice', 'healed after']
const row = (seen) => [
  seen.fault.name,
  percent(seen.within20),
  percent(seen.within100),
  seen.unanswered,
  seen.alone,
  seen.admitted,
  seen.chargedTwice,
  seconds(seen.healedMs),
]

console.log(`${header('npm run chaos', ['sluice'])}\n`)
const all = []
for (const fault of FAULTS.filter(({ name }) => names.length === 0 || names.includes(name))) {
  const seen = await tryFault(fault)
  all.push(seen)
  console.log(`${fault.name}: ${seen.failures.length === 0 ? 'as it should be' : seen.failures.join('; ')}`)
}
console.log(`\n${table(head, all.map(row))}\n`)
const failed = all.filter(({ failures }) => failures.length > 0)
console.log(`${all.length - failed.length} passed, ${failed.length} failed`)
if (isWriting && failed.length === 0) write()
process.exitCode = failed.length === 0 ? 0 : 1

function write() {
  const text = readFileSync(DOCUMENT, 'utf8')
  const [before, rest] = [text.slice(0, text.indexOf(BEGIN) + BEGIN.length), text.slice(text.indexOf(END))]
  const told = all.map(({ fault, changed }) => [
    `<a id="${fault.name}"></a>\`${fault.name}\``,
    fault.what,
    changed.map((family) => (family === 'down' ? '`up`' : `\`${family}\``)).join(', ') || 'none: nothing failed',
    [...new Set(changed.flatMap(alertsOn))].map((name) => `[${name}](runbooks.md#${name.toLowerCase()})`).join(', '),
  ])
  const tables = [
    table(head, all.map(row)),
    table(['fault', 'what happens', 'metrics that change', 'alerts on them'], told).replaceAll('-:', '--'),
  ]
  writeFileSync(DOCUMENT, `${before}\n${tables.join('\n\n')}\n\n${rest}`)
}
