import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { expect, it } from 'vitest'
import { makeDataDir, SLOW_MS } from '../../server/src/quotas/database/databases.suite.ts'
import { connected, firstTokenOf, startWith } from '../cli/sluice-process.suite.ts'
import { sharedPostgres, sharedRedis } from '../servers/shared.ts'
import { commandsOf, runCommands } from './curl.suite.ts'

it('docs/quotas.md, docs/admin-api.md and docs/ledger.md can be pasted from top to bottom, twice', {
  timeout: SLOW_MS,
}, async () => {
  const server = await sharedPostgres()
  const env = {
    DATABASE_URL: server.url(await server.createDatabase()),
    REDIS_URL: (await sharedRedis()).url,
    SLUICE_SECRET: 'a secret of the pages',
  }
  const dataDir = makeDataDir()
  const prefix = `pages-${randomBytes(6).toString('hex')}:`
  const flags = ['--data', dataDir, '--key-prefix', prefix, '--redis-timeout', '60s', '--health-needs-redis']
  const started = await startWith(env, ...flags)
  await firstTokenOf(started)
  await connected(started)
  const addresses = new Map([
    ['8080', started.url],
    ['8082', started.admin],
  ])
  for (const page of ['quotas.md', 'admin-api.md', 'ledger.md', 'quotas.md', 'admin-api.md']) {
    const commands = commandsOf(page).map((command) => command.replace('--data .sluice', `--data ${dataDir}`))
    expect(commands.length).toBeGreaterThan(9)
    await runCommands(commands, { addresses, cwd: dirname(dataDir), env: {} })
  }
})
