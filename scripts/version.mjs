import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root, runMain, SetupError, say } from './setup.mjs'

// npm run version:check             the version of package.json is that of all other files
// npm run version:set -- 1.2.3      writes another one everywhere
const manifests = ['package.json', 'server/package.json', 'client/package.json', 'dashboard/package.json']
const workspaces = ['', 'server', 'client', 'dashboard']
/** Texts with the version in them; the first group of the pattern is what stands before it. */
const texts = [
  ['client/src/version.ts', /(export const version = ')[^']+/],
  ['Dockerfile', /(^ARG VERSION=)\S+/m],
  ['deploy/helm/sluice/Chart.yaml', /(^version: )\S+/m],
  ['deploy/helm/sluice/Chart.yaml', /(^appVersion: )\S+/m],
  ['deploy/kubernetes/base/deployment.yaml', /(image: sluice:)\S+/],
  ['deploy/kubernetes/overlays/production/kustomization.yaml', /(newTag: )\S+/],
  ['deploy/kubernetes/examples/envoy-gateway.yaml', /(image: \S+\/sluice:)\S+/],
]
const SEMVER = /^\d+\.\d+\.\d+(-[\w.]+)?$/

/** Returns all files that have the version, by path, as they are with this version. */
export function versionFiles(version, dir = root) {
  const files = new Map()
  const read = (path) => files.get(path) ?? readFileSync(join(dir, path), 'utf8')
  const writeJson = (path, value) => files.set(path, `${JSON.stringify(value, null, 2)}\n`)
  for (const path of manifests) {
    const manifest = { ...JSON.parse(read(path)), version }
    if (manifest.devDependencies?.sluice !== undefined) manifest.devDependencies.sluice = version
    writeJson(path, manifest)
  }
  const lock = { ...JSON.parse(read('package-lock.json')), version }
  for (const workspace of workspaces) {
    lock.packages[workspace].version = version
    if (lock.packages[workspace].devDependencies?.sluice !== undefined)
      lock.packages[workspace].devDependencies.sluice = version
  }
  writeJson('package-lock.json', lock)
  for (const [path, pattern] of texts) {
    if (!pattern.test(read(path))) throw new SetupError(`${path} has no version where one was`)
    files.set(path, read(path).replace(pattern, `$1${version}`))
  }
  return files
}

/** Returns the paths of files with another version than that of package.json. */
export function wrongVersions(dir = root) {
  const { version } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
  return [...versionFiles(version, dir)]
    .filter(([path, text]) => readFileSync(join(dir, path), 'utf8') !== text)
    .map(([path]) => path)
}

function main() {
  const [wanted, tag] = process.argv.slice(2)
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  if (wanted !== '--check') {
    if (!SEMVER.test(wanted ?? '')) throw new SetupError('usage: npm run version:set -- 1.2.3')
    for (const [path, text] of versionFiles(wanted)) writeFileSync(join(root, path), text)
    say(`${wanted} everywhere; write its section of CHANGELOG.md`)
    return
  }
  const wrong = wrongVersions()
  if (wrong.length > 0) throw new SetupError(`not ${version}: ${wrong.join(', ')}; npm run version:set -- ${version}`)
  if (tag !== undefined && tag !== `v${version}`) throw new SetupError(`the tag is ${tag}, the version ${version}`)
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await runMain(async () => main())
