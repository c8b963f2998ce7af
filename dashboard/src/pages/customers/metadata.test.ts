import { expect, it } from 'vitest'
import { metadataOf, metadataText } from './metadata.ts'

it('metadata is edited as lines, and read back as it was', () => {
  const metadata = { 'billing id': 'cus_1', site: 'https://acme.example:8443/a' }
  expect(metadataText(metadata)).toBe('billing id: cus_1\nsite: https://acme.example:8443/a')
  expect(metadataOf(`\n${metadataText(metadata)}\n  \n`)).toEqual({ metadata })
})

it('a line without a name is wrong, and says which', () => {
  expect(metadataOf('a: b\nnonsense')).toEqual({ metadata: {}, wrong: '“nonsense” has no name before a colon.' })
  expect(metadataOf(': b').wrong).toBe('“: b” has no name before a colon.')
})
