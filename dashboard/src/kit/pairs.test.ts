import { expect, it } from 'vitest'
import { limitsOf, typedOf } from './fields.ts'
import { pairsOf } from './pairs.ts'

const METADATA = limitsOf('changeCustomer').filter(([name]) => name === 'metadata')

it('metadata is edited as lines, and read back as it was', () => {
  const metadata = { 'billing id': 'cus_1', site: 'https://acme.example:8443/a' }
  const { metadata: text } = typedOf(METADATA, { metadata })
  expect(text).toBe('billing id: cus_1\nsite: https://acme.example:8443/a')
  expect(pairsOf(`\n${text}\n  \n`)).toEqual({ pairs: metadata })
})

it('a line without a name is wrong, and says which', () => {
  expect(pairsOf('a: b\nnonsense')).toEqual({ pairs: {}, wrong: '“nonsense” has no name before a colon.' })
  expect(pairsOf(': b').wrong).toBe('“: b” has no name before a colon.')
})
