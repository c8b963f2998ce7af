import { readFileSync } from 'node:fs'

/**
 * node checked.mjs PUBLINT ATTW TARBALL FOLDER: checks a package as it is published, with publint and attw (their main
 * files), and prints a JSON array of problems.
 */
const [publintFile, attwFile, tarball, folder] = process.argv.slice(2)
const { publint } = await import(publintFile)
const { formatMessage } = await import(publintFile.replace(/index-node\.js$/, 'utils.js'))
const { checkPackage, createPackageFromTarballData } = await import(attwFile)

const { messages, pkg } = await publint({ pkgDir: folder, strict: true, pack: false })
const { problems } = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(tarball))))
// Files of JSON have no types.
const relevant = problems.filter(({ entrypoint = '' }) => !entrypoint.endsWith('.json'))
console.log(
  JSON.stringify([
    ...messages.map((message) => `publint: ${formatMessage(message, pkg, { color: false })}`),
    ...relevant.map(
      ({ kind, entrypoint, resolutionKind }) => `attw: ${kind} ${entrypoint ?? ''} ${resolutionKind ?? ''}`,
    ),
  ]),
)
