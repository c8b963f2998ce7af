import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { connectResp } from './resp.mjs'
import { until } from './until.mjs'

const program = `
  const { startRedis } = await import(${JSON.stringify(new URL('./redis.mjs', import.meta.url).href)})
  const stopped = await startRedis()
  await stopped.stop()
  const [running, paused] = [await startRedis(), await startRedis()]
  await paused.pause()
  const output = JSON.stringify([running, paused].map(({ port, dir }) => ({ port, dir })))
  await new Promise((resolve) => process.stdout.write(output, resolve))
`

const accepts = (port: number) =>
  connectResp({ port }).then(
    (connection) => {
      connection.close()
      return true
    },
    () => false,
  )

it.each([
  ['ends without stopping them', ''],
  ['is killed', "process.kill(process.pid, 'SIGKILL')"],
  ['is interrupted', "process.kill(process.pid, 'SIGINT')"],
  ['crashes', "throw new Error('crash')"],
])('servers and their folders are gone when the process that started them %s', async (_, end) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program + end], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const servers: { port: number; dir: string }[] = JSON.parse(await text(child.stdout))
  expect(servers).toHaveLength(2)
  for (const { port, dir } of servers) {
    await until(`nothing listens on port ${port}`, async () => !(await accepts(port)))
    await until(`${dir} is gone`, () => !existsSync(dir))
  }
})
