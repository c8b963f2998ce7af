const PLAIN = /^[ -$&-~]*$/
const HEX = '0123456789ABCDEF'

/** Percent-encodes a status message: UTF-8 bytes outside of 0x20 to 0x7E, and "%" itself. */
export function encodeGrpcMessage(message: string): string {
  if (PLAIN.test(message)) return message
  let text = ''
  for (const byte of Buffer.from(message, 'utf8')) {
    if (byte >= 0x20 && byte <= 0x7e && byte !== 0x25) text += String.fromCharCode(byte)
    else text += `%${HEX[byte >> 4]}${HEX[byte & 15]}`
  }
  return text
}
