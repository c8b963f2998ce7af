import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const run = async (code: string, ...flags: string[]): Promise<string> => {
  const options = { cwd: root, env: { ...process.env, NODE_OPTIONS: '' } }
  return (await promisify(execFile)(process.execPath, [...flags, '--eval', code], options)).stdout.trim()
}

describe('sluice/express', () => {
  it('is the function itself to require, with everything else on it', async () => {
    const code = `
      const rateLimit = require('sluice/express')
      const { rateLimit: named, default: standard, MemoryStore, SluiceStore, ipKeyGenerator } = rateLimit
      console.log(typeof rateLimit({ limit: 3 }), named === rateLimit, standard === rateLimit)
      console.log(typeof MemoryStore, typeof SluiceStore, ipKeyGenerator('::ffff:102:304'))`
    expect(await run(code, '--no-warnings')).toBe('function true true\nfunction function 1.2.3.4')
  })

  it('has a default and named exports to import', async () => {
    const code = `
      import rateLimit, { rateLimit as named, MemoryStore, SluiceStore, ipKeyGenerator } from 'sluice/express'
      console.log(typeof rateLimit({ limit: 3 }), named === rateLimit, typeof MemoryStore, typeof SluiceStore)`
    expect(await run(code, '--input-type=module')).toBe('function true function function')
  })
})

describe('sluice/koa', () => {
  it('is the function itself to require', async () => {
    const code = `
      const ratelimit = require('sluice/koa')
      console.log(typeof ratelimit({ max: 3 }), ratelimit.rateLimit === ratelimit, ratelimit.default === ratelimit)`
    expect(await run(code, '--no-warnings')).toBe('function true true')
  })

  it('has a default and a named export to import', async () => {
    const code = `
      import ratelimit, { rateLimit } from 'sluice/koa'
      console.log(typeof ratelimit({ max: 3 }), rateLimit === ratelimit)`
    expect(await run(code, '--input-type=module')).toBe('function true')
  })
})

describe('sluice/fastify', () => {
  it('is the plugin itself to require, with everything else on it', async () => {
    const code = `
      const rateLimit = require('sluice/fastify')
      const { fastifyRateLimit, default: standard, normalizeIP } = rateLimit
      console.log(typeof rateLimit, fastifyRateLimit === rateLimit, standard === rateLimit, normalizeIP('::ffff:102:304'))`
    expect(await run(code, '--no-warnings')).toBe('function true true 1.2.3.4')
  })
})

describe('sluice/nest', () => {
  it('has the same to require and to import', async () => {
    const names = 'RateLimit, SkipRateLimit, SluiceGuard, SluiceModule, SluiceStorage, SluiceThrottlerGuard'
    const print = `console.log([${names}].map((each) => typeof each).join(' '))`
    const expected = Array(6).fill('function').join(' ')
    expect(await run(`const { ${names} } = require('sluice/nest'); ${print}`, '--no-warnings')).toBe(expected)
    expect(await run(`import { ${names} } from 'sluice/nest'; ${print}`, '--input-type=module')).toBe(expected)
  })
})
