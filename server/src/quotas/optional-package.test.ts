import { describe, expect, it } from 'vitest'
import { isInstalled, requirePackage } from './optional-package.ts'

const KAFKA = {
  name: '@platformatic/kafka',
  version: '1',
  setting: '--audit-kafka',
  code: 'KAFKA_PACKAGE_MISSING',
} as const

function missing(name: string): never {
  throw new Error(`MODULE_NOT_FOUND: ${name}`)
}

describe('an optional package', () => {
  it('is found where it is installed', () => {
    expect(isInstalled('vitest')).toBe(true)
    expect(isInstalled('@electric-sql/no-such-package')).toBe(false)
    expect(requirePackage(KAFKA, () => '/there')).toBeUndefined()
  })

  it('is asked for by its name, with the command that installs it', () => {
    expect(() => requirePackage(KAFKA, missing)).toThrow(
      expect.objectContaining({
        code: 'KAFKA_PACKAGE_MISSING',
        message: expect.stringContaining(
          '--audit-kafka: @platformatic/kafka is not installed; run: npm install @platformatic/kafka@1',
        ),
      }),
    )
  })
})
