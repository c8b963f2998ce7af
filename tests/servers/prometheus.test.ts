import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { promtool, startPrometheus } from './prometheus.mjs'
import { until } from './until.mjs'

it('scrapes, answers queries, and ends with its data', async () => {
  const target = createServer((_, response) => response.end('a_total{b="c"} 7\n')).listen(0, '127.0.0.1')
  onTestFinished(() => void target.close())
  await once(target, 'listening')
  const { port } = target.address() as AddressInfo
  const server = await startPrometheus({
    config: JSON.stringify({
      global: { scrape_interval: '200ms', scrape_timeout: '200ms' },
      scrape_configs: [{ job_name: 'j', static_configs: [{ targets: [`127.0.0.1:${port}`] }] }],
    }),
  })
  onTestFinished(() => server.stop())
  const expected = { __name__: 'a_total', b: 'c', instance: `127.0.0.1:${port}`, job: 'j' }
  const samples = await until('it has scraped', async () => {
    const found = await server.query('a_total')
    return found.length > 0 && found
  })
  expect(samples).toEqual([{ labels: expected, value: 7 }])
  expect(await server.value('vector(1) / 0')).toBe(Number.POSITIVE_INFINITY)
  expect(await server.value('absent_metric')).toBeUndefined()
  await expect(server.query('sum(')).rejects.toThrow('unclosed left parenthesis')

  await server.stop()
  expect(server.isRunning).toBe(false)
  await expect(fetch(server.url)).rejects.toThrow()
})

it('says why it does not start', async () => {
  await expect(startPrometheus({ config: 'nonsense: 1' })).rejects.toThrow('field nonsense not found')
})

it('promtool rejects with what it finds wrong', async () => {
  expect(await promtool('check', 'rules', 'deploy/prometheus/rules.yml')).toContain('SUCCESS')
  await expect(promtool('check', 'rules', 'package.json')).rejects.toThrow('field name not found')
})
