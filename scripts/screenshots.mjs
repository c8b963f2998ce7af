// Usage: npm run screenshots [-- TEXT]: pictures of every page of the dashboard, or of the pages whose name contains
// the text, from the seeded data of tests/dashboard, into docs/images.
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ensureBuilt } from './build.mjs'
import { requireNode, root, runMain, say } from './setup.mjs'
import { tryToEnsureSystemPackages } from './system-packages.mjs'

/** How long requests come before the first picture: plots of some minutes are worth looking at. */
const WARM_UP_MS = 240_000
const PER_SECOND = 60

/** Each page: its name, where it is, how high the picture is, and what is done on it before. */
export const SHOTS = [
  { name: 'now', path: '/', prepare: (page) => page.getByRole('button', { name: '5 min' }).first().click() },
  { name: 'customers', path: '/customers' },
  { name: 'customer', path: '/customers/dust-and-vinyl' },
  { name: 'rules', path: '/rules' },
  { name: 'rules-edit', path: '/rules/edit' },
  { name: 'explain', path: '/explain', prepare: explain },
  { name: 'blocks', path: '/blocks' },
  { name: 'tiers', path: '/tiers' },
  { name: 'audit', path: '/audit' },
  { name: 'nodes', path: '/nodes' },
  { name: 'tokens', path: '/tokens' },
  { name: 'webhooks', path: '/webhooks' },
  { name: 'playground', path: '/playground', height: 1380 },
]

/** Opens the explanation of why a caller is refused. */
async function explain(page, stand) {
  const { keyOf } = await import('../tests/dashboard/people.mjs')
  const api_key = keyOf('dust-and-vinyl')
  for (let i = 0; i < 70; i++) await stand.check('parcels', { api_key })
  await page.getByLabel('Domain').selectOption('parcels')
  await page.getByLabel('Key 1').fill('api_key')
  await page.getByLabel('Value 1').fill(api_key)
  await page.getByRole('button', { name: 'Explain' }).click()
  await page.getByRole('region', { name: 'Rule requests' }).waitFor()
}

/** Every page at desktop width, light and dark; some on a tablet and on a phone. */
export function picturesOf({ name, height = 900 }) {
  const wide = { width: 1440, height }
  const pictures = [
    { file: name, scheme: 'light', ...wide },
    { file: `${name}-dark`, scheme: 'dark', ...wide },
  ]
  if (['now', 'customer'].includes(name)) {
    pictures.push({ file: `${name}-1024`, scheme: 'light', width: 1024, height: 768 })
    pictures.push({ file: `${name}-390`, scheme: 'dark', width: 390, height: 844 })
  }
  return pictures
}

async function main() {
  requireNode()
  await ensureBuilt()
  await tryToEnsureSystemPackages()
  const { openBrowser, Visit } = await import('../tests/dashboard/browser.mjs')
  const { startCompany } = await import('../tests/dashboard/company.mjs')
  const { startLoad } = await import('../tests/dashboard/load.mjs')
  const [, , text = '', dir = join(root, 'docs', 'images')] = process.argv
  mkdirSync(dir, { recursive: true })
  const company = await startCompany({ nodes: 2 })
  const { stand, tokens } = company
  const load = startLoad(
    stand.nodes.map(({ http }) => http),
    { perSecond: PER_SECOND },
  )
  const browser = await openBrowser()
  const warmUpMs = Number(process.env.WARM_UP_MS ?? WARM_UP_MS)
  say(`requests come for ${warmUpMs / 1000} s …`)
  await pause(warmUpMs)
  let total = 0
  for (const shot of SHOTS.filter(({ name }) => name.includes(text))) {
    for (const { file, scheme, width, height } of picturesOf(shot)) {
      const visit = await Visit.open(browser, { base: stand.admin, token: tokens.Priya, scheme, width, height })
      await visit.go(shot.path)
      await shot.prepare?.(visit.page, stand)
      // The live stream has begun, and plots are drawn.
      await pause(1_500)
      const path = join(dir, `${file}.png`)
      await visit.page.screenshot({ path, animations: 'disabled' })
      const sideways = await visit.sideways()
      if (sideways > 0) say(`${file}: ${sideways} pixels too wide`)
      for (const complaint of visit.complaints()) say(`${file}: ${complaint}`)
      total += statSync(path).size
      await visit.close()
    }
  }
  say(`${Math.round(total / 1024)} kB in ${dir}`)
  await browser.close()
  await load.stop()
  await company.stop()
}

if (process.argv[1] === join(root, 'scripts', 'screenshots.mjs')) await runMain(main)
