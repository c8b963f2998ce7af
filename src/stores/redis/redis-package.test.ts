import { createClient, RESP_TYPES } from '@redis/client'
import { describe, expect, it } from 'vitest'
import { AS_BUFFERS } from './client-options.ts'
import { destroy, loadRedisPackage, requireRedisPackage } from './redis-package.ts'

const RULE =
  'an address of Redis needs the package @redis/client or redis, 5 or newer (npm install @redis/client); a client of the app does not'

describe('the package that connects to Redis', () => {
  /** look looks for the package in an app that has others installed: their versions, or why they do not tell. */
  const look = (installed: Readonly<Record<string, string | Error>>, file = 'redis-package.js') =>
    requireRedisPackage(`file:///app/node_modules/sluice/dist/${file}`, () => (id) => {
      const found = installed[id.replace('/package.json', '')] ?? failure('MODULE_NOT_FOUND')
      if (found instanceof Error) throw found
      return { version: found }
    })
  const failure = (code: string) => Object.assign(new Error(code), { code })

  it('is missed at once where neither is installed', () => {
    expect(() => look({})).toThrow(`REDIS_PACKAGE_MISSING: redis: neither is installed; ${RULE}`)
  })

  it('is missed where only an old one is installed', () => {
    const installed = { redis: '4.7.1', '@redis/client': '1.6.1' }
    expect(() => look(installed)).toThrow(`REDIS_PACKAGE_MISSING: redis: found 1.6.1; ${RULE}`)
  })

  it.each([
    ['@redis/client', '5.0.0'],
    ['@redis/client', '6.3.1'],
    ['redis', '10.0.0'],
  ])('may be %s %s', (name, version) => {
    expect(() => look({ [name]: version })).not.toThrow()
  })

  it('may keep its version to itself', () => {
    expect(() => look({ redis: failure('ERR_PACKAGE_PATH_NOT_EXPORTED') })).not.toThrow()
  })

  it('is not looked for from a bundle, which may contain it', () => {
    expect(() => look({}, 'bundle.js')).not.toThrow()
  })

  it('is loaded once', async () => {
    expect(await loadRedisPackage()).toMatchObject({ createClient })
    expect(loadRedisPackage()).toBe(loadRedisPackage())
  })

  it('calls texts by the number that is used for them', () => {
    expect(AS_BUFFERS).toEqual({ typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } })
  })

  it('may have clients that throw when they are let go of twice', () => {
    const client = {
      destroy: () => {
        throw new Error('The client is closed')
      },
    }
    expect(() => destroy(client)).not.toThrow()
  })
})
