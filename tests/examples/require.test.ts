import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const run = async (code: string, ...flags: string[]): Promise<string> => {
  const options = { cwd: root, env: { ...process.env, NODE_OPTIONS: '' } }
  return (await promisify(execFile)(process.execPath, [...flags, '--eval', code], options)).stdout.trim()
}

/** Entries whose default export is the main thing: how it is made, and what else there is. */
const CALLABLE: readonly [entry: string, options: string, names: readonly string[]][] = [
  ['sluice/express', "{ limit: 3, window: '1m' }", ['rateLimit']],
  ['sluice/koa', "{ limit: 3, window: '1m' }", ['rateLimit']],
  ['sluice/compat/express-rate-limit', '{ limit: 3 }', ['rateLimit', 'MemoryStore', 'SluiceStore', 'ipKeyGenerator']],
  ['sluice/compat/koa-ratelimit', '{ max: 3 }', ['rateLimit']],
]

describe.each(CALLABLE)('%s', (entry, options, names) => {
  const print = `console.log(typeof main(${options}), rateLimit === main, [${names.join(', ')}].map((each) => typeof each).join(' '))`
  const expected = `function true ${names.map(() => 'function').join(' ')}`

  it('is the function itself to require, with everything else on it', async () => {
    const code = `const main = require('${entry}'); const { ${names.join(', ')} } = main; ${print}; console.log(main.default === main)`
    expect(await run(code, '--no-warnings')).toBe(`${expected}\ntrue`)
  })

  it('has a default and named exports to import', async () => {
    expect(await run(`import main, { ${names.join(', ')} } from '${entry}'; ${print}`, '--input-type=module')).toBe(
      expected,
    )
  })
})

describe.each(['sluice/fastify', 'sluice/compat/fastify-rate-limit'])('%s', (entry) => {
  it('is the plugin itself to require, by every name', async () => {
    const code = `
      const plugin = require('${entry}')
      const { fastifyRateLimit, rateLimit, default: standard } = plugin
      console.log(typeof plugin, fastifyRateLimit === plugin, rateLimit === plugin, standard === plugin)`
    expect(await run(code, '--no-warnings')).toBe('function true true true')
  })
})

describe.each([
  ['sluice/nest', 'RateLimit, SkipRateLimit, SluiceGuard, SluiceModule'],
  ['sluice/compat/nestjs-throttler', 'SluiceStorage, SluiceThrottlerGuard'],
])('%s', (entry, names) => {
  it('has the same to require and to import', async () => {
    const print = `console.log([${names}].map((each) => typeof each).join(' '))`
    const expected = names
      .split(', ')
      .map(() => 'function')
      .join(' ')
    expect(await run(`const { ${names} } = require('${entry}'); ${print}`, '--no-warnings')).toBe(expected)
    expect(await run(`import { ${names} } from '${entry}'; ${print}`, '--input-type=module')).toBe(expected)
  })
})
