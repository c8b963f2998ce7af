import { expect, test } from 'vitest'
import { toYaml } from './yaml.ts'

test('a tier reads as in a rule file', () => {
  const limits = {
    rate_limit: { name: 'requests', unit: 'minute', requests_per_unit: 20 },
    descriptors: [{ key: 'tokens', rate_limit: { unlimited: true } }, { key: 'in_flight' }],
  }
  expect(toYaml(limits)).toBe(
    [
      'rate_limit:',
      '  name: requests',
      '  unit: minute',
      '  requests_per_unit: 20',
      'descriptors:',
      '  - key: tokens',
      '    rate_limit:',
      '      unlimited: true',
      '  - key: in_flight',
      '',
    ].join('\n'),
  )
})
