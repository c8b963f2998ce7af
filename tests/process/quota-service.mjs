// The service with an origin of quotas that is told by messages: { load: snapshot } and { apply: changes }.
// Usage: node quota-service.mjs FLAGS…; it sends { addresses } when it serves.
import { createLog } from '../../server/dist/app/log/log.js'
import { readConfig } from '../../server/dist/app/settings/config.js'
import { startService } from '../../server/dist/app/wire.js'

const config = readConfig(process.argv.slice(2), process.env)
const log = createLog({ level: 'warn', format: 'text', isTerminal: false, secrets: [] })

const origin = {
  keySecret: () => 'a secret of this test',
  follow: (sink) =>
    new Promise((resolve) => {
      process.on('message', async ({ load, apply, stop }) => {
        if (stop) return
        if (load !== undefined) await sink.load(load)
        if (apply !== undefined) sink.apply(apply)
        resolve(() => {})
      })
      process.send({ isWaiting: true })
    }),
}
const service = await startService(config, log, origin)
process.on('message', async ({ stop }) => {
  if (!stop) return
  await service.close()
  process.exit(0)
})
process.on('disconnect', () => {
  service.kill()
  process.exit(1)
})
process.send({ addresses: service.addresses })
