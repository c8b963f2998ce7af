import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { writeLuaModules } from './lua.mjs'
import { ensureInstalled, npm, npmReason, requireNode, root, runMain, SetupError, say } from './setup.mjs'

// npm run docs                       builds the site of the documents into site/dist
// npm run docs -- --base /sluice/    the same, for a place below the root of a host
// npm run docs -- --serve            builds it, and shows it at http://localhost:4173
const site = join(root, 'site')

await runMain(async () => {
  requireNode()
  const { values } = parseArgs({ options: { base: { type: 'string', default: '/' }, serve: { type: 'boolean' } } })
  if (!/^\/(.*\/)?$/.test(values.base)) throw new SetupError('--base begins and ends with a "/", such as /sluice/')
  // The types refer to other packages' types, and to generated modules.
  await ensureInstalled()
  writeLuaModules()
  await installOnce()
  const { stagePages } = await import('../site/stage.mjs')
  const { writeReference } = await import('../site/reference.mjs')
  const content = join(site, 'content')
  stagePages(root, content)
  cpSync(join(site, 'home.md'), join(content, 'index.md'))
  await writeReference(root, join(content, 'api'))
  // Found from the folder of the site, which alone has it.
  const { build, serve } = await import('../site/press.mjs')
  // The build has already printed what is wrong.
  await build(site, { base: values.base }).catch(() => {
    throw new SetupError('the site could not be built')
  })
  const { brokenAnchors } = await import('../site/anchors.mjs')
  const broken = brokenAnchors(join(site, 'dist'), values.base)
  if (broken.length > 0) throw new SetupError(`links that lead nowhere:\n${broken.join('\n')}`)
  say(`the site is in ${join('site', 'dist')}`)
  if (!values.serve) return
  await serve({ root: site, base: values.base, port: 4173 })
  say(`it is shown at http://localhost:4173${values.base}`)
})

/** Installs what makes the site, unless that is in place: only builds of the site need it. */
async function installOnce() {
  const versionsIn = (path) => {
    if (!existsSync(path)) return undefined
    const { packages } = JSON.parse(readFileSync(path, 'utf8'))
    return Object.entries(packages).flatMap(([name, { version, optional }]) =>
      name === '' || optional ? [] : [`${name}@${version}`],
    )
  }
  const wanted = versionsIn(join(site, 'package-lock.json'))
  const installed = new Set(versionsIn(join(site, 'node_modules', '.package-lock.json')))
  if (wanted.every((each) => installed.has(each))) return
  say('installing what makes the site (once) …')
  const { ok, text } = await npm(['ci', '--prefix', site, '--workspaces=false', '--loglevel=error'], true)
  if (!ok) throw new SetupError(`what makes the site could not be installed: ${npmReason(text)}`)
}
