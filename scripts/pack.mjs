import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureBuilt } from './build.mjs'
import { ensureInstalled, npm, requireNode, root, runMain, SetupError, say } from './setup.mjs'

// npm run pack [-- FOLDER]                    into a folder, this one by default
// npm run pack -- --into APP [NAME …]          into APP/vendor, and installs them there: sluice, unless others are
// named
// Builds, and packs what is published. `npm pack` alone would not build: .npmrc forbids scripts of packages, ours too.
const packageDirs = ['', 'server', 'client']

/** Builds and packs the packages into a folder, and returns the paths of the tarballs. */
export async function packAll(folder) {
  await ensureBuilt()
  mkdirSync(folder, { recursive: true })
  const tarballs = []
  for (const dir of packageDirs) tarballs.push(await packOne(join(root, dir), folder))
  return tarballs
}

async function packOne(packageDir, folder) {
  const manifest = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8'))
  const staged = mkdtempSync(join(tmpdir(), 'sluice-pack-'))
  try {
    for (const path of [...manifest.files, 'README.md', 'LICENSE']) {
      if (existsSync(join(packageDir, path))) cpSync(join(packageDir, path), join(staged, path), { recursive: true })
    }
    writeFileSync(join(staged, 'package.json'), `${JSON.stringify(published(manifest), null, 2)}\n`)
    const { ok, text } = await npm(['pack', staged, '--pack-destination', folder, '--ignore-scripts'], true)
    if (!ok) throw new SetupError(`npm pack failed:\n${text.trimEnd()}`)
  } finally {
    rmSync(staged, { recursive: true })
  }
  return join(folder, `${manifest.name}-${manifest.version}.tgz`)
}

/** Leaves out of a manifest what is for work on the repository: its parts have no names outside of it. */
function published({ scripts, devDependencies, workspaces, overrides, ...manifest }) {
  const exported = Object.entries(manifest.exports).filter(([name]) => name !== './internal/*')
  return { ...manifest, exports: Object.fromEntries(exported) }
}

/** Packs into a folder of an app, and installs packages by name from there. The app can commit that folder. */
async function packInto(app, names) {
  if (!existsSync(join(app, 'package.json'))) {
    throw new SetupError(`${app} has no package.json. Name the folder of an app; "npm init -y" in it makes one.`)
  }
  const tarballs = await packAll(join(app, 'vendor'))
  const needed = names.map((name) => {
    const tarball = tarballs.find((path) => basename(path).replace(/-\d+\.\d+\.\d+.*$/, '') === name)
    if (!tarball)
      throw new SetupError(`there is no package "${name}". They are sluice, sluice-server and sluice-client.`)
    return tarball
  })
  for (const tarball of tarballs) if (!needed.includes(tarball)) rmSync(tarball)
  const { ok, text } = await npm(['install', '--prefix', app, ...needed], true)
  if (!ok) throw new SetupError(`npm install failed in ${app}:\n${text.trimEnd()}`)
  for (const tarball of needed) say(`installed ${tarball}`)
}

async function main() {
  requireNode()
  await ensureInstalled()
  const [folder, app, ...names] = process.argv.slice(2)
  if (folder !== '--into') {
    for (const tarball of await packAll(resolve(folder ?? root))) say(tarball)
  } else if (app === undefined) {
    throw new SetupError('--into needs the folder of an app: npm run pack -- --into ../my-app')
  } else await packInto(resolve(app), names.length > 0 ? names : ['sluice'])
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await runMain(main)
