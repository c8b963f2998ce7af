import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { count, header, median, table } from './report.mjs'

// npm run bench -- simulate: how many requests of an access log a second of CPU replays, for each format. The time of
// the CPU is counted, start included, so that others on the machine matter less.

const LINES = 1_000_000
const ROUNDS = 3
const BUDGET = 300_000

const sluice = fileURLToPath(new URL('../server/bin/sluice.mjs', import.meta.url))
const watch = fileURLToPath(new URL('./simulate/cpu-at-exit.mjs', import.meta.url))
const execute = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-simulate-'))

const limit = 'rate_limit: { unit: minute, requests_per_unit: 100 }'
const oneOf = (key) => `domain: api\ndescriptors:\n  - key: ${key}\n    ${limit}\n`
const three = `${oneOf('user')}    descriptors:\n      - key: endpoint\n        ${limit}\n  - key: ip\n    ${limit}\n`

const two = (value) => String(value).padStart(2, '0')

/** Writes 500 requests a second of 10,000 users, of whom few are busy. */
async function writeLogs() {
  const files = { nginx: 'access.log', envoy: 'envoy.log', json: 'access.jsonl', csv: 'access.csv' }
  const outs = Object.fromEntries(
    Object.entries(files).map(([name, file]) => [name, createWriteStream(join(folder, file))]),
  )
  outs.csv.write('time,client_ip,user,method,path,status\n')
  let seed = 1
  const agent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0'
  for (let i = 0; i < LINES; i++) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    const user = Math.floor((seed / 2 ** 32) ** 3 * 10_000)
    const date = new Date(Date.UTC(2026, 10, 20) + 2 * i)
    const [iso, ip] = [date.toISOString(), `10.0.${user >> 8}.${user & 255}`]
    const [method, path] = [
      ['GET', `/items?page=${i % 9}`],
      ['POST', '/orders'],
      ['GET', `/users/${user}`],
    ][i % 3]
    const clf = `${two(date.getUTCDate())}/Nov/2026:${iso.slice(11, 19)} +0000`
    const lines = {
      nginx: `${ip} - u${user} [${clf}] "${method} ${path} HTTP/1.1" 200 5120 "https://app.example/" "${agent}"\n`,
      envoy: `[${iso}] "${method} ${path} HTTP/2" 200 - 0 5120 12 11 "${ip}" "${agent}" "cc21d9b0" "api.example" "10.1.0.1:80"\n`,
      json: `${JSON.stringify({ start_time: iso, method, path, protocol: 'HTTP/2', response_code: 200, response_flags: '-', bytes_sent: 5_120, duration: 12, downstream_remote_address: `${ip}:5123`, user: `u${user}`, user_agent: agent, authority: 'api.example' })}\n`,
      csv: `${iso},${ip},u${user},${method},${path},200\n`,
    }
    const full = Object.keys(outs).filter((name) => !outs[name].write(lines[name]))
    await Promise.all(full.map((name) => once(outs[name], 'drain')))
  }
  for (const out of Object.values(outs)) {
    out.end()
    await once(out, 'close')
  }
  return files
}

/** Replays a log in a process of its own, and returns what it took. */
async function measure(args) {
  const { stderr } = await execute(process.execPath, ['--import', watch, sluice, 'simulate', ...args, '--json'], {
    maxBuffer: 2 ** 26,
  })
  return JSON.parse(stderr.trim().split('\n').at(-1))
}

try {
  const files = await writeLogs()
  const rules = { user: oneOf('user'), ip: oneOf('ip'), three }
  for (const [name, text] of Object.entries(rules)) writeFileSync(join(folder, `${name}.yaml`), text)
  const at = (file) => join(folder, file)
  const cases = [
    ...Object.entries(files).map(([name, file]) => [`${name}, 1 limit`, name === 'envoy' ? 'ip' : 'user', [], file]),
    ['nginx, 3 limits', 'three', [], files.nginx],
    ['nginx, against other rules', 'user', ['--against', at('ip.yaml')], files.nginx],
  ]
  const rows = []
  let worst = Number.POSITIVE_INFINITY
  for (const [name, rule, flags, file] of cases) {
    const results = []
    for (let round = 0; round < ROUNDS; round++)
      results.push(await measure([at(`${rule}.yaml`), '--traffic', at(file), ...flags]))
    const perSecond = median(results.map(({ cpuMs }) => (1_000 * LINES) / cpuMs))
    if (name.endsWith('1 limit')) worst = Math.min(worst, perSecond)
    const bytes = Math.round(statSync(at(file)).size / LINES)
    rows.push([name, `${bytes}`, count(perSecond), `${Math.round(median(results.map(({ rssMib }) => rssMib)))} MiB`])
  }
  console.log(header('npm run bench -- simulate', ['sluice']))
  console.log(`\n${count(LINES)} requests of 10,000 users; CPU time of the whole process, its start included\n`)
  console.log(table(['log', 'bytes a line', 'requests a second of CPU', 'memory'], rows))
  console.log(
    `\nworst with 1 limit: ${count(worst)} (budget ≥ ${count(BUDGET)}: ${worst >= BUDGET ? 'met' : 'missed'})`,
  )
} finally {
  rmSync(folder, { recursive: true })
}
