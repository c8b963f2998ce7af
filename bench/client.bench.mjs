import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { CLIENTS } from './client/clients.mjs'
import { count, header, table } from './report.mjs'
import { bar, figure, text } from './scale/svg.mjs'

// npm run bench -- client [--quick] [--draw]: 2,000 concurrent calls against a server that admits 200 a second: how
// long each client takes for all of them, how many requests it sends, and how many of those are refused. --draw writes
// docs/images/client.svg.

const isQuick = process.argv.includes('--quick')
const PER_SECOND = isQuick ? 100 : 200
const CALLS = isQuick ? 300 : 2_000

/** Who is not done by then is stopped. */
const MOST_MS = 45_000

const script = fileURLToPath(new URL('./client/server.mjs', import.meta.url))
const server = spawn(process.execPath, [script, `${PER_SECOND}`], { stdio: ['ignore', 'pipe', 'inherit'] })
process.on('exit', () => server.kill())
const [port] = await once(server.stdout, 'data')
const base = `http://127.0.0.1:${String(port).trim()}`

const what = `${count(CALLS)} concurrent calls, ${PER_SECOND} a second admitted`
console.log(`${header(`npm run bench -- client, ${what}`, ['sluice', 'p-retry', 'ky', 'got', 'bottleneck'])}\n`)
const results = []
for (const [name, make] of Object.entries(CLIENTS)) {
  const path = `/${encodeURIComponent(name)}`
  const late = AbortSignal.timeout(MOST_MS)
  const call = make(PER_SECOND, late)
  const startedMs = performance.now()
  const ends = await Promise.allSettled(Array.from({ length: CALLS }, () => call(base + path)))
  const seconds = (performance.now() - startedMs) / 1_000
  const counts = await (await fetch(`${base}/counts`)).json()
  const failed = ends.filter(({ status }) => status === 'rejected').length
  results.push({ name, seconds, failed, ...counts[path] })
}
const head = ['client', 'seconds', 'requests', 'refused (429)', 'wasted', 'calls that failed']
const rows = results.map(({ name, seconds, asked, refused, failed }) => [
  name,
  seconds.toFixed(1),
  count(asked),
  count(refused),
  `${((100 * refused) / asked).toFixed(0)} %`,
  count(failed),
])
console.log(table(head, rows))

if (process.argv.includes('--draw')) {
  const folder = new URL('../docs/images/', import.meta.url)
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL('client.svg', folder), drawn())
}
process.exit()

/** Shows for each client how long it took, and how many of its requests were refused. */
function drawn() {
  const rowHeight = 34
  const [left, width] = [190, 420]
  const longest = Math.max(...results.map(({ seconds }) => seconds))
  const parts = results.map(({ name, seconds, refused }, i) => {
    const y = 56 + i * rowHeight
    const length = (seconds / longest) * width
    return [
      text(left - 10, y + 14, name, { anchor: 'end' }),
      bar(left, y, [length, 20], i === 0 ? 'few' : 'exact'),
      text(left + length + 8, y + 14, `${seconds.toFixed(1)} s, ${count(refused)} refused`),
    ]
  })
  const title = `Time to finish: ${what}`
  const size = {
    width: 820,
    height: 70 + results.length * rowHeight,
    title,
    about: 'One bar for each client: seconds, and how many requests were refused.',
  }
  return figure(size, [text(20, 30, title, { kind: 'head' }), parts])
}
