import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { CLIENTS } from './client/clients.mjs'
import { count, header, table } from './report.mjs'
import { bar, figure, text } from './scale/svg.mjs'

// npm run bench -- client [--quick] [--draw] [--only KIND]: calls at the same time against a server of ours that announces
// its limit, that answers a bare 429, and that refuses as GitHub's secondary limits do: how long each client takes for all
// of them, how many requests it sends, and how many of those are refused. --draw writes docs/images/client.svg.

const isQuick = process.argv.includes('--quick')
const only = process.argv[process.argv.indexOf('--only') + 1]
const CASES = [
  { kind: 'announced', what: 'the limit is announced', perSecond: isQuick ? 100 : 200, calls: isQuick ? 300 : 2_000 },
  { kind: 'bare', what: 'a bare 429', perSecond: 25, calls: isQuick ? 75 : 250 },
  { kind: 'github', what: "GitHub's secondary limit", perSecond: 15, calls: 60 },
].filter(({ kind }) => !process.argv.includes('--only') || kind === only)

/** A client that has not finished by then is stopped. */
const MOST_MS = 45_000

const script = fileURLToPath(new URL('./client/server.mjs', import.meta.url))
const peers = ['sluice', 'p-retry', 'ky', 'got', 'bottleneck', 'openai', '@octokit/core', '@octokit/plugin-throttling']
console.log(`${header('npm run bench -- client', peers)}\n`)
let results = []
for (const each of CASES) {
  const measured = await measure(each)
  if (each.kind === 'announced') results = measured
}

/** Runs all clients against one kind of server, one after the other, and prints a table. */
async function measure({ kind, what, perSecond, calls }) {
  const server = spawn(process.execPath, [script, `${perSecond}`, kind], { stdio: ['ignore', 'pipe', 'inherit'] })
  process.on('exit', () => server.kill())
  const [port] = await once(server.stdout, 'data')
  const base = `http://127.0.0.1:${String(port).trim()}`
  const rows = []
  for (const [name, make] of Object.entries(CLIENTS)) {
    const path = encodeURIComponent(name.replaceAll(/\W/g, '-'))
    const call = make(perSecond, AbortSignal.timeout(MOST_MS))
    const startedMs = performance.now()
    const ends = await within(
      MOST_MS,
      Array.from({ length: calls }, () => call(`${base}/${path}`)),
    )
    const seconds = (performance.now() - startedMs) / 1_000
    const counts = await (await fetch(`${base}/counts`)).json()
    rows.push({ name, seconds, failed: calls - ends, ...counts[path] })
  }
  server.kill()
  console.log(
    `${what}: ${count(calls)} calls, ${perSecond} a second admitted (${((calls - perSecond) / perSecond).toFixed(1)} s)\n`,
  )
  const head = ['client', 'seconds', 'requests', 'refused', 'wasted', 'calls that failed']
  const cells = rows.map(({ name, seconds, asked, refused, failed }) => [
    name,
    seconds.toFixed(1),
    count(asked),
    count(refused),
    `${((100 * refused) / asked).toFixed(0)} %`,
    count(failed),
  ])
  console.log(`${table(head, cells)}\n`)
  return rows
}

/** Returns how many of the promises were fulfilled by then. */
async function within(ms, promises) {
  let fulfilled = 0
  const all = promises.map((each) =>
    each.then(
      () => void fulfilled++,
      () => {},
    ),
  )
  await Promise.race([Promise.all(all), new Promise((resolve) => setTimeout(resolve, ms))])
  return fulfilled
}

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
  const [{ calls, perSecond }] = CASES
  const title = `Time to finish: ${count(calls)} calls at the same time, ${perSecond} a second admitted`
  const size = {
    width: 820,
    height: 70 + results.length * rowHeight,
    title,
    about: 'One bar for each client: seconds, and how many requests were refused.',
  }
  return figure(size, [text(20, 30, title, { kind: 'head' }), parts])
}
