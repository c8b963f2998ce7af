// @ts-check
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../server/src/quotas/database/pglite-main.js', import.meta.url))

/**
 * Makes an empty database below a directory, as the service does when it is first started.
 * @param {string} dir
 */
export async function makePglite(dir) {
  const child = fork(main, [dir], { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const [[message]] = await Promise.all([once(child, 'message'), once(child, 'exit')])
  if (message.type !== 'made') throw new Error(`PGlite made no database: ${JSON.stringify(message)}`)
}
