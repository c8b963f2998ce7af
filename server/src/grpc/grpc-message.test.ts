import fc from 'fast-check'
import { expect, it } from 'vitest'
import { encodeGrpcMessage } from './grpc-message.ts'

it.each([
  ['plain text ~', 'plain text ~'],
  ['100%', '100%25'],
  ['ä', '%C3%A4'],
  ['名\n', '%E5%90%8D%0A'],
  ['\u007f\u0000', '%7F%00'],
  ['\ud800', '%EF%BF%BD'],
])('%j is sent as %j', (message, sent) => {
  expect(encodeGrpcMessage(message)).toBe(sent)
})

it('every message survives its encoding, which is printable ASCII', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (message) => {
      const sent = encodeGrpcMessage(message)
      expect(sent).toMatch(/^[\x20-\x7e]*$/)
      expect(decodeURIComponent(sent)).toBe(message)
    }),
  )
})
