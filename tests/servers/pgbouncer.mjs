// @ts-check
import { chmodSync, chownSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { freePort } from './ports.mjs'
import { makeTemporaryDir } from './reaper.mjs'
import { ServerProcess } from './server-process.mjs'
import { until } from './until.mjs'

/** PgBouncer does not run as root. */
function unprivileged() {
  if (process.getuid?.() !== 0) return undefined
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((each) => each.startsWith('nobody:'))
  const [, , uid, gid] = line?.split(':') ?? []
  return { uid: Number(uid), gid: Number(gid) }
}

/**
 * Starts a PgBouncer in transaction mode before a PostgreSQL, with two connections to it.
 * @param {{ port: number }} postgres
 */
export async function startPgBouncer({ port: target }) {
  const dir = makeTemporaryDir('pgbouncer')
  const port = await freePort()
  const settings = join(dir, 'pgbouncer.ini')
  const lines = [
    '[databases]',
    `* = host=127.0.0.1 port=${target} user=sluice`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 2',
    'unix_socket_dir =',
  ]
  // The user of the database is the superuser of the tests, whatever name comes.
  writeFileSync(settings, `${lines.join('\n')}\n`)
  const user = unprivileged()
  if (user !== undefined) {
    chmodSync(dirname(dir), 0o711)
    chownSync(dir, user.uid, user.gid)
    chownSync(settings, user.uid, user.gid)
  }
  const server = new ServerProcess({ command: 'pgbouncer', args: [settings], dir, ...(user && { user }) })
  await until(`PgBouncer answers on port ${port}`, async () => !server.isRunning || (await accepts(port)))
  if (!server.isRunning) throw new Error(`PgBouncer ended: ${server.log().trim()}`)
  return { port, stop: () => server.kill() }
}

/** @param {number} port */
function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
