import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { endWithParent } from './end-with-npm.mjs'
import { root } from './setup.mjs'

// The service of `npm run dev`, which starts it again when a source changes. It ends with the script, also when that is
// killed.
endWithParent()
const entry = join(root, 'server', 'bin', 'sluice.mjs')
process.argv.splice(1, 1, entry, 'serve', '--examples')
await import(pathToFileURL(entry).href)
